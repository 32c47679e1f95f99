// Goal: whatever the order of joining, landing, forgetting and giving up: as many runs as leaders, each caller gets its own
// run's end, nobody hangs, and all memory comes back (S1 S3 S4 S5 S7 S9, issue 5: 64 threads, 1,000 keys).
// Method: every run has a number; callers compare what they got. That such a stress finds planted bugs is shown on the parts
// that it is made of, in tests/sync: bucket_list_test.cpp and closing_stack_test.cpp.
#include <atomic>
#include <future>
#include <string>

#include "executor/coroutine.hpp"
#include "support/counting_resource.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

struct Injected : std::exception {
    explicit Injected(long of) : run(of) {}
    long run;
};

/// What all callers of a test saw.
struct Tally {
    std::atomic<long> runs{0};
    std::atomic<long> leaders{0};
    std::atomic<long> followers{0};
    std::atomic<long> gave_up{0};
    std::atomic<long> wrong{0};
    std::atomic<long> pending{0};

    /// The function: a value or an exception, both with the run's number.
    [[nodiscard]] long run(Random& random) {
        const long number = runs.fetch_add(1) + 1;
        if (random.one_in(4))
            std::this_thread::yield();
        if (random.one_in(5))
            throw Injected(number);
        return number;
    }
    void end(const FlightOutcome<long>& outcome) {
        (outcome.led ? leaders : followers).fetch_add(1);
        if (outcome.result) {
            wrong.fetch_add(*outcome.result > 0 ? 0 : 1);
        } else if (outcome.result.error() == ErrorCode::timed_out ||
                   outcome.result.error() == ErrorCode::cancelled) {
            gave_up.fetch_add(1);
        } else {
            try {
                std::rethrow_exception(outcome.result.error().exception());
            } catch (const Injected& injected) {
                wrong.fetch_add(injected.run > 0 ? 0 : 1);
            } catch (...) {
                wrong.fetch_add(1);
            }
        }
        pending.fetch_sub(1);
    }
};

}  // namespace

TEST_CASE(
    "S1 S3 S7 64 threads, 1,000 keys, injected exceptions: runs = leaders, no hang, memory back to the "
    "start") {
    CountingResource resource;
    {
        SingleFlight<std::string, long> flights({.buckets = 256, .memory = &resource});
        const std::uint64_t blocks = resource.blocks_in_use();
        Tally tally;
        constexpr unsigned threads = 64;
        const int calls = scaled(2'000);
        run_together(threads, [&](unsigned self) {
            Random random(self);
            for (int i = 0; i < calls; ++i) {
                // Half of them on few keys, so that they meet.
                const std::string key = "key " + std::to_string(random.below(random.one_in(2) ? 8 : 1'000));
                FlightPatience waits;
                if (random.one_in(8))
                    waits.patience = std::chrono::microseconds(random.below(200));
                tally.pending.fetch_add(1);
                tally.end(flights.run(key, waits, [&] { return tally.run(random); }));
                if (random.one_in(16))
                    flights.forget(key);
            }
        });
        CHECK(tally.runs.load() == tally.leaders.load());
        CHECK(tally.leaders.load() + tally.followers.load() == static_cast<long>(threads) * calls);
        CHECK(tally.followers.load() > 0);
        CHECK(tally.wrong.load() == 0);
        CHECK(flights.in_the_air() == 0);
        CHECK(resource.blocks_in_use() == blocks);
    }
    CHECK(resource.blocks_in_use() == 0);
}

TEST_CASE(
    "S1 S9 all who share a run get that run's number, and runs of a key do not overlap unless forgotten") {
    constexpr int rounds = 20'000;
    SingleFlight<int, long> flights({.buckets = 1});
    std::atomic<int> inside{0};
    std::atomic<long> runs{0};
    std::atomic<long> wrong{0};
    run_together(6, [&](unsigned) {
        for (int i = 0; i < scaled(rounds); ++i) {
            const long before = runs.load();
            const auto outcome = flights.run(1, [&] {
                wrong.fetch_add(inside.fetch_add(1) == 0 ? 0 : 1);
                const long number = runs.fetch_add(1) + 1;
                inside.fetch_sub(1);
                return number;
            });
            // A run that had ended before this call is not an answer to it: nothing is cached.
            wrong.fetch_add(outcome.result && *outcome.result >= before ? 0 : 1);
        }
    });
    CHECK(wrong.load() == 0);
}

TEST_CASE(
    "S2 S3 S5 S8 stress over the executor: every caller's continuation runs once, all memory comes back") {
    under_both_policies({2, 4}, [](Config config) {
        CountingResource resource;
        config.max_queued = 300;  // so that some leaders are refused
        Tally tally;
        std::atomic<long> refused{0};
        {
            SingleFlight<int, long> flights({.buckets = 16, .memory = &resource});
            const std::uint64_t blocks = resource.blocks_in_use();
            {
                Executor executor(config);
                std::array<Actor<int>, 4> actors;
                for (std::size_t i = 0; i < actors.size(); ++i)
                    actors[i] = executor.add_actor("a" + std::to_string(i), 0);
                std::stop_source stop;
                run_together(4, [&](unsigned self) {
                    Random random(self);
                    for (int i = 0; i < scaled(20'000); ++i) {
                        const auto key = static_cast<int>(random.below(40));
                        const JobOptions options{
                            .job_class = random.one_in(2) ? JobClass::maintenance : JobClass::interactive,
                            .stop = random.one_in(4) ? stop.get_token() : std::stop_token{}};
                        const auto& actor = actors[static_cast<std::size_t>(key) % actors.size()];
                        tally.pending.fetch_add(1);
                        auto share =
                            flights.run(key, actor, Lane::pure_read, options, [&tally, i](const int&) {
                                Random chance(static_cast<std::uint64_t>(i));
                                return tally.run(chance);
                            });
                        const auto end = [&](const FlightOutcome<long>& outcome) {
                            if (outcome.result || outcome.result.error() == ErrorCode::job_threw ||
                                outcome.result.error() == ErrorCode::cancelled) {
                                tally.end(outcome);
                                return;
                            }
                            refused.fetch_add(1);
                            tally.wrong.fetch_add(outcome.result.error() == ErrorCode::queue_full ||
                                                          outcome.result.error() == ErrorCode::shut_down
                                                      ? 0
                                                      : 1);
                            tally.pending.fetch_sub(1);
                        };
                        if (i == scaled(20'000) / 2 && self == 0)
                            stop.request_stop();
                        switch (random.below(3)) {
                            case 0:
                                share.detach();
                                tally.pending.fetch_sub(1);
                                break;
                            case 1:
                                end(share.wait());
                                break;
                            default:
                                std::move(share).then(end);
                                break;
                        }
                        if (random.one_in(64))
                            flights.forget(key);
                    }
                });
            }
            CHECK(tally.pending.load() == 0);
            CHECK(tally.wrong.load() == 0);
            CHECK(tally.runs.load() > 0);
            CHECK(flights.in_the_air() == 0);
            CHECK(resource.blocks_in_use() == blocks);
        }
        CHECK(resource.blocks_in_use() == 0);
    });
}
