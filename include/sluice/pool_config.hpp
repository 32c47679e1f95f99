#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/config.hpp>
#include <sluice/detail/export.hpp>

namespace sluice {

/// A lane of a pool, by its place in PoolConfig::lanes.
struct PoolLane {
    std::uint8_t index = 0;
    friend constexpr bool operator==(PoolLane, PoolLane) = default;
};

/// The lanes of the default table, highest priority first.
namespace pool_lanes {
inline constexpr PoolLane control{0};  ///< Must not be starved by bursts of the rest.
inline constexpr PoolLane user{1};     ///< What a person waits for.
inline constexpr PoolLane cheap{2};    ///< Reads, and whatever else is short.
inline constexpr PoolLane bulk{3};     ///< All the rest.
}  // namespace pool_lanes

/// One lane: a queue of its own, before those that stand behind it in the table.
struct PoolLaneConfig {
    /// In errors and snapshots. 1..32 characters, no two alike.
    std::string name;
    /// Items queued in the lane. Range 1..2^20.
    std::int64_t limit = 32;
    /// An item that waited longer is taken next by the first worker that may run it (P12). Range 0..2^62 ns; 0: never.
    std::chrono::nanoseconds max_wait{0};
};

/// Workers that run the same lanes.
struct WorkerKindConfig {
    /// In snapshots. 1..32 characters, no two alike.
    std::string name;
    /// Range 0..256.
    std::int64_t workers = 1;
    /// Names of the lanes that they run. Every lane needs a worker.
    std::vector<std::string> lanes;
};

/// An item whose job threw, for the handler.
struct ThrownItem {
    std::string_view lane;
    std::string_view call_id;
    std::string_view group_id;
    std::uint64_t bytes = 0;
    std::exception_ptr exception;
};

/// Called on the worker, after the job's closure was destroyed. What it throws is counted (PoolSnapshot::callbacks_threw).
using ThrownHandler = std::function<void(const ThrownItem&)>;

/// control 16, user 16, cheap 32, bulk 32 (P1).
[[nodiscard]] SLUICE_API std::vector<PoolLaneConfig> default_pool_lanes();
/// One worker for control; two for control and user; three for those and cheap; ten for all (P1).
[[nodiscard]] SLUICE_API std::vector<WorkerKindConfig> default_worker_kinds();

/// What a pool is asked to be. Every field has a default. A value outside its range is refused, naming field, value and
/// range. Lanes and worker kinds are data (P15): 1..16 of each.
struct PoolConfig {
    /// Queued items, all lanes together. Range 1..2^20. Running ones do not count.
    std::int64_t max_queued = 64;
    /// Queued bytes, as the items themselves say (ItemMeta::bytes). Range 0..2^62.
    std::int64_t max_queued_bytes = std::int64_t{1} << 20;
    /// Highest priority first.
    std::vector<PoolLaneConfig> lanes = default_pool_lanes();
    std::vector<WorkerKindConfig> kinds = default_worker_kinds();

    /// What happens when a job throws, besides that it is counted; may be empty (P7).
    ThrownHandler on_thrown = nullptr;

    SpinPolicy spin = SpinPolicy::adaptive;
    /// Longest spin before a worker parks. Range 0..1 s; 0: as SpinPolicy::park.
    std::chrono::nanoseconds spin_budget = std::chrono::microseconds{20};
    /// Threads are named `<prefix>-w<n>`. At most 9 characters (the system keeps 15), not empty, and none of them NUL.
    std::string thread_name_prefix = "pool";
    /// CPUs that the workers may use, each in 0..4095; empty: all that the process may use.
    std::vector<std::int32_t> cpus = {};
    /// Asks the system for a short time slice (200 us), where it can be had without privilege.
    bool short_time_slice = true;
    /// Called first and last on every worker; may be empty. What they throw is counted (PoolSnapshot::callbacks_threw).
    ThreadHook on_thread_start = nullptr;
    ThreadHook on_thread_stop = nullptr;

    /// Where slots and lanes come from; must outlive the pool and all its handles. nullptr: mimalloc.
    std::pmr::memory_resource* memory = nullptr;
};

/// One lane as it is.
struct EffectivePoolLane {
    std::string name;
    std::uint32_t limit = 0;
    std::chrono::nanoseconds max_wait{0};
};

/// One worker kind as it is.
struct EffectiveWorkerKind {
    std::string name;
    std::uint32_t workers = 0;
    std::uint32_t lanes = 0;  ///< Bit i: they run lane i.
};

/// What a pool is: PoolConfig, checked, with names resolved. Read it from the pool.
struct EffectivePoolConfig {
    std::uint32_t max_queued = 0;
    std::uint64_t max_queued_bytes = 0;
    std::vector<EffectivePoolLane> lanes;
    std::vector<EffectiveWorkerKind> kinds;
    std::uint32_t workers = 0;  ///< All kinds together.
    ThrownHandler on_thrown = nullptr;
    SpinPolicy spin = SpinPolicy::adaptive;
    std::chrono::nanoseconds spin_budget{0};
    std::string thread_name_prefix;
    std::vector<std::int32_t> cpus;
    bool short_time_slice = true;
    ThreadHook on_thread_start = nullptr;
    ThreadHook on_thread_stop = nullptr;
    std::pmr::memory_resource* memory = nullptr;  ///< As given: nullptr is mimalloc.
};

}  // namespace sluice
