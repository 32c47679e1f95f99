// Goal: bounds hold exactly under any number of submitters (E23), and every refusal names the bound, its value and the
// count (E34); a configuration that makes no sense is refused by name (E2).
// Method: workers held, eight submitters against a small bound; what was accepted is counted by the test itself.
#include <stop_token>
#include <string>

#include "executor/harness.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr unsigned submitters = 8;

bool says(const Error& error, std::string_view text) {
    return error.message().find(text) != std::string_view::npos;
}

}  // namespace

TEST_CASE("E23 E34 max_queued: exactly as many are accepted as the limit says, under eight submitters") {
    under_both_policies({1, 2}, [](Config config) {
        config.max_queued = 100;
        Executor executor(config);
        std::vector<Actor<int>> actors;
        for (int i = 0; i < 3; ++i)
            actors.push_back(executor.add_actor("a" + std::to_string(i), 0));
        std::uint64_t refused_before = 0;
        for (int round = 0; round < 5; ++round) {
            AllWorkersHeld held(executor);
            std::atomic<int> accepted{0};
            std::atomic<int> refused{0};
            std::atomic<int> ran{0};
            std::atomic<int> ill_told{0};
            run_together(submitters, [&](unsigned self) {
                for (int i = 0; i < 60; ++i) {
                    const JobOptions options{.job_class =
                                                 i % 2 == 0 ? JobClass::interactive : JobClass::maintenance};
                    const auto posted = actors[(self + static_cast<unsigned>(i)) % 3].post_mutate(
                        options, [&ran](int&) { ran.fetch_add(1); });
                    if (posted) {
                        accepted.fetch_add(1);
                        continue;
                    }
                    refused.fetch_add(1);
                    const Error& error = posted.error();
                    if (!(error == ErrorCode::queue_full) || error.limit().name != "max_queued" ||
                        error.limit().value != 100 || error.limit().count != 100 ||
                        !says(error, "max_queued is 100") || !says(error, "100"))
                        ill_told.fetch_add(1);
                }
            });
            CHECK(accepted.load() == 100);
            CHECK(refused.load() == 380);
            CHECK(ill_told.load() == 0);
            // Nothing else has changed.
            const Snapshot snapshot = executor.snapshot();
            CHECK(snapshot.jobs.queued == 100);
            CHECK(snapshot.refused.queue_full == refused_before + 380);
            refused_before = snapshot.refused.queue_full;
            held.release();
            CHECK(eventually([&] { return ran.load() == 100; }));
            CHECK(eventually([&] { return executor.snapshot().jobs.running == 0; }));
        }
    });
}

TEST_CASE(
    "E23 E34 max_queued_per_actor: exact for each actor, and one that is full leaves the others alone") {
    under_both_policies({1, 2}, [](Config config) {
        config.max_queued_per_actor = 10;
        Executor executor(config);
        std::vector<Actor<int>> actors;
        for (int i = 0; i < 3; ++i)
            actors.push_back(executor.add_actor("a" + std::to_string(i), 0));
        for (int round = 0; round < 5; ++round) {
            AllWorkersHeld held(executor);
            std::array<std::atomic<int>, 3> accepted{};
            std::atomic<int> ill_told{0};
            std::vector<std::vector<Completion<void>>> jobs(submitters);
            run_together(submitters, [&](unsigned self) {
                for (unsigned i = 0; i < 45; ++i) {
                    const std::size_t which = (self + i) % 3;
                    auto job = i % 4 == 0 ? actors[which].build([](const int&) {}, [](int&) {})
                                          : actors[which].mutate([](int&) {});
                    if (!job.ready()) {
                        accepted[which].fetch_add(1);
                        jobs[self].push_back(std::move(job));
                        continue;
                    }
                    const auto result = job.wait();
                    if (result || !(result.error() == ErrorCode::queue_full) ||
                        result.error().limit().name != "max_queued_per_actor" ||
                        result.error().limit().value != 10 || result.error().limit().count != 10 ||
                        !says(result.error(), actors[which].id()))
                        ill_told.fetch_add(1);
                }
            });
            for (const auto& count : accepted)
                CHECK(count.load() == 10);
            CHECK(ill_told.load() == 0);
            CHECK(executor.snapshot().jobs.queued == 30);
            held.release();
            for (auto& mine : jobs) {
                for (auto& job : mine)
                    CHECK(code_of(job) == no_error);
            }
        }
    });
}

