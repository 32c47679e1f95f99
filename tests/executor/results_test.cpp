// Goal: every accepted job ends exactly once, with its value or with an error that says what is known (E16 to E18, E27).
// Method: each way to end is taken, and everything that the error tells is read.
#include <array>
#include <stdexcept>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("E16 values of all kinds come back: void, move-only, large, aligned") {
    struct alignas(64) Aligned {
        std::array<int, 16> values{};
    };
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", std::string("state"));
        CHECK(result_of(actor.read([](const std::string&) {})).has_value());
        CHECK(value_of(actor.read([](const std::string& s) { return s; })) == "state");
        CHECK(*value_of(actor.mutate([](std::string&) { return std::make_unique<int>(3); })) == 3);
        const std::string long_capture(1000, 'x');
        CHECK(result_of(actor.read([long_capture](const std::string&) { return long_capture; }))->size() ==
              1000);
        std::array<char, 4000> bulk{};
        bulk[3999] = 'z';
        CHECK((value_of(actor.read([bulk](const std::string&) { return bulk; })))[3999] == 'z');
        const auto aligned =
            result_of(actor.read([](const std::string&) { return Aligned{.values = {1, 2, 3}}; }));
        CHECK(aligned->values[2] == 3);
        CHECK(value_of(actor.read([held = Aligned{.values = {9}}](const std::string&) {
                  return static_cast<int>(reinterpret_cast<std::uintptr_t>(&held) % alignof(Aligned)) +
                         held.values[0];
              })) == 9);
        CHECK(executor.snapshot().oversized >= 3);
    });
}

TEST_CASE("E16 E19 a result that nobody takes is destroyed, taken once it is not there any more") {
    under_both_policies({2}, [](const Config& config) {
        Tracked::Counts counts;
        {
            Executor executor(config);
            auto actor = executor.add_actor("a", 0);
            for (int i = 0; i < scaled(200); ++i) {
                actor.mutate([&counts](int&) { return Tracked(counts); }).detach();
                {
                    const auto dropped = actor.mutate([&counts](int&) { return Tracked(counts); });
                    if (i % 2 == 0)
                        CHECK(eventually([&] { return dropped.ready(); }));
                }
                auto taken = actor.mutate([&counts](int&) { return Tracked(counts); });
                CHECK(result_of(taken).has_value());
                CHECK_FALSE(taken.valid());
                CHECK(taken.wait().error() == ErrorCode::no_state);
            }
            CHECK(eventually([&] { return counts.alive.load() == 0; }));
            CHECK(counts.destroyed.load() == 3 * scaled(200));
        }
        CHECK(counts.alive.load() == 0);
    });
}

TEST_CASE("E17 an unknown actor: the completion is ready at once and says so, however it was named") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        AllWorkersHeld held(executor);
        auto by_key = executor.submit<int>("nobody", Lane::pure_read, {.request_id = "r1"},
                                           [](const int& n) { return n; });
        CHECK(by_key.ready());
        const auto refused = result_of(by_key);
        CHECK(refused.error() == ErrorCode::actor_not_registered);
        CHECK(refused.error().actor() == "nobody");
        CHECK(refused.error().request_id() == "r1");
        CHECK(refused.error().code() == ErrorCode::actor_not_registered);
        CHECK(executor.snapshot().refused.actor_not_registered == 1);

        Actor<int> empty;
        auto nothing = empty.read([](const int&) {});
        CHECK(nothing.ready());
        CHECK(code_of(nothing) == ErrorCode::actor_not_registered);
        CHECK(empty.post_read([](const int&) {}).error() == ErrorCode::actor_not_registered);

        auto removed = executor.add_actor("removed", 0);
        executor.remove_actor("removed");
        auto late = removed.mutate({.request_id = "r2"}, [](int&) {});
        CHECK(late.ready());
        const auto late_refusal = result_of(late);
        CHECK(late_refusal.error() == ErrorCode::actor_not_registered);
        CHECK(late_refusal.error().request_id() == "r2");
        CHECK(executor.snapshot().refused.actor_not_registered == 2);
        CHECK(executor.actor_snapshot("removed").error() == ErrorCode::actor_not_registered);
    });
}

