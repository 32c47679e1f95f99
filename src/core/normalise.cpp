#include "core/normalise.hpp"

#include "core/range_checker.hpp"

#include <algorithm>
#include <array>

namespace sluice {

std::string_view to_string(SchedulerPolicy policy) noexcept {
    switch (policy) {
        case SchedulerPolicy::lent:
            return "lent";
        case SchedulerPolicy::dedicated:
            return "dedicated";
    }
    return "unknown policy";
}

std::string_view to_string(SpinPolicy policy) noexcept {
    switch (policy) {
        case SpinPolicy::adaptive:
            return "adaptive";
        case SpinPolicy::park:
            return "park";
        case SpinPolicy::busy:
            return "busy";
    }
    return "unknown policy";
}

std::string ConfigProblem::message() const {
    std::string text{field};
    text.append(" is ").append(value).append(", but must be ").append(range);
    return text;
}

namespace core {
namespace {

constexpr std::int64_t pool_size_max = 256;  // The mask of parked workers, and an 8-bit actor_cap, end there.
constexpr std::int64_t queue_max = std::int64_t{1} << 40;
constexpr std::int64_t nodes_max = std::int64_t{reserve_max};
constexpr std::int64_t second_ns = 1'000'000'000;

constexpr Range pool_size_range{"pool_size", 1, pool_size_max, "1..256"};
constexpr Range actor_cap_range{"actor_cap", 1, pool_size_max, "1..256"};
constexpr Range read_cap_range{"read_cap", 1, pool_size_max, "1..256"};
constexpr Range heavy_permits_range{"heavy_permits", 1, pool_size_max, "1..256"};
constexpr Range drr_quantum_range{"drr_quantum", 1, 65'536, "1..65536"};
constexpr Range max_queued_range{"max_queued", 0, queue_max, "1..2^40, or 0 for unlimited"};
constexpr Range max_queued_per_actor_range{"max_queued_per_actor", 0, queue_max,
                                           "1..2^40, or 0 for unlimited"};
constexpr Range spin_budget_range{"spin_budget", 0, second_ns, "0..1000000000 ns"};
constexpr Range run_budget_range{"run_budget", 1'000, second_ns, "1000..1000000000 ns"};
constexpr Range reserve_nodes_range{"reserve_nodes", 0, nodes_max, "0..2^32"};
constexpr Range fixed_nodes_range{"reserve_nodes", 1, nodes_max, "1..2^32 with fixed_capacity"};
constexpr Range cpu_range{"cpus", 0, 4'095, "0..4095 for each CPU"};

[[nodiscard]] std::optional<ConfigProblem> find_problem(const Config& config) {
    Checker checker;
    checker.check(config.pool_size, pool_size_range);
    checker.check(config.actor_cap, actor_cap_range);
    checker.check(config.read_cap, read_cap_range);
    checker.check(config.heavy_permits, heavy_permits_range);
    checker.check(config.drr_quantum, drr_quantum_range);
    checker.check(config.max_queued, max_queued_range);
    checker.check(config.max_queued_per_actor, max_queued_per_actor_range);
    if (config.policy != SchedulerPolicy::lent && config.policy != SchedulerPolicy::dedicated)
        checker.refuse("policy", std::to_string(static_cast<unsigned>(config.policy)), "lent or dedicated");
    if (config.spin != SpinPolicy::adaptive && config.spin != SpinPolicy::park &&
        config.spin != SpinPolicy::busy)
        checker.refuse("spin", std::to_string(static_cast<unsigned>(config.spin)), "adaptive, park or busy");
    checker.check(config.spin_budget.count(), spin_budget_range);
    checker.check_thread_prefix(config.thread_name_prefix);
    for (const std::int32_t cpu : config.cpus)
        checker.check(cpu, cpu_range);
    checker.check(config.run_budget.count(), run_budget_range);
    checker.check(config.reserve_nodes, config.fixed_capacity ? fixed_nodes_range : reserve_nodes_range);
    return checker.problem();
}

[[nodiscard]] constexpr std::uint64_t limit_or_none(std::int64_t limit) noexcept {
    return limit == 0 ? EffectiveConfig::no_limit : static_cast<std::uint64_t>(limit);
}

}  // namespace

std::expected<EffectiveConfig, ConfigProblem> normalise(const Config& config, unsigned usable_cpus) {
    if (auto problem = find_problem(config))
        return std::unexpected(*std::move(problem));

    const std::int64_t cpus = usable_cpus == 0 ? 2 : usable_cpus;
    const std::int64_t pool = config.pool_size.value_or(std::clamp<std::int64_t>(cpus - 1, 2, 8));
    const std::int64_t actor_cap =
        std::min(config.actor_cap.value_or(std::clamp<std::int64_t>(pool - 1, 1, 4)),
                 std::max<std::int64_t>(pool - 1, 1));
    const std::int64_t read_cap =
        std::min(config.read_cap.value_or(std::clamp<std::int64_t>(actor_cap, 1, 4)), actor_cap);
    const std::int64_t permits = config.heavy_permits.value_or(std::clamp<std::int64_t>(pool - 1, 2, 3));
    // "More idle workers than the reserve" could never hold with one worker and a reserve of one (docs/decisions).
    const std::int64_t reserve = pool >= 4 ? 2 : pool == 1 ? 0 : 1;

    EffectiveConfig effective;
    effective.pool_size = static_cast<std::uint32_t>(pool);
    effective.actor_cap = static_cast<std::uint32_t>(actor_cap);
    effective.read_cap = static_cast<std::uint32_t>(read_cap);
    effective.heavy_permits = static_cast<std::uint32_t>(permits);
    effective.drr_quantum = static_cast<std::uint32_t>(config.drr_quantum);
    effective.deficit_cap = static_cast<std::uint32_t>(4 * actor_cap);
    effective.interactive_reserve = static_cast<std::uint32_t>(reserve);
    effective.maintenance_cap = static_cast<std::uint32_t>(std::max<std::int64_t>(pool - reserve, 1));
    effective.max_queued = limit_or_none(config.max_queued);
    effective.max_queued_per_actor = limit_or_none(config.max_queued_per_actor);
    effective.policy = config.policy;
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
    effective.run_ahead = config.run_ahead;
    effective.run_budget = config.run_budget;
    effective.memory = config.memory;
    effective.reserve_nodes = static_cast<std::uint64_t>(config.reserve_nodes);
    effective.fixed_capacity = config.fixed_capacity;
    effective.usable_cpus = static_cast<unsigned>(cpus);
    return effective;
}

Limits limits_of(const EffectiveConfig& config) noexcept {
    Limits limits;
    limits.pool_size = config.pool_size;
    limits.actor_cap = config.actor_cap;
    limits.read_cap = config.read_cap;
    limits.interactive_reserve = config.interactive_reserve;
    limits.maintenance_cap = config.maintenance_cap;
    limits.drr_quantum = config.drr_quantum;
    limits.deficit_cap = config.deficit_cap;
    // A run is planned shorter than the time after which a worker gives it back, so that giving back stays the exception.
    const auto budget_ns = static_cast<std::uint32_t>(config.run_budget.count());
    limits.run_budget_ns = std::min(limits.run_budget_ns, budget_ns - budget_ns / 4);
    return config.run_ahead ? limits : limits.without_run_ahead();
}

}  // namespace core
}  // namespace sluice
