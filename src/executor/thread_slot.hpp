#pragma once

// What one thread keeps of one engine: its ingress lane, its cache of nodes, its counts. No other thread writes here, so
// a submission touches one shared line only, the admission word.
//
// Roles. Owner: the thread that leases the slot. Reader: snapshots (the counts), writers of the registry (`reading`),
// the role holder (the lane's consumer side). Slots are never freed before the engine; after a thread's end the next new
// thread leases its slot, with the same lane (E14: its numbers go on rising).
//
// Finding it: a thread-local list of leases, each with a reference on its engine, so an engine's address is not reused
// while a lease names it. Leases of dead engines are given up when the thread next makes a lease, or ends. With a lease end
// the Batches that were opened on it, wherever they are: the next owner's submissions are none of theirs.

#include "memory/batch_depot.hpp"
#include "sync/atomic.hpp"
#include "sync/ingress.hpp"

#include <sluice/lane.hpp>

#include <array>
#include <cstdint>

namespace sluice::detail {

class Engine;

/// Reasons of refusals, as counted (see RefusedTotals).
enum class Refusal : std::uint8_t { queue_full, actor_not_registered, actor_fatal, shut_down, other };
inline constexpr std::size_t refusal_count = 5;

struct alignas(64) ThreadSlot {
    // Owner only.
    memory::Cache nodes;
    sync::Ingress::Lane* lane = nullptr;

    // Batches open on this lease: submissions wake nobody. Opened by the owner, closed by whoever destroys one. Dekker: a
    // submission says that it wants a wake-up and then looks whether any is still open; who closes the last one looks for
    // that afterwards. Both seq_cst, so one of the two wakes.
    sync::atomic<std::uint64_t> batches{0};  ///< core/words/batch_word.hpp
    sync::atomic<bool> batch_wants_wake{false};

    // Written by the owner, read by snapshots. Relaxed stores of a single writer; see counters.hpp for the order in
    // which a snapshot reads.
    std::array<sync::atomic<std::uint64_t>, 2> accepted{};
    std::array<sync::atomic<std::uint64_t>, refusal_count> refused{};
    sync::atomic<std::uint64_t> oversized{0};

    sync::atomic<bool> reading{false};  ///< inside the registry's table; see registry.hpp
    sync::atomic<bool> leased{false};   ///< taken by CAS (acquire), given up by a release store
    ThreadSlot* next = nullptr;         ///< written before the slot is published
};

/// Adds one to a count that only the calling thread writes.
inline void bump(sync::atomic<std::uint64_t>& count) noexcept {
    count.store(count.load(sync::memory_order_relaxed) + 1,
                sync::memory_order_relaxed);  // one writer; readers argue
}

/// Finds the calling thread's slot of an engine, making and leasing one on the thread's first call.
///
/// **Progress**: lock-free but for the first call's allocations. **Cost**: one thread-local read when the thread used
/// the same engine last.
class SlotLease {
public:
    /// get() is null when there is no memory for a slot. `temporary` is set when the thread is past its thread-local
    /// destructors and nothing may be kept: then give_up() must follow.
    SlotLease(Engine& engine, bool& temporary) noexcept;
    [[nodiscard]] ThreadSlot* get() const noexcept {
        return slot_;
    }
    /// Makes a slot that was leased elsewhere the calling thread's own: for the engine's threads, on which get() is then
    /// never null.
    static void adopt(Engine& engine, ThreadSlot& slot) noexcept;
    /// Null: there was none to be had.
    static void give_up(ThreadSlot* slot) noexcept;
    /// Makes up for the wake-ups that Batches open on this thread hold back. **Progress**: lock-free.
    static void wake_for_open_batches() noexcept;

private:
    ThreadSlot* slot_ = nullptr;
};

}  // namespace sluice::detail
