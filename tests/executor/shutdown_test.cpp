// Goal: an executor ends as E22 says, whenever and from wherever it is asked to; case P05's kind.
// Method: ends in every order with submissions, waits and removals. Threads are counted in and out by the hooks.
#include <optional>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("E22 drain: all accepted jobs run, later ones are refused, and the end can be waited for") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        std::atomic<int> ran{0};
        Executor executor(config);
        std::vector<Actor<int>> actors;
        for (int i = 0; i < 5; ++i)
            actors.push_back(executor.add_actor("a" + std::to_string(i), 0));
        AllWorkersHeld held(executor);
        for (int i = 0; i < 200; ++i) {
            const JobOptions options{.job_class = i % 3 == 0 ? JobClass::maintenance : JobClass::interactive};
            Actor<int>& actor = actors[static_cast<std::size_t>(i) % 5];
            if (i % 7 == 0)
                actor.build(options, [](const int&) {}, [&ran](int&) { ran.fetch_add(1); }).detach();
            else
                actor.mutate(options, [&ran](int&) { ran.fetch_add(1); }).detach();
        }
        CHECK(executor.wait_shut_down().error() == ErrorCode::would_deadlock);  // nobody asked for an end
        executor.shutdown(Shutdown::drain);
        const auto refused = result_of(actors[0].read({.request_id = "late"}, [](const int&) {}));
        CHECK(refused.error() == ErrorCode::shut_down);
        CHECK(refused.error().request_id() == "late");
        CHECK(executor.wait_shut_down_for(5ms).error() == ErrorCode::timed_out);
        held.release();
        CHECK(executor.wait_shut_down_for(patience));
        CHECK(executor.wait_shut_down());
        CHECK(ran.load() == 200);
        CHECK(executor.snapshot().jobs.completed() == executor.snapshot().jobs.accepted);
        CHECK(executor.snapshot().refused.shut_down >= 1);
        CHECK(code_of(actors[1].read([](const int&) {})) == ErrorCode::shut_down);
        try {
            static_cast<void>(executor.add_actor("late", 0));
            FAIL("registered after the end");
        } catch (const Exception& late) {
            CHECK(late.error() == ErrorCode::shut_down);
        }
    });
}

TEST_CASE("E22 cancel: what is queued ends while all workers are stuck; what runs finishes") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        std::atomic<int> ran{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        AllWorkersHeld held(executor);
        std::vector<Completion<void>> queued;
        for (int i = 0; i < 60; ++i) {
            const JobOptions options{.job_class = i % 3 == 0 ? JobClass::maintenance : JobClass::interactive,
                                     .request_id = "q"};
            queued.push_back(i % 5 == 0 ? actor.build(options, [&ran](const int&) { ran.fetch_add(1); })
                                        : actor.mutate(options, [&ran](int&) { ran.fetch_add(1); }));
        }
        executor.shutdown(Shutdown::cancel);
        for (auto& job : queued) {
            const auto result = result_of(job);
            REQUIRE_FALSE(result);
            CHECK(result.error() == ErrorCode::shut_down);
            CHECK(result.error().request_id() == "q");
        }
        CHECK(executor.snapshot().jobs.shut_down == 60);
        held.release();
        CHECK(executor.wait_shut_down_for(patience));
        CHECK(ran.load() == 0);
    });
}

TEST_CASE("E22 a drain can be turned into a cancel, but not back") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        AllWorkersHeld held(executor);
        auto queued = actor.mutate([](int&) {});
        executor.shutdown(Shutdown::drain);
        CHECK(queued.wait_for(3ms).error() == ErrorCode::timed_out);
        executor.shutdown(Shutdown::cancel);
        CHECK(code_of(queued) == ErrorCode::shut_down);
        executor.shutdown(Shutdown::drain);
        held.release();
        CHECK(executor.wait_shut_down_for(patience));
    });
}

TEST_CASE("E22 the destructor cancels, waits for what runs, and joins; idle and busy executors alike") {
    under_both_policies({1, 2, 4}, [](Config config) {
        const auto threads = ThreadCounts::watch(config);
        Tracked::Counts contexts;
        std::atomic<bool> finished{false};
        std::vector<Completion<void>> queued;
        std::jthread opener;
        {
            Executor executor(config);
            auto actor = executor.emplace_actor<Tracked>("a", {}, contexts);
            const Gate gate;
            actor
                .mutate([gate, &finished](Tracked&) {
                    gate.pass();
                    std::this_thread::sleep_for(5ms);
                    finished.store(true);
                })
                .detach();
            REQUIRE(gate.reached_by(1));
            for (int i = 0; i < 20; ++i)
                queued.push_back(actor.mutate([](Tracked&) {}));
            opener = std::jthread([gate] { gate.open(); });
        }
        CHECK(finished.load());
        CHECK(contexts.alive.load() == 0);
        CHECK(threads->stopped.load() == threads->started.load());
        CHECK(threads->started.load() == static_cast<int>(*config.pool_size) + 1);
        for (auto& job : queued) {
            CHECK(job.ready());
            const ErrorCode code = code_of(job);
            CHECK((code == ErrorCode::shut_down || code == no_error));
        }
        const Executor idle(config);
    });
}

