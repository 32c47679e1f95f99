#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/detail/export.hpp>

namespace sluice {

/// Which threads may hold the scheduler's role.
enum class SchedulerPolicy : std::uint8_t {
    lent,  ///< A worker that is out of work takes the role for a turn, then runs what it decided. Best latency.
    dedicated,  ///< Only the scheduler thread. Frees the workers of deciding; worth it for many actors with tiny jobs.
};

/// What a worker does before it parks.
enum class SpinPolicy : std::uint8_t {
    adaptive,  ///< Spins up to `spin_budget` when recent idle gaps were short; one worker at a time.
    park,      ///< Never spins.
    busy,      ///< Spins up to `spin_budget`, always; all workers.
};

[[nodiscard]] SLUICE_API std::string_view to_string(SchedulerPolicy policy) noexcept;
[[nodiscard]] SLUICE_API std::string_view to_string(SpinPolicy policy) noexcept;

/// Called on a library thread with that thread's name. What it throws is caught and counted (Snapshot::callbacks_threw). It
/// may submit and wait, as from inside a job; until it returns its thread does nothing else. The executor's end destroys it,
/// with what it captured.
using ThreadHook = std::function<void(std::string_view thread_name)>;

/// What an executor is asked to be. Every field has a default; an empty `optional` means: derive it from the usable CPUs
/// n (affinity and cgroup quota) and the other fields. A value outside its range is refused, naming field, value and range; a
/// value that only has to be lowered to fit another one is lowered. What came of it: EffectiveConfig.
struct Config {
    // Workers and caps (E1, E2).

    /// Worker threads. Default clamp(n - 1, 2, 8). Range 1..256.
    std::optional<std::int64_t> pool_size = std::nullopt;
    /// Jobs of one actor in flight. Default clamp(pool_size - 1, 1, 4). Range 1..256, lowered to max(pool_size - 1, 1).
    std::optional<std::int64_t> actor_cap = std::nullopt;
    /// pure_read jobs of one actor in flight. Default clamp(actor_cap, 1, 4). Range 1..256, lowered to actor_cap.
    std::optional<std::int64_t> read_cap = std::nullopt;
    /// heavy_init jobs in flight, all actors together. Default clamp(pool_size - 1, 2, 3). Range 1..256.
    std::optional<std::int64_t> heavy_permits = std::nullopt;
    /// What a visit adds to an actor's deficit, in units of job cost (E12). Range 1..65536. More than 4 * actor_cap is cut
    /// off at every visit by the cap of the deficit.
    std::int64_t drr_quantum = 1;

    // How much may wait (E23).

    /// Jobs queued in the executor. Range 1..2^40; 0: unlimited.
    std::int64_t max_queued = std::int64_t{1} << 20;
    /// Jobs queued for one actor. Range 1..2^40; 0: unlimited.
    std::int64_t max_queued_per_actor = 0;

    // Threads.

    SchedulerPolicy policy = SchedulerPolicy::lent;
    SpinPolicy spin = SpinPolicy::adaptive;
    /// Longest spin before a worker parks. Range 0..1 s; 0: as SpinPolicy::park.
    std::chrono::nanoseconds spin_budget = std::chrono::microseconds{50};
    /// Threads are named `<prefix>-sched` and `<prefix>-wN`. At most 9 characters (the system keeps 15), not empty,
    /// and none of them NUL.
    std::string thread_name_prefix = "sluice";
    /// CPUs that the library's threads may use, each in 0..4095; empty: all that the process may use.
    std::vector<std::int32_t> cpus = {};
    /// Asks the system for a short time slice (200 us) for the library's threads, where it can be had without privilege.
    bool short_time_slice = true;
    /// Called first and last on every thread that the library starts; may be empty.
    ThreadHook on_thread_start = nullptr;
    ThreadHook on_thread_stop = nullptr;

    // Run-ahead (E28).

    /// Hand out runs of short jobs and a short backlog. Off: one job at a time, a decision for each.
    bool run_ahead = true;
    /// A worker that has spent this long on a run gives the rest back while others wait. Range 1 us..1 s.
    std::chrono::nanoseconds run_budget = std::chrono::microseconds{50};

    // Memory (E31).

    /// Where nodes come from; must outlive the executor and everything that it returned. nullptr: mimalloc.
    std::pmr::memory_resource* memory = nullptr;
    /// Nodes allocated at the start, as by Executor::reserve(). Range 0..2^32; 0: the first ones are allocated when they are
    /// needed.
    std::int64_t reserve_nodes = 0;
    /// Never allocate nodes after the start, but for 128 the first time that a thread submits (it may keep as many in its
    /// cache, and what was promised to others is not lessened): a submission that would need more is refused with `queue_full`,
    /// which names the nodes that there are. Then reserve_nodes must be 1 or more.
    bool fixed_capacity = false;
};

/// What an executor is: Config with every default filled in and every value made to fit. Read it from the executor.
struct EffectiveConfig {
    std::uint32_t pool_size = 2;
    std::uint32_t actor_cap = 1;
    std::uint32_t read_cap = 1;
    std::uint32_t heavy_permits = 2;
    std::uint32_t drr_quantum = 1;
    std::uint32_t deficit_cap = 4;  ///< 4 * actor_cap.
    std::uint32_t interactive_reserve =
        1;  ///< Workers that maintenance leaves idle: 2 from 4 workers on, else 1; alone 0.
    std::uint32_t maintenance_cap = 1;  ///< max(pool_size - interactive_reserve, 1).

    std::uint64_t max_queued = 0;            ///< no_limit: unlimited.
    std::uint64_t max_queued_per_actor = 0;  ///< no_limit: unlimited.

    SchedulerPolicy policy = SchedulerPolicy::lent;
    SpinPolicy spin = SpinPolicy::adaptive;
    std::chrono::nanoseconds spin_budget{0};
    std::string thread_name_prefix;
    std::vector<std::int32_t> cpus = {};
    bool short_time_slice = true;
    ThreadHook on_thread_start = nullptr;
    ThreadHook on_thread_stop = nullptr;

    bool run_ahead = true;
    std::chrono::nanoseconds run_budget{0};

    std::pmr::memory_resource* memory = nullptr;  ///< As given: nullptr is mimalloc.
    std::uint64_t reserve_nodes = 0;
    bool fixed_capacity = false;

    unsigned usable_cpus = 2;  ///< What the defaults were derived from.

    static constexpr std::uint64_t no_limit = ~std::uint64_t{0};
};

/// Why a Config was refused: the first field that makes no sense.
struct ConfigProblem {
    std::string_view field;  ///< As it is spelt in Config.
    std::string value;       ///< As it was given.
    std::string_view range;  ///< What is accepted.

    /// A sentence fit to show: "pool_size is 0, but must be 1..256".
    [[nodiscard]] SLUICE_API std::string message() const;
};

}  // namespace sluice