TEST_CASE("E23 max_queued is not exceeded while jobs run and leave, either") {
    under_both_policies({1, 2}, [](Config config) {
        config.max_queued = 16;
        std::atomic<std::int64_t> accepted{0};
        std::atomic<std::int64_t> started{0};
        std::atomic<std::int64_t> over{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        run_together(4, [&](unsigned) {
            for (int i = 0; i < scaled(4'000); ++i) {
                if (actor.post_read([&started](const int&) { started.fetch_add(1); }))
                    accepted.fetch_add(1);
                // Read in this order the difference is at most what was queued at one moment, and one job a worker that
                // has been started and has not said so yet.
                const std::int64_t in = accepted.load();
                if (in - started.load() > 16 + static_cast<std::int64_t>(executor.config().pool_size))
                    over.fetch_add(1);
            }
        });
        CHECK(over.load() == 0);
        CHECK(accepted.load() >= 16);
        CHECK(eventually([&] { return started.load() == accepted.load(); }));
    });
}

TEST_CASE(
    "E23 E34 while jobs come and go, what a refusal counts is what met the bound: no more and no less") {
    under_both_policies({1, 2}, [](Config config) {
        config.max_queued = 2;
        config.max_queued_per_actor = 1;
        Executor executor(config);
        std::vector<Actor<int>> actors;
        for (int i = 0; i < 3; ++i)
            actors.push_back(executor.add_actor("a" + std::to_string(i), 0));
        std::atomic<int> refused{0};
        std::atomic<std::uint64_t> ill_told{0};
        run_together(4, [&](unsigned self) {
            for (int i = 0; i < scaled(20'000); ++i) {
                const auto posted =
                    actors[(self + static_cast<unsigned>(i)) % 3].post_read([](const int&) {});
                if (posted)
                    continue;
                refused.fetch_add(1);
                const LimitHit limit = posted.error().limit();
                if (limit.count != limit.value || limit.value != (limit.name == "max_queued" ? 2U : 1U))
                    ill_told.fetch_add(1);
            }
        });
        CHECK(refused.load() > 0);
        CHECK(ill_told.load() == 0);
    });
}

TEST_CASE("E23 places come back however a job leaves the queue: run, removed, fatal, cancelled") {
    under_both_policies({2}, [](Config config) {
        config.max_queued = 40;
        config.max_queued_per_actor = 20;
        Executor executor(config);
        AllWorkersHeld held(executor);
        const auto fill = [&](Actor<int>& actor) {
            int accepted = 0;
            while (actor.post_mutate([](int&) { throw std::runtime_error("fatal"); }))
                ++accepted;
            return accepted;
        };
        for (int round = 0; round < 10; ++round) {
            auto first = executor.add_actor("first", 0);
            auto second = executor.add_actor("second", 0);
            auto third = executor.add_actor("third", 0);
            CHECK(fill(first) == 20);
            CHECK(fill(second) == 20);
            CHECK(fill(third) == 0);
            executor.remove_actor("first");
            executor.remove_actor("second");
            CHECK(eventually([&] { return executor.snapshot().jobs.queued == 0; }));
        }
        auto fatal = executor.add_actor("fatal", 0);
        CHECK(fill(fatal) == 20);
        held.release();
        CHECK(eventually([&] { return fatal.fatal() && executor.snapshot().jobs.queued == 0; }));
        CHECK(executor.snapshot().jobs.actor_fatal == 19);
        auto again = executor.add_actor("again", 0);
        AllWorkersHeld held_again(executor);
        CHECK(fill(again) == 20);
        executor.shutdown(Shutdown::cancel);
        CHECK(eventually([&] { return executor.snapshot().jobs.queued == 0; }));
        held_again.release();
    });
}

TEST_CASE("E33 the totals of both classes together hold every outcome, those of stops and deadlines too") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        AllWorkersHeld held(executor);
        std::stop_source stop;
        auto cancelled = actor.read({.stop = stop.get_token()}, [](const int&) {});
        auto late = actor.read({.job_class = JobClass::maintenance, .deadline = steady_clock::now() + 5ms},
                               [](const int&) {});
        stop.request_stop();
        CHECK(code_of(cancelled) == ErrorCode::cancelled);
        CHECK(code_of(late) == ErrorCode::deadline_exceeded);
        const Snapshot snapshot = executor.snapshot();
        CHECK(snapshot.jobs.cancelled == 1);
        CHECK(snapshot.jobs.deadline_exceeded == 1);
        CHECK(snapshot.jobs.accepted ==
              snapshot.jobs.queued + snapshot.jobs.running + snapshot.jobs.completed());
        held.release();
    });
}

