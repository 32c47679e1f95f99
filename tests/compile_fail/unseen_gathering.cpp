// Goal: what when_all() gives is waited for, or it need not have been called (E19).
#include <utility>
#include <vector>

#include <sluice/when_all.hpp>

void use(std::vector<sluice::Completion<int>> jobs) {
#ifdef SLUICE_TEST_MISUSE
    sluice::when_all(std::move(jobs));
#else
    static_cast<void>(sluice::when_all(std::move(jobs)).wait());
#endif
}
