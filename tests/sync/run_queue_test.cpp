// Goal (E28): runs come out whole and in order; each job is begun by the worker that claimed it, or taken back, once; who takes
// back is told where runs begin. Method: every sequence of operations on a ring of four and a claim, against a naive
// model. Many threads: run_queue_stress_test.cpp; every interleaving of a claim: models/claim.pml.
#include "sync/run_queue.hpp"
#include "core/job.hpp"

#include "core/every_choice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

using namespace sluice;
using core::test::EveryChoice;
using sync::RunEntry;

namespace {

using TinyQueue = sync::BasicRunQueue<sync::RunQueueRules, 4>;

/// Links jobs[first..first+count-1] into a chain.
core::Job* linked(std::vector<core::Job>& jobs, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        jobs[first + i].next = i + 1 < count ? &jobs[first + i + 1] : nullptr;
    }
    return &jobs[first];
}

/// What must happen, with runs as plain deques.
struct Naive {
    using Entries = std::deque<RunEntry>;

    Entries queue;
    Entries claimed;
    bool inside_run = false;

    void push(core::Job* first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i, first = first->next) {
            queue.push_back({first, i + 1 == count});
        }
    }
    Entries take_runs(std::size_t max_jobs) {
        std::size_t whole = 0;
        for (std::size_t i = 0; i < queue.size() && (i < max_jobs || whole == 0); ++i) {
            whole = queue[i].ends_run ? i + 1 : whole;
        }
        const auto end = queue.begin() + static_cast<std::ptrdiff_t>(whole);
        Entries taken(queue.begin(), end);
        queue.erase(queue.begin(), end);
        return taken;
    }
    RunEntry take_next() {
        if (claimed.empty()) {
            return {};
        }
        const RunEntry entry = claimed.front();
        claimed.pop_front();
        inside_run = !entry.ends_run;
        return entry;
    }
};

bool same(const std::array<RunEntry, 64>& out, std::size_t count, const Naive::Entries& expected) {
    return count == expected.size() && std::equal(expected.begin(), expected.end(), out.begin());
}

/// One sequence of `steps` operations. False: something differs from the model.
bool follows_the_model(EveryChoice& choice, std::size_t steps) {
    auto queue = std::make_unique<TinyQueue>();
    auto claim = std::make_unique<sync::Claim>();
    Naive naive;
    std::vector<core::Job> jobs(4 * steps);
    std::size_t used = 0;
    bool good = true;
    for (std::size_t step = 0; step < steps && good; ++step) {
        std::array<RunEntry, 64> out{};
        switch (choice.choose(6)) {
            case 0:
            case 1: {
                const std::size_t count = 1 + choice.choose(3);
                core::Job* const first = linked(jobs, used, count);
                used += count;
                const bool fits = naive.queue.size() + count <= TinyQueue::capacity;
                good = queue->try_push_run(first, static_cast<std::uint32_t>(count)) == fits;
                if (fits) {
                    naive.push(first, count);
                }
                break;
            }
            case 2:
                if (naive.claimed.empty()) {
                    // An owner asks until it is told that nothing is left, and only then claims again.
                    good = claim->take_next().job == nullptr && claim->used_up();
                    const std::size_t max_jobs = 1 + choice.choose(3);
                    naive.claimed = naive.take_runs(max_jobs);
                    good = good &&
                           queue->claim(*claim, static_cast<std::uint32_t>(max_jobs)) == naive.claimed.size();
                    // The first is the owner's at once.
                    if (good && !naive.claimed.empty()) {
                        good = claim->observe().left() == naive.claimed.size() - 1 &&
                               claim->take_next() == naive.take_next();
                    }
                }
                break;
            case 3:
                good = claim->take_next() == naive.take_next() && claim->inside_run() == naive.inside_run;
                break;
            case 4: {
                const sync::RevokedRest rest = claim->revoke(out);
                good = same(out, rest.count, naive.claimed) &&
                       (rest.count == 0 || rest.continues_run == naive.inside_run);
                naive.claimed.clear();
                break;
            }
            default: {
                const std::uint32_t count = queue->recall(out);
                good = same(out, count, naive.take_runs(64));
                break;
            }
        }
        queue->announce();
        good = good && queue->size() == naive.queue.size() && queue->empty() == naive.queue.empty() &&
               claim->observe().left() == naive.claimed.size();
    }
    return good;
}

}  // namespace

TEST_CASE("E28: every sequence of five operations follows the naive model") {
    EveryChoice choice;
    std::uint64_t sequences = 0;
    bool good = true;
    do {
        good = follows_the_model(choice, 5);
        ++sequences;
    } while (good && choice.next());
    CHECK(good);
    MESSAGE("sequences: " << sequences);
    CHECK(sequences > 10'000);
}

TEST_CASE("E28: a run of 64 in a queue of 1024, round and round") {
    auto queue = std::make_unique<sync::RunQueue>();
    auto claim = std::make_unique<sync::Claim>();
    std::vector<core::Job> jobs(64);
    core::Job* const first = linked(jobs, 0, 64);
    for (int lap = 0; lap < 5; ++lap) {
        for (int i = 0; i < 16; ++i) {
            CHECK(queue->try_push_run(first, 64));
        }
        CHECK_FALSE(queue->try_push_run(first, 1));
        CHECK(queue->size() == 1024);
        for (int i = 0; i < 16; ++i) {
            CHECK(queue->claim(*claim, 1) == 64);  // a run is never split
            for (std::size_t j = 0; j < 64; ++j) {
                CHECK(claim->take_next() == RunEntry{&jobs[j], j == 63});
            }
            CHECK(claim->take_next() == RunEntry{});
        }
        CHECK(queue->empty());
        CHECK(queue->try_push_run(first, 63));  // shift the lap against the slots
        CHECK(queue->claim(*claim, 64) == 63);
        std::array<RunEntry, 64> out{};
        CHECK(claim->revoke(out).count == 62);
        CHECK(out[61] == RunEntry{&jobs[62], true});
        CHECK(claim->take_next() == RunEntry{&jobs[0], false});
        CHECK(claim->take_next() == RunEntry{});
        CHECK(claim->inside_run());
    }
}

TEST_CASE("a claim holds at most 64 jobs, in as many whole runs as fit") {
    auto queue = std::make_unique<sync::RunQueue>();
    auto claim = std::make_unique<sync::Claim>();
    std::vector<core::Job> jobs(90);
    for (std::size_t i = 0; i < 90; i += 30) {
        CHECK(queue->try_push_run(linked(jobs, i, 30), 30));
    }
    CHECK(queue->claim(*claim, 1'000) == 60);
    CHECK(queue->size() == 30);
}

TEST_CASE("who writes what is on lines of its own") {
    static_assert(alignof(sync::RunQueue) == sync::cache_line);
    static_assert(sizeof(sync::RunQueue) == 2 * sync::cache_line + 1024 * sizeof(void*));
    static_assert(sizeof(sync::Claim) == sync::cache_line + 64 * sizeof(void*));
    CHECK(sync::unpacked(sync::packed({nullptr, true})) == RunEntry{nullptr, true});
    core::Job job;
    CHECK(sync::unpacked(sync::packed({&job, true})) == RunEntry{&job, true});
    CHECK(sync::unpacked(sync::packed({&job, false})) == RunEntry{&job, false});
}
