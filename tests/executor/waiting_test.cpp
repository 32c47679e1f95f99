// Goal: a wait ends with the job, or says at once why it never would (E19, E20); case X07.
// Method: waits from inside jobs in every constellation that could close a ring or use up the workers. A wait that hangs
// fails the test by its patience.
#include <stdexcept>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("E19 wait_for gives up and leaves the job running; it can be waited for again, or dropped") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 1);
        const Gate gate;
        auto job = actor.mutate({.request_id = "slow"}, [gate](int& n) {
            gate.pass();
            return ++n;
        });
        for (int i = 0; i < 3; ++i) {
            const auto early = job.wait_for(2ms);
            REQUIRE_FALSE(early);
            CHECK(early.error() == ErrorCode::timed_out);
            CHECK(early.error().actor() == "a");
            CHECK(early.error().request_id() == "slow");
            CHECK(job.valid());
            CHECK_FALSE(job.ready());
        }
        CHECK(job.wait_for(0ns).error() == ErrorCode::timed_out);
        CHECK(job.wait_for(-5s).error() == ErrorCode::timed_out);
        gate.open();
        CHECK(value_of(job) == 2);
        CHECK_FALSE(job.valid());
        CHECK(job.wait_for(1ms).error() == ErrorCode::no_state);
    });
}

TEST_CASE("E19 a wait that never ends by time: the longest durations there are") {
    Executor executor;
    auto actor = executor.add_actor("a", 1);
    CHECK(
        actor.read([](const int&) { std::this_thread::sleep_for(5ms); }).wait_for(std::chrono::hours::max()));
    CHECK(actor.read([](const int&) { std::this_thread::sleep_for(5ms); })
              .wait_for(std::chrono::duration<double>(1e300)));
}

TEST_CASE("E19 waiters on many threads at once, with timeouts that race with the ends") {
    under_both_policies({2}, [](const Config& config) {
        std::atomic<int> values{0};
        Executor executor(config);
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&executor, &values, t] {
                auto actor = executor.add_actor("a" + std::to_string(t), 0);
                for (int i = 0; i < scaled(300); ++i) {
                    auto job = actor.mutate([i](int&) {
                        if (i % 4 == 0)
                            std::this_thread::sleep_for(100us);
                        return i;
                    });
                    for (;;) {
                        const auto result = job.wait_for(std::chrono::microseconds(i % 130));
                        if (result && *result == i) {
                            values.fetch_add(1);
                            break;
                        }
                        if (result || !(result.error() == ErrorCode::timed_out))
                            break;
                    }
                }
            });
        }
        threads.clear();
        CHECK(values.load() == 4 * scaled(300));
    });
}

TEST_CASE("E20 X07 inside a job, waiting for a job of the same actor is refused at once; all finish") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate inside;
        const Gate go;
        struct Outcome {
            ErrorCode inner = {};
            bool still_valid = false;
            Completion<int> handle;
        };
        auto outer = actor.read([&, inside, go](const int&) {
            inside.pass();
            go.pass();
            Outcome outcome;
            outcome.handle = actor.read([](const int& n) { return n; });
            outcome.inner = outcome.handle.wait().error().value();
            outcome.still_valid = outcome.handle.valid();
            return outcome;
        });
        inside.open();
        REQUIRE(inside.reached_by(1));
        auto writer = actor.mutate([](int& n) { n = 7; });  // queued: the read behind it would wait for ever
        go.open();
        auto outcome = result_of(outer);
        REQUIRE(outcome);
        CHECK(outcome->inner == ErrorCode::would_deadlock);
        CHECK(outcome->still_valid);
        CHECK(code_of(writer) == no_error);
        CHECK(value_of(outcome->handle) == 7);
    });
}

TEST_CASE("E20 every lane refuses a wait for its own actor, with wait() and wait_for()") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const auto ask = [actor](const int&) {
            auto inner = actor.read({.request_id = "inner"}, [](const int&) {});
            const auto timed = inner.wait_for(patience);
            const auto plain = inner.wait();
            return !timed && !plain && timed.error() == ErrorCode::would_deadlock &&
                   plain.error() == ErrorCode::would_deadlock && plain.error().actor() == "a" &&
                   plain.error().request_id() == "inner";
        };
        CHECK(value_of(actor.read(ask)));
        CHECK(value_of(actor.status(ask)));
        CHECK(value_of(actor.mutate([ask](int& n) { return ask(n); })));
        CHECK(value_of(actor.build(ask)));
        CHECK(value_of(actor.build([](const int&) {}, [ask](int& n) { return ask(n); })));
        // A job that has ended already is no deadlock.
        auto done = actor.read([](const int&) { return 3; });
        CHECK(eventually([&] { return done.ready(); }));
        CHECK(value_of(actor.mutate([&done](int&) { return done.wait().value(); })) == 3);
    });
}