TEST_CASE("E18 a throw in a lane that reads, or in a build, fails its job only") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 1);
        const auto thrower = [](const int&) -> int { throw std::runtime_error("sorry"); };
        const JobOptions options{.request_id = "r9"};
        std::vector<Completion<int>> jobs;
        jobs.push_back(actor.read(options, thrower));
        jobs.push_back(actor.status(options, thrower));
        jobs.push_back(actor.build(options, thrower));
        jobs.push_back(actor.build(options, thrower, [](int&, int n) { return n; }));
        jobs.push_back(
            actor.read(options, [](const int&) -> int { throw 42; }));  // NOLINT: no std::exception
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const auto result = result_of(jobs[i]);
            REQUIRE_FALSE(result);
            const Error& error = result.error();
            CHECK(error == ErrorCode::job_threw);
            CHECK(error.actor() == "a");
            CHECK(error.request_id() == "r9");
            REQUIRE(error.exception() != nullptr);
            if (i < 4) {
                CHECK(error.message().find("sorry") != std::string_view::npos);
                CHECK_THROWS_WITH_AS(std::rethrow_exception(error.exception()), "sorry", std::runtime_error);
            } else {
                CHECK_THROWS_AS(std::rethrow_exception(error.exception()), int);
            }
        }
        CHECK_FALSE(actor.fatal());
        CHECK(value_of(actor.mutate([](int& n) { return n; })) == 1);
        CHECK(executor.snapshot().jobs.threw == 5);
    });
}

TEST_CASE(
    "E18 a throw in mutating or in an install is fatal: all that is queued fails with the first cause") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        for (const bool in_install : {false, true}) {
            INFO("in the install: " << in_install);
            std::atomic<int> ran{0};
            Executor executor(config);
            auto actor = executor.add_actor("a", 1);
            const Gate gate;
            const auto step = [gate](int&) {
                gate.pass();
                throw std::runtime_error("first cause");
            };
            auto fatal = in_install ? actor.build(
                                          {.request_id = "f"}, [](const int&) {}, step)
                                    : actor.mutate({.request_id = "f"}, step);
            REQUIRE(gate.reached_by(1));
            std::vector<Completion<void>> queued;
            const auto count = [&ran](const int&) { ran.fetch_add(1); };
            for (const JobClass c : {JobClass::interactive, JobClass::maintenance}) {
                const JobOptions options{.job_class = c, .request_id = "q"};
                queued.push_back(actor.read(options, count));
                queued.push_back(actor.mutate(options, [&ran](int&) { ran.fetch_add(1); }));
                queued.push_back(actor.build(options, count));
                queued.push_back(actor.status(options, count));
            }
            gate.open();
            const auto failed = result_of(fatal);
            CHECK(failed.error() == ErrorCode::job_threw);
            CHECK(failed.error().request_id() == "f");
            // From the moment that its failure is known nothing is accepted.
            CHECK(actor.fatal());
            const auto refused = result_of(actor.read({.request_id = "late"}, count));
            CHECK(refused.error() == ErrorCode::actor_fatal);
            CHECK(refused.error().request_id() == "late");
            for (auto& job : queued) {
                const auto result = result_of(job);
                REQUIRE_FALSE(result);
                CHECK(result.error() == ErrorCode::actor_fatal);
                CHECK(result.error().actor() == "a");
                CHECK(result.error().request_id() == "q");
                REQUIRE(result.error().exception() != nullptr);
                CHECK_THROWS_WITH_AS(std::rethrow_exception(result.error().exception()), "first cause",
                                     std::runtime_error);
                CHECK(result.error().message().find("first cause") != std::string_view::npos);
            }
            CHECK(ran.load() == 0);
            CHECK(executor.actor_snapshot("a")->fatal);
            CHECK(executor.snapshot().refused.actor_fatal == 1);
            CHECK(executor.snapshot().jobs.actor_fatal == 8);

            CHECK(executor.remove_actor("a"));
            auto fresh = executor.add_actor("a", 10);
            CHECK(fresh.inserted);
            CHECK_FALSE(fresh.fatal());
            CHECK(value_of(fresh.mutate([](int& n) { return ++n; })) == 11);
            CHECK(code_of(actor.read(count)) == ErrorCode::actor_not_registered);
        }
    });
}

TEST_CASE("E17 E18 a refusal by a fatal actor carries the first cause") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 1);
        CHECK(code_of(actor.mutate([](int&) { throw std::runtime_error("first cause"); })) ==
              ErrorCode::job_threw);
        const auto refused = result_of(actor.read([](const int&) {}));
        CHECK(refused.error() == ErrorCode::actor_fatal);
        REQUIRE(refused.error().exception() != nullptr);
        CHECK_THROWS_WITH_AS(std::rethrow_exception(refused.error().exception()), "first cause",
                             std::runtime_error);
        const auto posted = actor.post_read([](const int&) {});
        CHECK(posted.error() == ErrorCode::actor_fatal);
    });
}

