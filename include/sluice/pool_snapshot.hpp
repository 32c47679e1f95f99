#pragma once

// What a pool tells of itself. Plain data, taken without waiting for anybody.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Items that were refused, by what refused them; none of them is in PoolTotals.
struct PoolRefused {
    std::uint64_t total = 0;       ///< the bound on all queued items
    std::uint64_t lane = 0;        ///< the bound of their lane
    std::uint64_t bytes = 0;       ///< the bound on queued bytes
    std::uint64_t never_fits = 0;  ///< larger than the whole budget of bytes
    std::uint64_t waiters = 0;     ///< others waited for room in their lane
    std::uint64_t shut_down = 0;
    std::uint64_t other = 0;  ///< an argument out of its range, no memory, withdrawn while it waited
    [[nodiscard]] std::uint64_t all() const noexcept {
        return total + lane + bytes + never_fits + waiters + shut_down + other;
    }
};

/// Accepted items by what became of them. `accepted == queued + running + ran + thrown + cancelled + discarded` in every
/// snapshot (P16).
struct PoolTotals {
    std::uint64_t accepted = 0;
    std::uint64_t queued = 0;
    std::uint64_t running = 0;
    std::uint64_t ran = 0;
    std::uint64_t thrown = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t discarded = 0;  ///< at the end of the pool, or because the closure could not be moved in
};

/// One lane.
struct PoolLaneSnapshot {
    std::string name;
    std::uint64_t queued = 0;
    std::uint64_t waiting = 0;  ///< threads and coroutines that wait for room in it
    std::uint64_t limit = 0;
    PoolRefused refused;
    /// Age of the item that has been queued longest, if any is queued.
    std::optional<std::chrono::nanoseconds> oldest_age;
};

/// One worker kind.
struct WorkerKindSnapshot {
    std::string name;
    std::uint64_t workers = 0;
    std::uint64_t running = 0;
    std::uint64_t parked = 0;  ///< asleep, or about to be
};

/// A pool at one moment. The totals of one snapshot are consistent with each other.
struct PoolSnapshot {
    PoolTotals items;
    std::uint64_t queued_bytes = 0;
    std::vector<PoolLaneSnapshot> lanes;
    std::vector<WorkerKindSnapshot> kinds;
    PoolRefused refused;
    std::uint64_t oversized = 0;        ///< items whose closure needed an allocation
    std::uint64_t callbacks_threw = 0;  ///< exceptions that left a thread hook or the handler of thrown items
    std::uint64_t slots = 0;            ///< allocated so far; a plateau in steady state
    std::uint64_t wakeups = 0;          ///< workers woken, ever
    std::uint64_t compactions = 0;      ///< of lanes full of cancelled items
};

}  // namespace sluice
