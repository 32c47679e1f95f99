// Goal: an executor ends as E22 says, whenever and from wherever it is asked to; cases X01, X02 and P05's kind.
// Method: ends in every order with submissions, from every thread that an end can come from. Threads are counted in and
// out by the hooks.
#include <optional>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Counts the library's threads by their hooks, and outlives them.
struct Threads {
    std::atomic<int> started{0};
    std::atomic<int> stopped{0};
    [[nodiscard]] bool all_left() const {
        return eventually([&] { return stopped.load() == started.load(); });
    }
    static std::shared_ptr<Threads> watch(Config& config) {
        auto threads = std::make_shared<Threads>();
        config.on_thread_start = [threads](std::string_view) { threads->started.fetch_add(1); };
        config.on_thread_stop = [threads](std::string_view) { threads->stopped.fetch_add(1); };
        return threads;
    }
};

}  // namespace

TEST_CASE("E22 drain: all accepted jobs run, later ones are refused, and the end can be waited for") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        Executor executor(config);
        std::atomic<int> ran{0};
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

TEST_CASE(
    "E22 cancel: what is queued completes with shut_down while all workers are stuck; what runs finishes") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::atomic<int> ran{0};
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
        const auto threads = Threads::watch(config);
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

TEST_CASE("X01 submit, wait for the result, destroy the executor at once; many rounds") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        for (int round = 0; round < scaled(120); ++round) {
            std::optional<Executor> executor(std::in_place, config);
            auto actor = executor->add_actor("a", round);
            CHECK(value_of(actor.mutate([](int& n) { return ++n; })) == round + 1);
            executor.reset();
            CHECK(code_of(actor.read([](const int&) {})) == ErrorCode::shut_down);
        }
    });
}

TEST_CASE(
    "X01 as before, with the result waited for by another thread, which lets go while the executor ends") {
    under_both_policies({2}, [](const Config& config) {
        for (int round = 0; round < scaled(120); ++round) {
            std::jthread waiter;
            {
                Executor executor(config);
                auto actor = executor.add_actor("a", std::string("value"));
                auto job = actor.mutate([](std::string& s) { return s; });
                waiter = std::jthread([job = std::move(job)]() mutable {
                    const auto result = job.wait_for(patience);
                    if (!result && !(result.error() == ErrorCode::shut_down))
                        std::abort();  // neither value nor shut_down: a job was lost
                });
                auto dropped = actor.mutate([](std::string& s) { return s; });
            }
        }
    });
}

TEST_CASE("X02 E22 a job drops the last handle to its executor: no self-join, the threads end") {
    under_both_policies({1, 2, 4}, [](Config config) {
        for (int round = 0; round < scaled(40); ++round) {
            const auto threads = Threads::watch(config);
            Tracked::Counts contexts;
            auto executor = std::make_shared<Executor>(config);
            auto actor = executor->emplace_actor<Tracked>("a", {}, contexts);
            auto other = executor->add_actor("other", 0);
            const Gate gate;
            std::vector<Completion<void>> jobs;
            jobs.push_back(other.mutate([](int&) {}));
            jobs.push_back(actor.mutate([gate, last = executor](Tracked&) mutable {
                gate.pass();
                last.reset();  // the last one: the rest of this job runs on
                std::this_thread::sleep_for(100us);
            }));
            for (int i = 0; i < 10; ++i)
                jobs.push_back(actor.mutate([](Tracked&) {}));
            executor.reset();
            gate.open();
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                const ErrorCode code = code_of(jobs[i]);
                CHECK((code == no_error || (i != 1 && code == ErrorCode::shut_down)));
            }
            CHECK(threads->all_left());
            CHECK(eventually([&] { return contexts.alive.load() == 0; }));
        }
    });
}

TEST_CASE(
    "E22 the last handle goes in a closure's, a result's or a context's destructor, or on another executor") {
    under_both_policies({1, 2, 4}, [](Config config) {
        for (int round = 0; round < scaled(24); ++round) {
            for (const int from : {0, 1, 2, 3}) {
                INFO("from " << from);
                const auto threads = Threads::watch(config);
                auto executor = std::make_shared<Executor>(config);
                auto actor = executor->add_actor("a", 0);
                const Gate gate;
                auto queued_in = executor->add_actor("queued", 0);
                if (from == 0) {
                    actor.mutate([gate, last = executor](int&) { gate.pass(); }).detach();
                } else if (from == 1) {
                    actor
                        .mutate([gate, last = executor](int&) mutable {
                            gate.pass();
                            return std::move(last);
                        })
                        .detach();
                } else if (from == 2) {
                    static_cast<void>(executor->add_actor("holds", executor));
                    executor->remove_actor("holds");
                } else {
                    Executor other(config);
                    auto remote = other.add_actor("remote", 0);
                    auto job = remote.mutate([last = std::move(executor)](int&) mutable { last.reset(); });
                    CHECK(code_of(job) == no_error);
                }
                auto queued = queued_in.mutate([](int&) {});
                executor.reset();
                gate.open();
                const ErrorCode code = code_of(queued);
                CHECK((code == no_error || code == ErrorCode::shut_down));
                CHECK(threads->all_left());
                CHECK(code_of(queued_in.read([](const int&) {})) == ErrorCode::shut_down);
            }
        }
    });
}

TEST_CASE("E22 E16 handles, completions and listings outlive their executor") {
    under_both_policies({2}, [](const Config& config) {
        Tracked::Counts counts;
        for (int round = 0; round < 20; ++round) {
            std::optional<Executor> executor(std::in_place, config);
            auto actor = executor->emplace_actor<Tracked>("a", {}, counts);
            auto done = actor.read([](const Tracked&) { return std::string("result"); });
            auto failed = actor.read([](const Tracked&) -> int { throw 1; });
            CHECK(eventually([&] { return done.ready() && failed.ready(); }));
            std::vector<ActorEntry> entries = executor->actors();
            executor.reset();
            CHECK(value_of(done) == "result");
            CHECK(result_of(failed).error().actor() == "a");
            CHECK(counts.alive.load() == 1);  // the listing keeps it
            CHECK(entries[0].id() == "a");
            CHECK(entries[0].context<Tracked>() != nullptr);
            const Actor<Tracked> copy = actor;
            entries.clear();
            CHECK(counts.alive.load() == 0);
            CHECK(copy.id() == "a");
            CHECK(copy.post_read([](const Tracked&) {}).error() == ErrorCode::shut_down);
        }
    });
}

TEST_CASE("E22 an executor can be moved, and moved over one that still has work") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor first(config);
        auto actor = first.add_actor("a", 1);
        Executor second(config);
        auto lost = second.add_actor("b", 2);
        AllWorkersHeld held(second);
        auto queued = lost.mutate([](int&) {});
        std::jthread release([&held] { held.release(); });
        second = std::move(first);
        release.join();
        CHECK(code_of(queued) != ErrorCode::timed_out);
        CHECK(code_of(lost.read([](const int&) {})) == ErrorCode::shut_down);
        CHECK(value_of(actor.read([](const int& n) { return n; })) == 1);
        CHECK(second.find_actor<int>("a").has_value());
    });
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
