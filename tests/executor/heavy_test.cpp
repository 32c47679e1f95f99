// Goal: a heavy job builds outside any exclusion and installs alone, and no worker waits in between (E15).
// Method: builds, readers and installs held at gates; what must go on meanwhile is waited for.
#include <memory>
#include <stdexcept>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("E15 the build runs beside reads and mutations of its actor, the install alone, with its result") {
    under_both_policies({4}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 1);
        const Gate gate;
        auto job = actor.build(
            [gate](const int&) {
                gate.pass();
                return std::make_unique<int>(40);
            },
            [](int& n, std::unique_ptr<int> artifact) {
                n += *artifact;
                return std::to_string(n);
            });
        REQUIRE(gate.reached_by(1));
        CHECK(code_of(actor.mutate([](int& n) { ++n; })) == no_error);
        CHECK(value_of(actor.read([](const int& n) { return n; })) == 2);
        CHECK_FALSE(job.ready());
        gate.open();
        CHECK(value_of(job) == "42");
        CHECK(value_of(actor.read([](const int& n) { return n; })) == 42);
    });
}

TEST_CASE("E15 an install that waits is next, occupies no worker, and stops admissions of its actor") {
    under_both_policies({4}, [](Config config) {
        config.heavy_permits = 1;
        std::atomic<bool> installed{false};
        bool held_back = false;
        std::atomic<bool> second_build{false};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate reader;
        const Gate build;
        auto reading = actor.read([reader](const int& n) {
            reader.pass();
            return n;
        });
        REQUIRE(reader.reached_by(1));
        auto job = actor.build([build](const int&) { build.pass(); },
                               [&installed](int& n) {
                                   n = 1;
                                   installed.store(true);
                               });
        REQUIRE(build.reached_by(1));
        build.open();
        REQUIRE(eventually([&] { return build.inside() == 0; }));
        // From some moment on the build has been reported, and nothing of the actor is admitted: a read that came before
        // that moment may still see the old value, then none does until the install has run.
        std::vector<Completion<int>> reads;
        for (int i = 0; i < 2000 && !held_back; ++i) {
            reads.push_back(actor.read([](const int& n) { return n; }));
            const auto result = reads.back().wait_for(20ms);
            if (result) {
                CHECK(*result == 0);
                reads.pop_back();
            } else {
                held_back = true;
            }
        }
        CHECK(held_back);
        auto later = actor.mutate([](int& n) { return n; });
        // Nobody waits for the exclusion: the reader holds one worker, all others are free.
        const Gate others;
        std::vector<Completion<void>> beside;
        for (int i = 0; i < 3; ++i) {
            auto other = executor.add_actor("other" + std::to_string(i), 0);
            beside.push_back(other.mutate([others](int&) { others.pass(); }));
        }
        CHECK(others.reached_by(3));
        others.open();
        // The permit is still out.
        auto second = executor.add_actor("second", 0);
        auto waits_for_permit = second.build([&second_build](const int&) { second_build.store(true); });
        CHECK(stays([&] { return !second_build.load() && !installed.load() && !later.ready(); }));
        reader.open();
        CHECK(value_of(reading) == 0);
        CHECK(code_of(job) == no_error);
        for (auto& read : reads)
            CHECK(value_of(read) == 1);
        CHECK(value_of(later) == 1);
        CHECK(code_of(waits_for_permit) == no_error);
        for (auto& other : beside)
            CHECK(code_of(other) == no_error);
    });
}

TEST_CASE("E15 the one-step form ends with a fence: it completes when the actor's readers have gone") {
    under_both_policies({4}, [](const Config& config) {
        std::atomic<bool> built{false};
        Executor executor(config);
        auto actor = executor.add_actor("a", 5);
        const Gate reader;
        auto reading = actor.read([reader](const int&) { reader.pass(); });
        REQUIRE(reader.reached_by(1));
        auto job = actor.build([&built](const int& n) {
            built.store(true);
            return n + 1;
        });
        REQUIRE(eventually([&] { return built.load(); }));
        CHECK(stays([&] { return !job.ready(); }));
        reader.open();
        CHECK(value_of(job) == 6);
        CHECK(code_of(reading) == no_error);
    });
}

