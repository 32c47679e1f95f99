#include "plan.hpp"

#include "support/stress.hpp"

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>

namespace sluice::soak {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::Random;

/// In [least, most].
std::int64_t between(Random& random, std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
}

template <class T>
T one_of(Random& random, std::initializer_list<T> choices) {
    return choices.begin()[random.below(choices.size())];
}

Config draw_executor(Random& random) {
    Config config;
    config.pool_size = between(random, 1, 4);
    config.actor_cap = between(random, 1, 4);
    config.read_cap = between(random, 1, 4);
    config.heavy_permits = between(random, 1, 3);
    config.drr_quantum = one_of<std::int64_t>(random, {1, 1, 4, 32});
    config.max_queued = one_of<std::int64_t>(random, {0, 10, 60, 500, 1 << 20});
    config.max_queued_per_actor = one_of<std::int64_t>(random, {0, 0, 4, 50});
    config.policy = one_of(random, {SchedulerPolicy::lent, SchedulerPolicy::dedicated});
    config.spin = one_of(random, {SpinPolicy::adaptive, SpinPolicy::park, SpinPolicy::busy});
    config.spin_budget = microseconds(between(random, 0, 100));
    config.short_time_slice = random.one_in(2);
    config.run_ahead = !random.one_in(4);
    config.run_budget = microseconds(one_of<int>(random, {1, 10, 50, 500}));
    config.reserve_nodes = one_of<std::int64_t>(random, {0, 0, 64, 1000});
    config.fixed_capacity = config.reserve_nodes != 0 && random.one_in(2);
    config.thread_name_prefix = "soak";
    return config;
}

/// One to four lanes, and kinds of workers each of which runs the first so many of them: the last runs all.
PoolConfig draw_pool(Random& random) {
    PoolConfig config;
    config.max_queued = between(random, 2, 64);
    config.max_queued_bytes = one_of<std::int64_t>(random, {50, 500, 1 << 20});
    config.lanes.clear();
    config.kinds.clear();
    const std::int64_t lanes = between(random, 1, 4);
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < lanes; ++i) {
        names.push_back("lane" + std::to_string(i));
        config.lanes.push_back(
            {names.back(), between(random, 1, 40), microseconds(one_of<int>(random, {0, 0, 200, 5000}))});
    }
    const std::int64_t kinds = between(random, 1, std::min<std::int64_t>(lanes, 3));
    for (std::int64_t k = 0; k < kinds; ++k) {
        const auto runs = static_cast<std::size_t>(k + 1 == kinds ? lanes : between(random, 1, lanes));
        config.kinds.push_back(
            {"kind" + std::to_string(k), between(random, 1, 2),
             std::vector<std::string>(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(runs))});
    }
    config.spin = one_of(random, {SpinPolicy::adaptive, SpinPolicy::park, SpinPolicy::busy});
    config.spin_budget = microseconds(between(random, 0, 100));
    config.short_time_slice = random.one_in(2);
    config.thread_name_prefix = "soakpool";
    return config;
}

