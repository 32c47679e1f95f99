// Goal:   E1 and E2: every default from the number of CPUs, every derived value, what is lowered, what is refused, and the
//         sentence that says so.
// Method: tables; each field with the values just inside and just outside its range.

#include "core/normalise.hpp"

#include <sluice/lane.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <string>

using namespace sluice;
using namespace std::chrono_literals;
using core::normalise;

namespace {

EffectiveConfig accepted(const Config& config, unsigned cpus = 8) {
    const auto result = normalise(config, cpus);
    REQUIRE_MESSAGE(result.has_value(), result.error().message());
    return *result;
}

}  // namespace

TEST_CASE("E1: defaults from the number of usable CPUs") {
    struct Row {
        unsigned cpus;
        std::uint32_t pool_size, actor_cap, read_cap, heavy_permits, reserve, maintenance_cap;
    };
    for (const Row& row : {Row{0, 2, 1, 1, 2, 1, 1}, Row{1, 2, 1, 1, 2, 1, 1}, Row{2, 2, 1, 1, 2, 1, 1},
                           Row{3, 2, 1, 1, 2, 1, 1}, Row{4, 3, 2, 2, 2, 1, 2}, Row{5, 4, 3, 3, 3, 2, 2},
                           Row{6, 5, 4, 4, 3, 2, 3}, Row{8, 7, 4, 4, 3, 2, 5}, Row{9, 8, 4, 4, 3, 2, 6},
                           Row{128, 8, 4, 4, 3, 2, 6}}) {
        CAPTURE(row.cpus);
        const EffectiveConfig config = accepted({}, row.cpus);
        CHECK(config.pool_size == row.pool_size);
        CHECK(config.actor_cap == row.actor_cap);
        CHECK(config.read_cap == row.read_cap);
        CHECK(config.heavy_permits == row.heavy_permits);
        CHECK(config.drr_quantum == 1);
        CHECK(config.interactive_reserve == row.reserve);
        CHECK(config.maintenance_cap == row.maintenance_cap);
        CHECK(config.deficit_cap == 4 * row.actor_cap);
        CHECK(config.usable_cpus == (row.cpus == 0 ? 2 : row.cpus));
    }
}

TEST_CASE("E2: a value that only has to be lowered is lowered") {
    Config config;
    config.pool_size = 4;
    config.actor_cap = 9;
    config.read_cap = 7;
    const EffectiveConfig effective = accepted(config);
    CHECK(effective.actor_cap == 3);
    CHECK(effective.read_cap == 3);
    CHECK(effective.deficit_cap == 12);
}

TEST_CASE("E2: the seed's ceilings are defaults, not limits") {
    Config config;
    config.pool_size = 64;
    config.actor_cap = 60;
    config.read_cap = 50;
    config.heavy_permits = 16;
    const EffectiveConfig effective = accepted(config, 2);
    CHECK(effective.pool_size == 64);
    CHECK(effective.actor_cap == 60);
    CHECK(effective.read_cap == 50);
    CHECK(effective.heavy_permits == 16);
    CHECK(effective.maintenance_cap == 62);
}

TEST_CASE("E2 E11: one worker reserves nothing, so that maintenance can run") {
    Config config;
    config.pool_size = 1;
    const EffectiveConfig effective = accepted(config);
    CHECK(effective.actor_cap == 1);
    CHECK(effective.read_cap == 1);
    CHECK(effective.interactive_reserve == 0);
    CHECK(effective.maintenance_cap == 1);
}

TEST_CASE("E2: derived values keep their relations for every pool size") {
    for (std::int64_t pool = 1; pool <= 256; ++pool) {
        Config config;
        config.pool_size = pool;
        config.actor_cap = 256;
        config.read_cap = 256;
        const EffectiveConfig effective = accepted(config);
        CHECK(effective.actor_cap == std::max<std::int64_t>(pool - 1, 1));
        CHECK(effective.actor_cap <= 255);  // core::Actor counts in 8 bits
        CHECK(effective.read_cap == effective.actor_cap);
        CHECK(effective.maintenance_cap >= 1);
        CHECK(effective.interactive_reserve < effective.pool_size);
    }
}