TEST_CASE("E20 waiting for another actor's job is allowed while a worker is left, also many times over") {
    under_both_policies({2, 4}, [](const Config& config) {
        Executor executor(config);
        auto front = executor.add_actor("front", 0);
        auto back = executor.add_actor("back", 0);
        for (int i = 0; i < scaled(300); ++i) {
            const auto result = result_of(
                front.mutate([back, i](int&) { return back.mutate([i](int&) { return i; }).wait(); }));
            REQUIRE(result);
            REQUIRE(result->has_value());
            CHECK(**result == i);
        }
        // With a timeout, which passes, and again.
        const Gate gate;
        auto slow = back.mutate([gate](int&) { gate.pass(); });
        const auto codes = result_of(front.mutate([&slow, gate](int&) {
            std::vector<ErrorCode> seen;
            seen.push_back(slow.wait_for(1ms).error().value());
            gate.open();
            const auto end = slow.wait_for(patience);
            seen.push_back(end ? no_error : end.error().value());
            return seen;
        }));
        CHECK(*codes == std::vector{ErrorCode::timed_out, no_error});
    });
}

TEST_CASE(
    "E20 of waits that would leave no worker to run anything exactly the last is refused, and no other") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        Executor executor(config);
        const std::uint32_t workers = executor.config().pool_size;
        auto target = executor.add_actor("target", 0);
        std::vector<Actor<int>> actors;
        for (std::uint32_t i = 0; i < workers; ++i)
            actors.push_back(executor.add_actor("a" + std::to_string(i), 0));
        for (int round = 0; round < scaled(300); ++round) {
            const Gate all_inside;
            std::vector<Completion<ErrorCode>> jobs;
            for (auto& actor : actors) {
                jobs.push_back(actor.mutate([target, all_inside](int&) {
                    all_inside.pass();
                    const auto result = target.mutate([](int&) {}).wait_for(patience);
                    return result ? no_error : result.error().value();
                }));
            }
            REQUIRE(all_inside.reached_by(workers));
            all_inside.open();
            std::uint32_t refused = 0;
            for (auto& job : jobs) {
                const ErrorCode code = value_of(job);
                CHECK((code == no_error || code == ErrorCode::would_deadlock));
                refused += code == ErrorCode::would_deadlock ? 1 : 0;
            }
            CHECK(refused == 1);
        }
        CHECK(code_of(target.mutate([](int&) {})) == no_error);
    });
}

TEST_CASE("E20 a ring of actors that wait for each other: one of the waits is refused, and all end") {
    under_both_policies({3, 4, 6}, [](const Config& config) {
        Executor executor(config);
        const std::size_t length = executor.config().pool_size - 1;
        std::vector<Actor<int>> ring;
        for (std::size_t i = 0; i < length; ++i)
            ring.push_back(executor.add_actor("a" + std::to_string(i), 0));
        for (int round = 0; round < scaled(40); ++round) {
            const Gate all_inside;
            std::vector<Completion<ErrorCode>> jobs;
            for (std::size_t i = 0; i < length; ++i) {
                jobs.push_back(ring[i].mutate([next = ring[(i + 1) % length], all_inside, round, i](int&) {
                    all_inside.pass();
                    if (round % 2 == 0)  // one after the other, or all at once
                        std::this_thread::sleep_for(std::chrono::microseconds(300 * i));
                    const auto result = next.mutate([](int&) {}).wait_for(patience);
                    return result ? no_error : result.error().value();
                }));
            }
            REQUIRE(all_inside.reached_by(static_cast<unsigned>(length)));
            all_inside.open();
            std::size_t refused = 0;
            for (auto& job : jobs) {
                const ErrorCode code = value_of(job);
                CHECK((code == no_error || code == ErrorCode::would_deadlock));
                refused += code == ErrorCode::would_deadlock ? 1 : 0;
            }
            CHECK(refused == 1);
        }
    });
}

TEST_CASE("E20 a chain of waits through several actors is no ring") {
    under_both_policies({4}, [](const Config& config) {
        Executor executor(config);
        auto a = executor.add_actor("a", 0);
        auto b = executor.add_actor("b", 0);
        auto c = executor.add_actor("c", 0);
        const auto result = result_of(a.mutate([b, c](int&) {
            return b.mutate([c](int&) { return c.read([](const int&) { return 5; }).wait().value(); })
                .wait()
                .value();
        }));
        CHECK(*result == 5);
    });
}

