// Goal: what a reader makes of one worker's progress is true at every moment (E33): no job counts twice or not at all, and none
// that threw counts as one that succeeded, not even for a moment.
// Method: every order of outcomes in a row, read between all steps; then a reader against a worker whose jobs all throw.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "executor/counters.hpp"
#include "support/sanitizers.hpp"

using sluice::JobClass;
using sluice::detail::Progress;

namespace {

void check(const Progress& progress, std::uint64_t ended, bool executing, std::uint64_t threw) {
    const auto seen = progress.read(JobClass::interactive);
    CHECK(seen.ended == ended);
    CHECK(seen.started == ended + (executing ? 1 : 0));
    CHECK(seen.threw == threw);
    CHECK(progress.ended(JobClass::interactive) == ended);
    CHECK(progress.started(JobClass::interactive) == seen.started);
}

}  // namespace

TEST_CASE(
    "E33 a worker's progress: each job is executing, then ended, by value or by exception; classes apart") {
    for (unsigned outcomes = 0; outcomes < 64; ++outcomes) {
        Progress progress;
        std::uint64_t threw = 0;
        for (unsigned job = 0; job < 6; ++job) {
            check(progress, job, false, threw);
            progress.begin(JobClass::interactive);
            check(progress, job, true, threw);
            const bool throws = (outcomes >> job & 1U) != 0;
            progress.end(JobClass::interactive, throws);
            threw += throws ? 1 : 0;
        }
        check(progress, 6, false, threw);
        CHECK(progress.read(JobClass::maintenance).started == 0);
        CHECK(progress.read(JobClass::maintenance).threw == 0);
    }
}

TEST_CASE(
    "E33 while all of a worker's jobs throw, no reader ever sees one that did not, and nothing goes back") {
    constexpr int jobs =
        sluice::test::under_thread_sanitizer || sluice::test::under_address_sanitizer ? 200'000 : 2'000'000;
    Progress progress;
    std::atomic<bool> over{false};
    std::jthread worker([&] {
        for (int i = 0; i < jobs; ++i) {
            progress.begin(JobClass::interactive);
            progress.end(JobClass::interactive, true);
        }
        over.store(true);
    });
    std::uint64_t wrong = 0;
    std::uint64_t back = 0;
    std::uint64_t last = 0;
    while (!over.load()) {
        const auto seen = progress.read(JobClass::interactive);
        wrong += seen.threw == seen.ended && seen.started - seen.ended <= 1 ? 0 : 1;
        back += seen.ended < last ? 1 : 0;
        last = seen.ended;
    }
    worker.join();
    CHECK(wrong == 0);
    CHECK(back == 0);
    CHECK(progress.read(JobClass::interactive).threw == jobs);
}
