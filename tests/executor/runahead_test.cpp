// Goal: what is handed out ahead is never stranded (E28, E32), and a batch costs one wake-up (E26).
// Method: jobs that all look tiny, of which one stands at a gate until the others have run: if anything is stranded behind
// it, the test ends by its patience.
#include <algorithm>
#include <optional>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Lets the executor learn that jobs of these actors are tiny, so that it hands out long runs.
void make_known_as_tiny(std::vector<Actor<int>>& actors) {
    std::vector<Completion<void>> last;
    for (auto& actor : actors) {
        for (int i = 0; i < 400; ++i)
            actor.post_mutate([](int& n) { ++n; }).value();
        last.push_back(actor.mutate([](int&) {}));
    }
    for (auto& job : last)
        REQUIRE(code_of(job) == no_error);
}

std::vector<Actor<int>> some_actors(Executor& executor, int count) {
    std::vector<Actor<int>> actors;
    for (int i = 0; i < count; ++i)
        actors.push_back(executor.add_actor("a" + std::to_string(i), 0));
    return actors;
}

}  // namespace

TEST_CASE("E28 a job that blocks amid tiny jobs strands no other actor's") {
    under_both_policies({2, 4}, [](const Config& config) {
        Executor executor(config);
        auto actors = some_actors(executor, 8);
        make_known_as_tiny(actors);
        for (int round = 0; round < scaled(40); ++round) {
            const Gate gate;
            std::atomic<int> others{0};
            std::atomic<int> behind{0};
            constexpr int each = 60;
            {
                const Batch batch(executor);
                for (int i = 0; i < each; ++i) {
                    for (std::size_t a = 0; a < actors.size(); ++a) {
                        if (a == 3 && i == round % each)
                            actors[a].post_mutate([gate](int&) { gate.pass(); }).value();
                        else
                            actors[a]
                                .post_mutate(
                                    [&others, &behind, a](int&) { (a == 3 ? behind : others).fetch_add(1); })
                                .value();
                    }
                }
            }
            REQUIRE(gate.reached_by(1));
            CHECK(eventually([&] { return others.load() == each * 7; }));
            CHECK(gate.inside() == 1);
            CHECK(behind.load() == round % each);  // the actor of the blocked job waits, in order
            gate.open();
            CHECK(eventually([&] { return behind.load() == each - 1; }));
        }
    });
}

TEST_CASE("E28 as before with a job that sleeps 50 ms: the others do not wait for it") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actors = some_actors(executor, 4);
        make_known_as_tiny(actors);
        int finished_in_time = 0;
        for (int round = 0; round < 6; ++round) {
            std::atomic<int> others{0};
            std::atomic<int> seen_at_end{-1};
            std::atomic<int> done{0};  // the last touch of each job: what they refer to ends with the round
            {
                const Batch batch(executor);
                for (int i = 0; i < 40; ++i) {
                    for (std::size_t a = 0; a < actors.size(); ++a) {
                        if (a == 1 && i == 5) {
                            actors[a]
                                .post_mutate([&](int&) {
                                    std::this_thread::sleep_for(50ms);
                                    seen_at_end.store(others.load());
                                    done.fetch_add(1);
                                })
                                .value();
                        } else {
                            actors[a]
                                .post_mutate([&others, &done, a](int&) {
                                    others.fetch_add(a == 1 ? 0 : 1);
                                    done.fetch_add(1);
                                })
                                .value();
                        }
                    }
                }
            }
            CHECK(eventually([&] { return done.load() == 160; }));
            finished_in_time += seen_at_end.load() == 120 ? 1 : 0;
        }
        CHECK(finished_in_time >= 4);  // all, on a machine of our own
    });
}

TEST_CASE("E28 reads of one actor, one of which blocks: the others run beside it") {
    under_both_policies({3, 4}, [](const Config& config) {
        Executor executor(config);
        auto actors = some_actors(executor, 1);
        make_known_as_tiny(actors);
        for (int round = 0; round < scaled(60); ++round) {
            const Gate gate;
            std::atomic<int> others{0};
            {
                const Batch batch(executor);
                for (int i = 0; i < 50; ++i) {
                    if (i == round % 50)
                        actors[0].post_read([gate](const int&) { gate.pass(); }).value();
                    else
                        actors[0].post_read([&others](const int&) { others.fetch_add(1); }).value();
                }
            }
            REQUIRE(gate.reached_by(1));
            CHECK(eventually([&] { return others.load() == 49; }));
            gate.open();
        }
    });
}

TEST_CASE(
    "E28 a job that waits amid tiny jobs gives back what it had been handed, and the awaited one runs") {
    under_both_policies({2, 4}, [](const Config& config) {
        Executor executor(config);
        auto actors = some_actors(executor, 6);
        make_known_as_tiny(actors);
        for (int round = 0; round < scaled(80); ++round) {
            std::vector<Completion<int>> waits;
            std::atomic<int> ran{0};
            {
                const Batch batch(executor);
                for (std::size_t i = 0; i < 90; ++i) {
                    if (i % 30 == 10) {
                        // Its target is queued behind what was handed to this worker.
                        waits.push_back(actors[i % 6].mutate([other = actors[(i + 1) % 6]](int&) {
                            const auto result = other.mutate([](int&) { return 1; }).wait_for(patience);
                            return result ? 1 : result.error() == ErrorCode::would_deadlock ? 2 : 3;
                        }));
                    } else {
                        actors[i % 6].post_mutate([&ran](int&) { ran.fetch_add(1); }).value();
                    }
                }
            }
            for (auto& wait : waits)
                CHECK(value_of(wait) <= 2);
            CHECK(eventually([&] { return ran.load() == 87; }));
        }
    });
}