TEST_CASE("E20 waits from a context's destructor end, on whichever thread it runs") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        std::atomic<int> ended{0};
        std::atomic<int> values{0};
        {
            Executor executor(config);
            auto other = executor.add_actor("other", 0);
            for (int i = 0; i < 20; ++i) {
                auto wait = [other, &ended, &values] {
                    const auto result = other.mutate([](int&) {}).wait_for(patience);
                    if (result || result.error() == ErrorCode::would_deadlock)
                        ended.fetch_add(1);
                    values.fetch_add(result ? 1 : 0);
                };
                static_cast<void>(executor.emplace_actor<AtEnd<decltype(wait)>>("a", {}, wait));
                executor.remove_actor("a");
                CHECK(eventually([&] { return ended.load() == i + 1; }));
            }
        }
    });
}

TEST_CASE("E20 a closure's destructor that waits for a job of its own actor does not hang") {
    under_both_policies({2, 4}, [](const Config& config) {
        std::atomic<int> code{-1};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        auto wait = [actor, &code] {
            const auto result = actor.mutate([](int&) {}).wait_for(5s);
            code.store(static_cast<int>(result ? no_error : result.error().value()));
        };
        auto job = actor.mutate([end = AtEnd(wait)](int&) {});
        CHECK(code_of(job) == no_error);
        CHECK(code.load() == static_cast<int>(ErrorCode::would_deadlock));
    });
}

TEST_CASE("E20 E26 a wait inside an open batch does not wait for the wake-up that the batch holds back") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (int i = 0; i < 20; ++i) {
            const Batch batch(executor);
            CHECK(code_of(actor.mutate([](int&) {})) == no_error);
        }
    });
}

TEST_CASE("E20 E11 a wait for a maintenance job that cannot be admitted meanwhile does not hang") {
    under_both_policies({2, 4}, [](const Config& config) {
        Executor executor(config);
        const std::uint32_t waiters = executor.config().pool_size - executor.config().interactive_reserve;
        auto target = executor.add_actor("target", 0);
        const Gate all_inside;
        std::vector<Completion<ErrorCode>> jobs;
        for (std::uint32_t i = 0; i < waiters; ++i) {
            auto actor = executor.add_actor("a" + std::to_string(i), 0);
            jobs.push_back(actor.mutate([target, all_inside](int&) {
                all_inside.pass();
                const auto result =
                    target.mutate({.job_class = JobClass::maintenance}, [](int&) {}).wait_for(5s);
                return result ? no_error : result.error().value();
            }));
        }
        REQUIRE(all_inside.reached_by(waiters));
        all_inside.open();
        for (auto& job : jobs) {
            const ErrorCode code = value_of(job);
            CHECK((code == no_error || code == ErrorCode::would_deadlock));
        }
    });
}

TEST_CASE("E20 E9 a wait for a build by builds that hold all permits is refused, and does not hang") {
    under_both_policies({4}, [](Config config) {
        config.heavy_permits = 2;
        Executor executor(config);
        auto target = executor.add_actor("target", 0);
        const Gate all_inside;
        std::vector<Completion<ErrorCode>> jobs;
        for (int i = 0; i < 2; ++i) {
            auto actor = executor.add_actor("a" + std::to_string(i), 0);
            jobs.push_back(actor.build([target, all_inside](const int&) {
                all_inside.pass();
                const auto result = target.build([](const int&) {}).wait_for(5s);
                return result ? no_error : result.error().value();
            }));
        }
        REQUIRE(all_inside.reached_by(2));
        all_inside.open();
        for (auto& job : jobs) {
            const ErrorCode code = value_of(job);
            CHECK((code == no_error || code == ErrorCode::would_deadlock));
        }
    });
}

TEST_CASE("E20 many jobs wait for many others, at random, on few workers: all end") {
    under_both_policies({2, 4}, [](const Config& config) {
        Executor executor(config);
        std::vector<Actor<int>> actors;
        for (int i = 0; i < 6; ++i)
            actors.push_back(executor.add_actor("a" + std::to_string(i), 0));
        std::vector<Completion<int>> jobs;
        for (std::size_t i = 0; i < static_cast<std::size_t>(scaled(400)); ++i) {
            jobs.push_back(actors[i % 6].mutate([other = actors[(i * 5 + i / 6) % 6]](int&) {
                const auto result = other.read([](const int&) { return 1; }).wait_for(patience);
                return result ? 1 : result.error() == ErrorCode::would_deadlock ? 2 : 3;
            }));
        }
        int answered = 0;
        for (auto& job : jobs)
            answered += value_of(job) <= 2 ? 1 : 0;
        CHECK(answered == static_cast<int>(jobs.size()));
    });
}
