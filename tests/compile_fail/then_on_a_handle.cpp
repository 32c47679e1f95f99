// Goal: then() takes the handle over; on one that is still in use it does not compile (E19).
#include <utility>

#include <sluice/executor.hpp>

void use(sluice::Completion<int> job) {
#ifdef SLUICE_TEST_MISUSE
    job.then([](const sluice::Result<int>&) {});
#else
    std::move(job).then([](const sluice::Result<int>&) {});
#endif
}