TEST_CASE(
    "E32 a tiny job behind an unexpectedly long one starts within milliseconds while a worker is idle") {
    under_both_policies({2}, [](const Config& config) {
        std::vector<std::chrono::nanoseconds> delays;
        Executor executor(config);
        auto actors = some_actors(executor, 2);
        make_known_as_tiny(actors);
        for (int round = 0; round < 31; ++round) {
            const Gate gate;
            std::atomic<std::int64_t> blocked_at{0};
            std::atomic<std::int64_t> started_at{0};
            const auto now = [] { return steady_clock::now().time_since_epoch().count(); };
            {
                const Batch batch(executor);
                actors[0]
                    .post_mutate([gate, &blocked_at, now](int&) {
                        blocked_at.store(now());
                        gate.pass();
                    })
                    .value();
                actors[1].post_mutate([&started_at, now](int&) { started_at.store(now()); }).value();
            }
            REQUIRE(eventually([&] { return started_at.load() != 0; }));
            REQUIRE(gate.reached_by(1));
            delays.emplace_back(std::max<std::int64_t>(0, started_at.load() - blocked_at.load()));
            gate.open();
        }
        std::ranges::sort(delays);
        const auto median = std::chrono::duration_cast<std::chrono::microseconds>(delays[delays.size() / 2]);
        INFO("median delay " << median.count() << " us");
        CHECK(median < 20ms);  // 500 us by design; the rest is for a machine that is busy with other things
    });
}

TEST_CASE(
    "E32 E26 a batch for two actors wakes one worker; the first job turns out long, the other runs all the "
    "same") {
    under_both_policies({2, 4}, [](const Config& config) {
        Executor executor(config);
        auto first = executor.add_actor("first", 0);
        auto second = executor.add_actor("second", 0);
        for (int round = 0; round < scaled(40); ++round) {
            // Tiny until now, so its worker stays a looker inside it; home has had the time to go to sleep.
            for (int i = 0; i < 20; ++i)
                CHECK(code_of(first.mutate([](int&) {})) == no_error);
            std::this_thread::sleep_for(round % 4 == 0 ? 20ms : 1ms);
            std::atomic<bool> other_ran{false};
            std::atomic<bool> waited{false};
            std::optional<Completion<void>> one;
            std::optional<Completion<void>> other;
            {
                const Batch batch(executor);
                one = first.mutate([&](int&) { waited.store(eventually([&] { return other_ran.load(); })); });
                other = second.mutate([&](int&) { other_ran.store(true); });
            }
            CHECK(code_of(*one) == no_error);
            CHECK(code_of(*other) == no_error);
            REQUIRE(waited.load());
        }
    });
}

TEST_CASE("E32 all workers inside long jobs: what comes meanwhile runs as soon as one is free") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (int round = 0; round < 20; ++round) {
            AllWorkersHeld held(executor);
            auto job = actor.mutate([](int&) {});
            CHECK_FALSE(job.ready());
            held.release();
            CHECK(code_of(job) == no_error);
        }
    });
}

TEST_CASE("E32 one worker after the other is taken by long jobs, and each later job still finds a free one") {
    under_both_policies({4}, [](const Config& config) {
        Executor executor(config);
        auto actors = some_actors(executor, 8);
        make_known_as_tiny(actors);
        for (int round = 0; round < 10; ++round) {
            const Gate gate;
            for (unsigned i = 0; i < 3; ++i) {
                actors[i].post_mutate([gate](int&) { gate.pass(); }).value();
                std::vector<Completion<void>> quick;
                for (std::size_t a = 3; a < 8; ++a)
                    quick.push_back(actors[a].mutate([](int&) {}));
                REQUIRE(gate.reached_by(i + 1));
                for (auto& job : quick)
                    CHECK(code_of(job) == no_error);
            }
            gate.open();
        }
    });
}

TEST_CASE("E26 a batch of many submissions to a sleeping executor wakes it once") {
    under_both_policies({1}, [](Config config) {
        config.spin = SpinPolicy::park;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::uint64_t wakes = 0;
        constexpr int rounds = 20;
        for (int round = 0; round < rounds; ++round) {
            std::this_thread::sleep_for(2ms);  // long enough to park
            std::vector<Completion<void>> jobs;
            const std::uint64_t before = executor.snapshot().wakeups;
            {
                const Batch outer(executor);
                for (int i = 0; i < 50; ++i) {
                    const Batch nested(executor);
                    jobs.push_back(actor.mutate([](int&) {}));
                }
            }
            for (auto& job : jobs)
                CHECK(code_of(job) == no_error);
            wakes += executor.snapshot().wakeups - before;
        }
        INFO("wake-ups of the worker in " << rounds << " batches: " << wakes);
        // Under `dedicated` a batch wakes home, which is not in this count; workers are woken by home as it hands out.
        if (config.policy == SchedulerPolicy::lent)
            CHECK(wakes <= 3 * rounds);
    });
}

TEST_CASE("E26 batches from many threads, some from inside jobs: every job runs once") {
    under_both_policies({1, 2}, [](const Config& config) {
        std::atomic<int> ran{0};
        Executor executor(config);
        auto actors = some_actors(executor, 4);
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (int round = 0; round < scaled(80); ++round) {
                    const Batch batch(executor);
                    for (std::size_t i = 0; i < 20; ++i) {
                        actors[i % 4]
                            .post_mutate([&ran, &executor, next = actors[(i + 1) % 4], i](int&) {
                                ran.fetch_add(1);
                                if (i % 10 != 0)
                                    return;
                                const Batch inner(executor);
                                next.post_mutate([&ran](int&) { ran.fetch_add(1); }).value();
                            })
                            .value();
                    }
                }
            });
        }
        threads.clear();
        CHECK(eventually([&] { return ran.load() == 4 * scaled(80) * 22; }));
    });
}