TEST_CASE("E15 permits come back after installs and after throws, and are never exceeded") {
    under_both_policies({2, 4}, [](Config config) {
        config.heavy_permits = 1;
        std::atomic<int> inside{0};
        std::atomic<int> most{0};
        Executor executor(config);
        std::vector<Completion<void>> jobs;
        for (int i = 0; i < scaled(200); ++i) {
            auto actor = executor.add_actor("a" + std::to_string(i), 0);
            jobs.push_back(actor.build(
                [&, i](const int&) {
                    const int now = inside.fetch_add(1) + 1;
                    if (now > most.load())
                        most.store(now);
                    if (i % 3 == 0) {
                        inside.fetch_sub(1);
                        throw std::runtime_error("no build");
                    }
                },
                [&, i](int&) {
                    inside.fetch_sub(1);
                    if (i % 3 == 1)
                        throw std::runtime_error("no install");
                }));
            if (i % 20 == 5)
                executor.remove_actor("a" + std::to_string(i - 1));
        }
        int values = 0;
        int threw = 0;
        int removed = 0;
        for (auto& job : jobs) {
            const ErrorCode code = code_of(job);
            values += code == no_error ? 1 : 0;
            threw += code == ErrorCode::job_threw ? 1 : 0;
            removed += code == ErrorCode::actor_removed ? 1 : 0;
        }
        CHECK(values + threw + removed == scaled(200));
        // A job that was removed between its steps never counted itself out.
        CHECK(most.load() <= 1 + removed);
        auto last = executor.add_actor("last", 0);
        CHECK(code_of(last.build([](const int&) {}, [](int&) {})) == no_error);
    });
}

TEST_CASE("E15 E4 a build that runs while its actor is removed installs against the old context") {
    under_both_policies({2, 4}, [](const Config& config) {
        Tracked::Counts counts;
        std::atomic<int> alive_at_install{-1};
        Executor executor(config);
        auto actor = executor.emplace_actor<Tracked>("a", {}, counts);
        auto other = executor.add_actor("other", 0);
        const Gate gate;
        auto job = actor.build([gate](const Tracked&) { gate.pass(); },
                               [&](Tracked&) { alive_at_install.store(counts.alive.load()); });
        REQUIRE(gate.reached_by(1));
        CHECK(executor.remove_actor("a"));
        // Served after the build, the removal would find the job queued for its install. A turn serves removals before it takes
        // jobs; the first of these two may be taken by a turn that is under way already.
        for (int i = 0; i < 2; ++i)
            CHECK(code_of(other.mutate([](int&) {})) == no_error);
        CHECK(stays([&] { return counts.alive.load() == 1; }));
        gate.open();
        CHECK(code_of(job) == no_error);
        CHECK(alive_at_install.load() == 1);
        CHECK(eventually([&] { return counts.alive.load() == 0; }));
    });
}

TEST_CASE("E15 E18 an artifact is destroyed once, whatever becomes of its job") {
    under_both_policies({2}, [](const Config& config) {
        Tracked::Counts counts;
        Executor executor(config);
        for (int round = 0; round < scaled(60); ++round) {
            auto actor = executor.add_actor("a", 0);
            const auto build = [&counts](const int&) { return Tracked(counts); };
            CHECK(code_of(actor.build(build, [](int&, Tracked) {})) == no_error);
            CHECK(code_of(actor.build(build, [](int&, Tracked&&) {})) == no_error);
            CHECK(result_of(actor.build(build, [](int&, Tracked taken) { return taken; })).has_value());
            CHECK(code_of(actor.build(build, [](int&, Tracked) { throw std::runtime_error("no"); })) ==
                  ErrorCode::job_threw);
            actor.build(build, [](int&, Tracked) {}).detach();
            executor.remove_actor("a");
        }
        CHECK(eventually(
            [&] { return executor.snapshot().jobs.queued + executor.snapshot().jobs.running == 0; }));
        CHECK(eventually([&] { return counts.alive.load() == 0; }));
    });
}