TEST_CASE("E2 E34 a configuration that makes no sense is refused, naming field, value and range") {
    struct Case {
        std::string_view field;
        std::string_view value;
        std::function<void(Config&)> spoil;
    };
    const std::vector<Case> cases{
        {"pool_size", "0", [](Config& c) { c.pool_size = 0; }},
        {"pool_size", "-3", [](Config& c) { c.pool_size = -3; }},
        {"pool_size", "257", [](Config& c) { c.pool_size = 257; }},
        {"actor_cap", "0", [](Config& c) { c.actor_cap = 0; }},
        {"read_cap", "0", [](Config& c) { c.read_cap = 0; }},
        {"heavy_permits", "0", [](Config& c) { c.heavy_permits = 0; }},
        {"drr_quantum", "-1", [](Config& c) { c.drr_quantum = -1; }},
        {"max_queued", "-1", [](Config& c) { c.max_queued = -1; }},
        {"max_queued_per_actor", "-5", [](Config& c) { c.max_queued_per_actor = -5; }},
        {"spin_budget", "-1", [](Config& c) { c.spin_budget = -1ns; }},
        {"spin_budget", "2000000000", [](Config& c) { c.spin_budget = 2s; }},
        {"thread_name_prefix", "\"\"", [](Config& c) { c.thread_name_prefix = ""; }},
        {"thread_name_prefix", "far too long", [](Config& c) { c.thread_name_prefix = "far too long"; }},
        {"thread_name_prefix", "\"a\\0b\"", [](Config& c) { c.thread_name_prefix = {'a', '\0', 'b'}; }},
        {"cpus", "-1", [](Config& c) { c.cpus = {-1}; }},
        {"run_budget", "0", [](Config& c) { c.run_budget = 0ns; }},
        {"reserve_nodes", "-1", [](Config& c) { c.reserve_nodes = -1; }},
        {"reserve_nodes", "0", [](Config& c) { c.fixed_capacity = true; }},
        {"policy", "9", [](Config& c) { c.policy = static_cast<SchedulerPolicy>(9); }},
        {"spin", "9", [](Config& c) { c.spin = static_cast<SpinPolicy>(9); }},
    };
    for (const Case& c : cases) {
        INFO(c.field << " = " << c.value);
        Config config;
        c.spoil(config);
        const auto refused = Executor::create(config);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == ErrorCode::invalid_argument);
        CHECK(says(refused.error(), c.field));
        CHECK(says(refused.error(), c.value));
        CHECK(says(refused.error(), "must be"));
        try {
            const Executor executor(config);
            FAIL("accepted");
        } catch (const Exception& thrown) {
            CHECK(thrown.error().message() == refused.error().message());
            CHECK(std::string_view(thrown.what()).find(c.field) != std::string_view::npos);
        }
    }
}

TEST_CASE("E2 a CPU that the process does not have is refused by name") {
    Config config;
    config.cpus = {4095};
    const auto refused = Executor::create(config);
    if (refused)
        return;  // a portable build cannot ask
    CHECK(refused.error() == ErrorCode::invalid_argument);
    CHECK(says(refused.error(), "cpus"));
}

TEST_CASE("E2 a value that only has to be lowered is lowered, and the effective configuration says so") {
    Config config;
    config.pool_size = 3;
    config.actor_cap = 200;
    config.read_cap = 100;
    const Executor executor(config);
    const EffectiveConfig& effective = executor.config();
    CHECK(effective.pool_size == 3);
    CHECK(effective.actor_cap == 2);
    CHECK(effective.read_cap == 2);
    CHECK(effective.deficit_cap == 8);
    CHECK(effective.interactive_reserve == 1);
    CHECK(effective.maintenance_cap == 2);
    const Executor defaults;
    CHECK(defaults.config().pool_size >= 2);
    CHECK(defaults.config().usable_cpus >= 1);
    // The seed's ceilings are defaults and no limits.
    config.pool_size = 64;
    config.actor_cap = 20;
    config.read_cap = 16;
    config.heavy_permits = 40;
    const Executor large(config);
    CHECK(large.config().pool_size == 64);
    CHECK(large.config().read_cap == 16);
    CHECK(large.config().heavy_permits == 40);
    CHECK(large.config().maintenance_cap == 62);
}
