// Goal: interactive work goes ahead of maintenance, which leaves workers free for it (E10, E11).
// Method: jobs that stand at gates; what may start is waited for, what may not is watched for a while.
#include <algorithm>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("E10 while an actor's interactive head is mutating, its maintenance jobs are not admitted") {
    under_both_policies({4}, [](Config config) {
        config.actor_cap = 3;
        config.read_cap = 3;
        std::atomic<int> order{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto reader = actor.read([gate](const int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        auto writer = actor.mutate([&order](int&) { return order.fetch_add(1); });
        auto maintenance = actor.read({.job_class = JobClass::maintenance},
                                      [&order](const int&) { return order.fetch_add(1); });
        CHECK(stays([&] { return order.load() == 0; }));
        gate.open();
        CHECK(code_of(reader) == no_error);
        CHECK(value_of(writer) == 0);
        CHECK(value_of(maintenance) == 1);
    });
}

TEST_CASE(
    "E11 maintenance: at most maintenance_cap in flight, and only while more than the reserve is idle") {
    under_both_policies({2, 4, 5}, [](const Config& config) {
        Executor executor(config);
        const EffectiveConfig& caps = executor.config();
        const Gate maintenance;
        std::vector<Completion<void>> jobs;
        for (int i = 0; i < 8; ++i) {
            auto actor = executor.add_actor("m" + std::to_string(i), 0);
            jobs.push_back(actor.mutate({.job_class = JobClass::maintenance},
                                        [maintenance](int&) { maintenance.pass(); }));
        }
        REQUIRE(maintenance.reached_by(caps.maintenance_cap));
        CHECK(stays([&] { return maintenance.entered() == caps.maintenance_cap; }));
        // The reserve is there for interactive work.
        const Gate interactive;
        for (std::uint32_t i = 0; i < caps.interactive_reserve; ++i) {
            auto actor = executor.add_actor("i" + std::to_string(i), 0);
            jobs.push_back(actor.mutate([interactive](int&) { interactive.pass(); }));
        }
        REQUIRE(interactive.reached_by(caps.interactive_reserve));
        maintenance.open();
        // One of the maintenance jobs that wait would need more idle workers than the reserve; with only as many idle
        // as are reserved, or fewer, none starts beyond what the rule lets.
        interactive.open();
        for (auto& job : jobs)
            CHECK(code_of(job) == no_error);
    });
}

TEST_CASE("E11 with only the reserve idle no maintenance job starts") {
    under_both_policies({2, 4, 6}, [](const Config& config) {
        std::atomic<int> started{0};
        Executor executor(config);
        const EffectiveConfig& caps = executor.config();
        const Gate interactive;
        std::vector<Completion<void>> jobs;
        for (std::uint32_t i = 0; i < caps.pool_size - caps.interactive_reserve; ++i) {
            auto actor = executor.add_actor("i" + std::to_string(i), 0);
            jobs.push_back(actor.mutate([interactive](int&) { interactive.pass(); }));
        }
        REQUIRE(interactive.reached_by(caps.pool_size - caps.interactive_reserve));
        auto actor = executor.add_actor("m", 0);
        jobs.push_back(
            actor.mutate({.job_class = JobClass::maintenance}, [&started](int&) { started.fetch_add(1); }));
        CHECK(stays([&] { return started.load() == 0; }));
        auto quick = executor.add_actor("quick", 0);
        CHECK(code_of(quick.mutate([](int&) {})) == no_error);
        CHECK(started.load() == 0);
        interactive.open();
        for (auto& job : jobs)
            CHECK(code_of(job) == no_error);
        CHECK(started.load() == 1);
    });
}

TEST_CASE("E11 interactive work of all actors goes first") {
    under_both_policies({1, 2}, [](Config config) {
        config.run_ahead = false;
        std::atomic<int> order{0};
        Executor executor(config);
        AllWorkersHeld held(executor);
        std::vector<Completion<int>> maintenance;
        std::vector<Completion<int>> interactive;
        const auto take_number = [&order](int&) { return order.fetch_add(1); };
        for (int i = 0; i < 20; ++i) {
            auto m = executor.add_actor("m" + std::to_string(i % 5), 0);
            auto both = executor.add_actor("both" + std::to_string(i % 5), 0);
            maintenance.push_back(m.mutate({.job_class = JobClass::maintenance}, take_number));
            maintenance.push_back(both.mutate({.job_class = JobClass::maintenance}, take_number));
            interactive.push_back(both.mutate(take_number));
        }
        held.release();
        int latest_interactive = 0;
        for (auto& job : interactive)
            latest_interactive = std::max(latest_interactive, value_of(job));
        int earliest_maintenance = 1000;
        for (auto& job : maintenance)
            earliest_maintenance = std::min(earliest_maintenance, value_of(job));
        // The last interactive job may still be running, uncounted, when a maintenance job starts beside it.
        CHECK(latest_interactive <= earliest_maintenance + static_cast<int>(executor.config().pool_size));
        CHECK(latest_interactive < 20 + static_cast<int>(executor.config().pool_size));
    });
}