TEST_CASE("E2: a value that makes no sense is refused, with field, value and range") {
    struct Row {
        std::string field, value;
        std::function<void(Config&)> set;
    };
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Row rows[] = {
        {"pool_size", "0", [](Config& c) { c.pool_size = 0; }},
        {"pool_size", "257", [](Config& c) { c.pool_size = 257; }},
        {"pool_size", "-1", [](Config& c) { c.pool_size = -1; }},
        {"actor_cap", "0", [](Config& c) { c.actor_cap = 0; }},
        {"read_cap", "0", [](Config& c) { c.read_cap = 0; }},
        {"heavy_permits", "0", [](Config& c) { c.heavy_permits = 0; }},
        {"heavy_permits", "257", [](Config& c) { c.heavy_permits = 257; }},
        {"drr_quantum", "-5", [](Config& c) { c.drr_quantum = -5; }},
        {"drr_quantum", "0", [](Config& c) { c.drr_quantum = 0; }},
        {"drr_quantum", "65537", [](Config& c) { c.drr_quantum = 65'537; }},
        {"max_queued", "-1", [](Config& c) { c.max_queued = -1; }},
        {"max_queued", std::to_string(most), [](Config& c) { c.max_queued = most; }},
        {"max_queued_per_actor", "-2", [](Config& c) { c.max_queued_per_actor = -2; }},
        {"policy", "9", [](Config& c) { c.policy = static_cast<SchedulerPolicy>(9); }},
        {"spin", "9", [](Config& c) { c.spin = static_cast<SpinPolicy>(9); }},
        {"spin_budget", "-1", [](Config& c) { c.spin_budget = -1ns; }},
        {"spin_budget", "1000000001", [](Config& c) { c.spin_budget = 1s + 1ns; }},
        {"thread_name_prefix", "\"\"", [](Config& c) { c.thread_name_prefix = ""; }},
        {"thread_name_prefix", "\"ten-or-more\"", [](Config& c) { c.thread_name_prefix = "ten-or-more"; }},
        {"cpus", "-1", [](Config& c) { c.cpus = {0, -1}; }},
        {"cpus", "4096", [](Config& c) { c.cpus = {4096}; }},
        {"run_budget", "999", [](Config& c) { c.run_budget = 999ns; }},
        {"run_budget", "1000000001", [](Config& c) { c.run_budget = 1s + 1ns; }},
        {"reserve_nodes", "-1", [](Config& c) { c.reserve_nodes = -1; }},
        {"reserve_nodes", "0", [](Config& c) { c.fixed_capacity = true; }},
    };
    for (const Row& row : rows) {
        CAPTURE(row.field);
        CAPTURE(row.value);
        Config config;
        row.set(config);
        const auto result = normalise(config, 8);
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error().field == row.field);
        CHECK(result.error().value == row.value);
        CHECK_FALSE(result.error().range.empty());
    }
}

TEST_CASE("E2: the sentence is fit to show") {
    Config config;
    config.pool_size = 0;
    CHECK(normalise(config, 8).error().message() == "pool_size is 0, but must be 1..256");
}

TEST_CASE("E2: the borders of each range are accepted") {
    Config least;
    least.pool_size = least.actor_cap = least.read_cap = least.heavy_permits = 1;
    least.spin_budget = 0ns;
    least.run_budget = 1us;
    least.thread_name_prefix = "x";
    CHECK(normalise(least, 1).has_value());
    Config most;
    most.pool_size = most.actor_cap = most.read_cap = most.heavy_permits = 256;
    most.drr_quantum = 65'536;
    most.max_queued = most.max_queued_per_actor = std::int64_t{1} << 40;
    most.spin_budget = most.run_budget = 1s;
    most.thread_name_prefix = "ninechars";
    most.reserve_nodes = std::int64_t{1} << 32;
    most.cpus = {0, 4'095};
    CHECK(normalise(most, 1'000).has_value());
}

TEST_CASE("E2 E23: 0 means unlimited where the field says so, and the rest is passed on") {
    Config config;
    config.max_queued = 0;
    config.cpus = {3, 1, 3};
    config.policy = SchedulerPolicy::dedicated;
    config.spin = SpinPolicy::park;
    config.thread_name_prefix = "svc";
    config.on_thread_start = [](std::string_view) {};
    const EffectiveConfig effective = accepted(config);
    CHECK(effective.max_queued == EffectiveConfig::no_limit);
    CHECK(effective.max_queued_per_actor == EffectiveConfig::no_limit);
    CHECK(effective.cpus == std::vector<std::int32_t>{1, 3});
    CHECK(effective.policy == SchedulerPolicy::dedicated);
    CHECK(effective.spin_budget == 0ns);
    CHECK(effective.thread_name_prefix == "svc");
    CHECK(static_cast<bool>(effective.on_thread_start));
    CHECK(accepted({}).max_queued == 1U << 20);
}

TEST_CASE("E28: the scheduler's limits follow the configuration; run-ahead off means one job at a time") {
    Config config;
    config.pool_size = 6;
    core::Limits limits = core::limits_of(accepted(config));
    CHECK(limits.pool_size == 6);
    CHECK(limits.deficit_cap == 16);
    CHECK(limits.run_jobs_max == 64);
    CHECK(limits.run_budget_ns == 30'000);
    config.run_budget = 10us;
    CHECK(core::limits_of(accepted(config)).run_budget_ns ==
          7'500);  // planned shorter than what is given back
    config.run_ahead = false;
    limits = core::limits_of(accepted(config));
    CHECK(limits.run_jobs_max == 1);
    CHECK(limits.backlog_ns == 0);
}

TEST_CASE("Names of enumerators are what users write") {
    CHECK(to_string(SchedulerPolicy::lent) == "lent");
    CHECK(to_string(SchedulerPolicy::dedicated) == "dedicated");
    CHECK(to_string(SpinPolicy::adaptive) == "adaptive");
    CHECK(to_string(SpinPolicy::park) == "park");
    CHECK(to_string(SpinPolicy::busy) == "busy");
    CHECK(to_string(Lane::heavy_init) == "heavy_init");
    CHECK(to_string(JobClass::maintenance) == "maintenance");
}