TEST_CASE("E18 exceptions never take a worker down, whatever and however often they throw") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        const int rounds = scaled(600);
        std::vector<Completion<void>> jobs;
        for (int i = 0; i < rounds; ++i) {
            const std::string id = "a" + std::to_string(i % 7);
            auto actor = executor.add_actor(id, 0);
            jobs.push_back(actor.read([i](const int&) {
                if (i % 2 == 0)
                    throw std::string("text");
            }));
            if (i % 50 == 49) {
                jobs.push_back(actor.mutate([](int&) { throw std::bad_alloc(); }));
                executor.remove_actor(id);
            }
        }
        int ended = 0;
        for (auto& job : jobs)
            ended += code_of(job) == no_error ? 0 : 1;
        CHECK(ended >= rounds / 2);
        for (std::uint32_t i = 0; i < executor.config().pool_size; ++i) {
            auto actor = executor.add_actor("end" + std::to_string(i), 0);
            CHECK(code_of(actor.mutate([](int&) {})) == no_error);
        }
    });
}

TEST_CASE("E27 post: no completion; the job runs, its result is destroyed, what it throws is counted") {
    under_both_policies({1, 2}, [](const Config& config) {
        Tracked::Counts counts;
        std::atomic<int> ran{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (int i = 0; i < 100; ++i) {
            CHECK(actor.post_read([&](const int&) {
                ran.fetch_add(1);
                return Tracked(counts);
            }));
            CHECK(actor.post_mutate({.job_class = JobClass::maintenance},
                                    [&](int& n) { n = ran.fetch_add(1); }));
            CHECK(actor.post_read([](const int&) { throw std::runtime_error("counted"); }));
        }
        CHECK(eventually([&] { return executor.snapshot().jobs.completed() == 300; }));
        CHECK(ran.load() == 200);
        CHECK(eventually([&] { return counts.alive.load() == 0; }));
        CHECK(counts.destroyed.load() == 100);
        CHECK(executor.snapshot().jobs.threw == 100);
        CHECK_FALSE(actor.fatal());
        CHECK(actor.post_mutate([](int&) { throw std::runtime_error("fatal"); }));
        CHECK(eventually([&] { return actor.fatal(); }));
    });
}

TEST_CASE(
    "E16 E19 a wait that ends in vain while its job ends and its actor's place is used again names the right "
    "actor") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        for (int round = 0; round < scaled(60); ++round) {
            // Long ids: they live outside of the cell.
            const std::string id = "an actor with an id of its own, " + std::to_string(round);
            Gate gate;
            Completion<int> job;
            Completion<void> held;
            {
                auto actor = executor.add_actor(id, 1);
                held = actor.mutate([gate](int&) { gate.pass(); });
                job = actor.mutate([](int& n) { return n; });
            }
            REQUIRE(gate.reached_by(1));
            std::atomic<bool> waiting{false};
            std::atomic<int> wrong{0};
            std::jthread waiter([&] {
                for (;;) {
                    const auto result = job.wait_for(0ns);
                    waiting.store(true);
                    if (result || !(result.error() == ErrorCode::timed_out)) {
                        if (!result &&
                            (!(result.error() == ErrorCode::actor_removed) || result.error().actor() != id))
                            wrong.fetch_add(1);
                        return;
                    }
                    if (result.error().actor() != id)
                        wrong.fetch_add(1);
                }
            });
            REQUIRE(eventually([&] { return waiting.load(); }));
            executor.remove_actor(id);
            gate.open();
            CHECK(code_of(held) == no_error);
            for (int i = 0; i < 8; ++i) {
                const std::string other = "another actor, in the same place perhaps, " + std::to_string(i);
                CHECK(code_of(executor.add_actor(other, 0).read([](const int&) {})) == no_error);
                executor.remove_actor(other);
            }
            waiter.join();
            CHECK(wrong.load() == 0);
        }
    });
}

TEST_CASE("E16 the names of a job may be long together, and too long they are refused as an argument") {
    Executor executor;
    auto actor = executor.add_actor("a", 0);
    const std::string name(max_name_bytes, 'n');
    const auto thrower = [](const int&) { throw std::runtime_error("x"); };
    CHECK(result_of(actor.read({.request_id = name}, thrower)).error().request_id() == name);
    const std::vector<JobOptions> wrong{{.request_id = name, .label = "l"}, {.cost = 0}, {.cost = 70'000}};
    for (const JobOptions& options : wrong) {
        const auto refused = result_of(actor.read(options, [](const int&) {}));
        CHECK(refused.error() == ErrorCode::invalid_argument);
        CHECK_FALSE(refused.error().limit().name.empty());
    }
    // A name of an earlier life of the same memory never shows.
    for (int i = 0; i < 300; ++i)
        CHECK(result_of(actor.read(thrower)).error().request_id().empty());
    CHECK(executor.snapshot().refused.other == 3);
}