TurnGateConfig draw_gate(Random& random) {
    TurnGateConfig config;
    config.max_concurrent_turns = between(random, 1, 12);
    config.max_live_sessions = between(random, 1, 8);
    config.max_queue_length = one_of<std::int64_t>(random, {0, 1, 8, 64, 256});
    config.max_queue_wait = microseconds(one_of<int>(random, {1000, 5000, 50'000}));
    config.order = one_of(random, {TurnOrder::fifo, TurnOrder::round_robin});
    config.max_queued_per_session = one_of<std::int64_t>(random, {0, 0, 3});
    config.start_interval = microseconds(one_of<int>(random, {0, 300}));
    config.base_backoff = milliseconds(between(random, 1, 5));
    config.max_backoff = milliseconds(between(random, 5, 40));
    config.backoff_jitter = random.one_in(2) ? 0.5 : 0.0;
    config.jitter_seed = random.next();
    config.limit =
        one_of(random, {LimitPolicy::fixed, LimitPolicy::fixed, LimitPolicy::aimd, LimitPolicy::gradient});
    config.limit_window = between(random, 1, 20);
    return config;
}

Load draw_load(Random& random) {
    Load load;
    load.submitters = static_cast<unsigned>(between(random, 2, 4));
    load.actors = static_cast<unsigned>(between(random, 1, 10));
    load.rest = one_of<std::uint64_t>(random, {0, 1, 4, 30, 200});
    load.executor_share = random.below(5) + 1;
    load.pool_share = random.below(4) + 1;
    load.gate_share = random.below(4) + 1;
    const auto sometimes = [&](std::initializer_list<std::uint64_t> chances) {
        return random.one_in(3) ? 0 : one_of(random, chances);
    };
    load.job_throws = sometimes({5, 30, 200});
    load.mutation_throws = sometimes({100, 1000});
    load.callback_throws = sometimes({5, 50});
    load.slow_job = sometimes({20, 200, 1000});
    load.nested = sometimes({3, 20});
    load.deadline = sometimes({2, 10, 50});
    load.stop = sometimes({2, 10, 50});
    load.stop_of_all = sometimes({2, 10});
    load.maintenance = one_of<std::uint64_t>(random, {2, 3, 10});
    load.removal = sometimes({50, 500});
    load.cancellation = sometimes({4, 30});
    load.slow = microseconds(between(random, 50, 3000));
    load.longest_deadline = microseconds(between(random, 1, 3000));
    return load;
}

std::vector<Event> draw_events(Random& random, milliseconds duration) {
    const std::initializer_list<Fault> kinds{
        Fault::actor_removed,   Fault::stop_of_all,       Fault::call_cancelled,  Fault::group_cancelled,
        Fault::queue_cancelled, Fault::session_cancelled, Fault::turns_expired,   Fault::rate_limit,
        Fault::clock_jump,      Fault::allocation_fails,  Fault::allocation_fails};
    std::vector<Event> events(random.below(20));
    for (Event& event : events) {
        event.at = microseconds(random.below(static_cast<std::uint64_t>(microseconds(duration).count())));
        event.fault = one_of(random, kinds);
        event.choice = random.next();
    }
    if (random.one_in(8)) {
        const auto late = microseconds(duration) * between(random, 5, 10) / 10;
        events.push_back({late, Fault::early_shutdown, random.next()});
    }
    std::ranges::sort(events, {}, [](const Event& event) { return std::pair(event.at, event.choice); });
    return events;
}

std::string_view name_of(End end) {
    constexpr std::array<std::string_view, 4> names{"drain", "cancel", "destructor", "own job"};
    return names[static_cast<std::size_t>(end)];
}

}  // namespace

Plan draw_plan(std::uint64_t seed, std::uint64_t number) {
    Random random(seed, number);
    Plan plan;
    plan.seed = seed;
    plan.number = number;
    plan.duration = milliseconds(between(random, 10, random.one_in(4) ? 200 : 60));
    plan.executor = draw_executor(random);
    plan.pool = draw_pool(random);
    plan.gate = draw_gate(random);
    plan.hooks_throw = random.one_in(16);
    plan.load = draw_load(random);
    plan.events = draw_events(random, plan.duration);
    plan.fails_to_start = one_of(random, {Part::executor, Part::pool, Part::gate});
    if (random.one_in(4))
        plan.failing_thread = static_cast<std::uint32_t>(between(random, 1, 6));
    else if (random.one_in(3))
        plan.failing_allocation = static_cast<std::uint64_t>(between(random, 1, 12));
    plan.executor_end =
        one_of(random, {End::drain, End::drain, End::cancel, End::cancel, End::destructor, End::own_job});
    plan.pool_end = one_of(random, {End::drain, End::cancel});
    if (plan.executor_end == End::drain && random.one_in(2))
        plan.pool_end = one_of(random, {End::destructor, End::own_job});
    plan.settles_late = random.one_in(2);
    return plan;
}

std::string describe(const Plan& plan) {
    std::ostringstream out;
    const Config& e = plan.executor;
    out << "episode " << plan.number << " of seed " << plan.seed << ": " << plan.duration.count() << " ms, "
        << plan.load.submitters << " submitters, " << plan.load.actors << " actors\n"
        << "  executor: " << *e.pool_size << " workers, " << to_string(e.policy) << ", spin "
        << to_string(e.spin) << ", max_queued " << e.max_queued << ", per actor " << e.max_queued_per_actor
        << ", run_ahead " << e.run_ahead << ", reserve " << e.reserve_nodes
        << (e.fixed_capacity ? " fixed" : "") << ", end: " << name_of(plan.executor_end) << '\n'
        << "  pool: " << plan.pool.lanes.size() << " lanes, " << plan.pool.kinds.size()
        << " kinds, max_queued " << plan.pool.max_queued << ", bytes " << plan.pool.max_queued_bytes
        << ", spin " << to_string(plan.pool.spin) << ", end: " << name_of(plan.pool_end) << '\n'
        << "  gate: " << plan.gate.max_concurrent_turns << " turns, queue " << plan.gate.max_queue_length
        << ", " << to_string(plan.gate.order) << ", limit " << to_string(plan.gate.limit) << '\n'
        << "  fails to start: part " << static_cast<int>(plan.fails_to_start) << ", thread "
        << plan.failing_thread << ", allocation " << plan.failing_allocation << '\n'
        << "  events:";
    for (const Event& event : plan.events)
        out << ' ' << fault_names[static_cast<std::size_t>(event.fault)] << '@' << event.at.count() << "us";
    out << '\n';
    return out.str();
}

}  // namespace sluice::soak
