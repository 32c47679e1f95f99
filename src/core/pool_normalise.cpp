#include "core/pool_normalise.hpp"

#include "core/range_checker.hpp"

#include <algorithm>
#include <utility>

namespace sluice {

std::vector<PoolLaneConfig> default_pool_lanes() {
    return {{"control", 16, {}}, {"user", 16, {}}, {"cheap", 32, {}}, {"bulk", 32, {}}};
}

std::vector<WorkerKindConfig> default_worker_kinds() {
    return {{"control", 1, {"control"}},
            {"user", 2, {"control", "user"}},
            {"cheap", 3, {"control", "user", "cheap"}},
            {"general", 10, {"control", "user", "cheap", "bulk"}}};
}

namespace core {
namespace {

constexpr std::int64_t items_max = std::int64_t{1}
                                   << 20;  // A slot's number has 22 bits, and workers have slots too.
constexpr std::int64_t big_max = std::int64_t{1} << 62;
constexpr std::size_t table_max = PoolLimits::most_lanes;
constexpr std::size_t name_max = 32;
constexpr std::int64_t workers_max = 256;  // A lookout counts as many (sync/lookout.hpp).
static_assert(PoolLimits::most_lanes == PoolLimits::most_kinds);

constexpr Range max_queued_range{"max_queued", 1, items_max, "1..2^20"};
constexpr Range max_queued_bytes_range{"max_queued_bytes", 0, big_max, "0..2^62"};
constexpr Range lane_limit_range{"lanes.limit", 1, items_max, "1..2^20"};
constexpr Range max_wait_range{"lanes.max_wait", 0, big_max, "0..2^62 ns"};
constexpr Range workers_range{"kinds.workers", 0, workers_max, "0..256"};
constexpr Range spin_budget_range{"spin_budget", 0, 1'000'000'000, "0..1000000000 ns"};
constexpr Range cpu_range{"cpus", 0, 4'095, "0..4095 for each CPU"};

/// A value of one row of a table, told with the row's name.
void check(Checker& checker, std::int64_t value, const Range& range, std::string_view row) {
    if (value < range.least || value > range.most)
        checker.refuse(range.field, std::to_string(value) + " for " + quoted(row), range.text);
}

template <class Rows>
void check_names(Checker& checker, const Rows& rows, std::string_view field, std::string_view name_field) {
    if (rows.empty() || rows.size() > table_max)
        checker.refuse(field, "a table of " + std::to_string(rows.size()), "a table of 1..16");
    for (auto row = rows.begin(); row != rows.end(); ++row) {
        if (row->name.empty() || row->name.size() > name_max)
            checker.refuse(name_field, quoted(row->name), "1..32 characters");
        if (std::any_of(rows.begin(), row, [&](const auto& other) { return other.name == row->name; }))
            checker.refuse(name_field, quoted(row->name) + " twice", "another name for each");
    }
}

[[nodiscard]] std::optional<std::uint32_t> find_lane(const PoolConfig& config, std::string_view name) {
    for (std::uint32_t i = 0; i < config.lanes.size(); ++i) {
        if (config.lanes[i].name == name)
            return i;
    }
    return std::nullopt;
}

void check_lanes_and_kinds(Checker& checker, const PoolConfig& config) {
    check_names(checker, config.lanes, "lanes", "lanes.name");
    for (const auto& lane : config.lanes) {
        check(checker, lane.limit, lane_limit_range, lane.name);
        check(checker, lane.max_wait.count(), max_wait_range, lane.name);
    }
    check_names(checker, config.kinds, "kinds", "kinds.name");
    std::uint32_t served = 0;
    for (const auto& kind : config.kinds) {
        check(checker, kind.workers, workers_range, kind.name);
        if (kind.lanes.empty())
            checker.refuse("kinds.lanes", "empty for " + quoted(kind.name), "at least one lane of the table");
        for (const auto& name : kind.lanes) {
            const auto lane = find_lane(config, name);
            if (!lane)
                checker.refuse("kinds.lanes", quoted(name) + " for " + quoted(kind.name),
                               "names of lanes in the table");
            else if (kind.workers > 0 && *lane < table_max)
                served |= 1U << *lane;
        }
    }
    for (std::uint32_t i = 0; i < std::min(config.lanes.size(), table_max); ++i) {
        if ((served >> i & 1U) == 0)
            checker.refuse("kinds", "without a worker for lane " + quoted(config.lanes[i].name),
                           "a table with a worker for every lane");
    }
}

[[nodiscard]] std::optional<ConfigProblem> find_problem(const PoolConfig& config) {
    Checker checker;
    checker.check(config.max_queued, max_queued_range);
    checker.check(config.max_queued_bytes, max_queued_bytes_range);
    check_lanes_and_kinds(checker, config);
    if (config.spin != SpinPolicy::adaptive && config.spin != SpinPolicy::park &&
        config.spin != SpinPolicy::busy)
        checker.refuse("spin", std::to_string(static_cast<unsigned>(config.spin)), "adaptive, park or busy");
    checker.check(config.spin_budget.count(), spin_budget_range);
    checker.check_thread_prefix(config.thread_name_prefix);
    for (const std::int32_t cpu : config.cpus)
        checker.check(cpu, cpu_range);
    return checker.problem();
}

}  // namespace

std::expected<EffectivePoolConfig, ConfigProblem> normalise(const PoolConfig& config) {
    if (auto problem = find_problem(config))
        return std::unexpected(*std::move(problem));

    EffectivePoolConfig effective;
    effective.max_queued = static_cast<std::uint32_t>(config.max_queued);
    effective.max_queued_bytes = static_cast<std::uint64_t>(config.max_queued_bytes);
    for (const auto& lane : config.lanes)
        effective.lanes.push_back({lane.name, static_cast<std::uint32_t>(lane.limit), lane.max_wait});
    for (const auto& kind : config.kinds) {
        EffectiveWorkerKind made{kind.name, static_cast<std::uint32_t>(kind.workers), 0};
        for (const auto& name : kind.lanes)
            made.lanes |= 1U << find_lane(config, name).value_or(0);
        effective.workers += made.workers;
        effective.kinds.push_back(std::move(made));
    }
    effective.on_thrown = config.on_thrown;
    effective.spin = config.spin;
    effective.spin_budget =
        config.spin == SpinPolicy::park ? std::chrono::nanoseconds{0} : config.spin_budget;
    effective.thread_name_prefix = config.thread_name_prefix;
    effective.cpus = config.cpus;
    std::ranges::sort(effective.cpus);
    const auto twice = std::ranges::unique(effective.cpus);
    effective.cpus.erase(twice.begin(), twice.end());
    effective.short_time_slice = config.short_time_slice;
    effective.on_thread_start = config.on_thread_start;
    effective.on_thread_stop = config.on_thread_stop;
    effective.memory = config.memory;
    return effective;
}

PoolLimits limits_of(const EffectivePoolConfig& config) noexcept {
    PoolLimits limits;
    limits.lanes = static_cast<std::uint32_t>(config.lanes.size());
    limits.kinds = static_cast<std::uint32_t>(config.kinds.size());
    limits.total = config.max_queued;
    limits.bytes = config.max_queued_bytes;
    for (std::uint32_t i = 0; i < limits.lanes; ++i)
        limits.lane[i] = config.lanes[i].limit;
    return limits;
}

}  // namespace core
}  // namespace sluice