TEST_CASE("E22 P05 submissions before, during and after the end, from many threads: each has one answer") {
    for (const Shutdown mode : {Shutdown::drain, Shutdown::cancel}) {
        under_both_policies({1, 2, 4}, [mode](const Config& config) {
            for (int round = 0; round < scaled(16); ++round) {
                std::atomic<int> ran{0};
                std::atomic<int> values{0};
                std::atomic<int> shut_down{0};
                std::atomic<int> other{0};
                Executor executor(config);
                auto actor = executor.add_actor("a", 0);
                std::vector<std::jthread> threads;
                for (int t = 0; t < 4; ++t) {
                    threads.emplace_back([&] {
                        std::vector<Completion<void>> jobs;
                        for (int i = 0; i < 300; ++i)
                            jobs.push_back(actor.mutate([&ran](int&) { ran.fetch_add(1); }));
                        for (auto& job : jobs) {
                            const auto result = job.wait_for(patience);
                            (result                                   ? values
                             : result.error() == ErrorCode::shut_down ? shut_down
                                                                      : other)
                                .fetch_add(1);
                        }
                    });
                }
                std::this_thread::sleep_for(std::chrono::microseconds(50 * round));
                executor.shutdown(mode);
                threads.clear();
                CHECK(executor.wait_shut_down_for(patience));
                CHECK(other.load() == 0);
                CHECK(values.load() == ran.load());
                CHECK(values.load() + shut_down.load() == 1200);
                const Snapshot snapshot = executor.snapshot();
                CHECK(snapshot.jobs.accepted + snapshot.refused.shut_down == 1200);
                CHECK(snapshot.jobs.accepted == snapshot.jobs.completed());
                if (mode == Shutdown::drain)
                    CHECK(snapshot.jobs.shut_down == 0);
            }
        });
    }
}

TEST_CASE("E22 waiting for the end from inside a job is refused") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto job = actor.mutate([&executor, gate](int&) {
            gate.pass();
            const auto end = executor.wait_shut_down();
            return end ? no_error : end.error().value();
        });
        REQUIRE(gate.reached_by(1));
        executor.shutdown(Shutdown::drain);
        gate.open();
        CHECK(value_of(job) == ErrorCode::would_deadlock);
        CHECK(executor.wait_shut_down_for(patience));
    });
}

TEST_CASE("E22 E20 a job that waits for a queued one is answered when that is cancelled or removed") {
    for (const bool by_removal : {false, true}) {
        under_both_policies({2, 3}, [by_removal](const Config& config) {
            std::atomic<bool> inside{false};
            Executor executor(config);
            auto front = executor.add_actor("front", 0);
            auto back = executor.add_actor("back", 0);
            const Gate gate;
            auto blocked = back.mutate([gate](int&) { gate.pass(); });
            REQUIRE(gate.reached_by(1));
            auto waiting = front.mutate([back, &inside](int&) {
                inside.store(true);
                const auto result = back.mutate([](int&) {}).wait_for(patience);
                return result ? no_error : result.error().value();
            });
            REQUIRE(eventually([&] { return inside.load() && executor.snapshot().jobs.queued == 1; }));
            if (by_removal)
                executor.remove_actor("back");
            else
                executor.shutdown(Shutdown::cancel);
            CHECK(value_of(waiting) == (by_removal ? ErrorCode::actor_removed : ErrorCode::shut_down));
            CHECK_FALSE(blocked.ready());
            gate.open();
            CHECK(code_of(blocked) == no_error);
        });
    }
}

TEST_CASE("E22 E26 an end while a batch is open on the same thread, and a batch that outlives its executor") {
    for (const Shutdown mode : {Shutdown::drain, Shutdown::cancel}) {
        under_both_policies({1, 2}, [mode](const Config& config) {
            for (int round = 0; round < 10; ++round) {
                std::optional<Executor> executor(std::in_place, config);
                auto actor = executor->add_actor("a", 0);
                const Batch batch(*executor);
                auto job = actor.mutate([](int&) {});
                executor->shutdown(mode);
                const ErrorCode code = code_of(job);
                CHECK((code == no_error || (mode == Shutdown::cancel && code == ErrorCode::shut_down)));
                CHECK(executor->wait_shut_down_for(patience));
                executor.reset();
                CHECK(code_of(actor.mutate([](int&) {})) == ErrorCode::shut_down);
            }
        });
    }
}
