// Goal: a completion has one owner; two could take its result twice (E16).
#include <sluice/executor.hpp>

#include <utility>

sluice::Completion<int> use(sluice::Completion<int>& job) {
#ifdef SLUICE_TEST_MISUSE
    return job;
#else
    return std::move(job);
#endif
}
