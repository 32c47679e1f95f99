#pragma once

// An item's memory: what the lane, the worker, the handle and whoever cancels need of it.
//
// Roles. *Enqueuer*: fills a slot that it took from the free ones, then pushes it into a lane. *Ender*: the one thread
// that moved the item out of `queued` by a CAS on `word`: the worker that runs it, or whoever cancels or discards it; it
// alone may touch closure, names' owner fields and scratch until it says `settled`. *Handle*: reads `word`, cancels, lets go.
// *Scanner*: whoever looks for items of a call or group; reads what is atomic, and believes it only if its CAS on `word`
// succeeds afterwards, for then it was all of one life.
//
// `word` (core/words/item_word.hpp) decides who frees: the later one of `settled` and `dropped`.

#include "core/pool_record.hpp"
#include "core/words/item_word.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/name_pair.hpp"

#include <sluice/detail/payload.hpp>
#include <sluice/job.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice::detail {

class Pool;

struct alignas(sync::cache_line) PoolSlot {
    // Line 0: all that queueing and running touch.
    sync::atomic<std::uint64_t> word{0};
    sync::atomic<std::uint64_t> seat{
        ~std::uint64_t{0}};  ///< place in the lane; the lane's (sync/lane_queue.hpp)
    const JobOps* ops = nullptr;
    void* payload = nullptr;  ///< `inline_payload`, or a block of its own
    std::uint64_t bytes = 0;
    sync::atomic<std::int64_t> enqueued_at{0};
    std::uint32_t lane = 0;
    std::uint32_t scratch =
        0;  ///< the record that changes on behalf of this item are written into (sync/ledger.hpp)
    std::uint32_t index = 0;  ///< constant
    bool has_names = false;

    // Lines 1 to 3.
    Pool* pool = nullptr;                 ///< constant
    sync::atomic<std::uint64_t> call{0};  ///< hash of the call id, 0 without one
    sync::atomic<std::uint64_t> group{0};
    std::size_t payload_bytes = 0;  ///< of a block of its own, else 0
    std::uint32_t payload_alignment = 0;
    sync::atomic<std::uint32_t> below{0};  ///< the link among the free ones
    alignas(16) std::array<std::byte, inline_payload_bytes> inline_payload;

    sync::NamePair names;  ///< call id and group id

    /// One record of what the pool has admitted: whose it is at the moment says `scratch` of some slot, or the ledger.
    std::array<sync::atomic<std::uint64_t>, core::PoolRecord::most_words> record{};

    [[nodiscard]] core::ItemWord load() const noexcept {
        // acquire: partner of the releases that queue and end the item.
        return {word.load(sync::memory_order_acquire)};
    }
    /// Out of `queued`: true for the one that did it. False only if the item of the life `seen` has left the queue: a handle
    /// that is dropped meanwhile changes the word too, and a taker that took it for an end would lose the item.
    [[nodiscard]] bool leave_queue(core::ItemWord seen, core::ItemPhase phase) noexcept {
        const std::uint64_t life = seen.generation();
        while (seen.queued() && seen.generation() == life) {
            // acq_rel. Acquire: partner of the enqueuer's release; the item is whole. Release: partner of load() by handles.
            // relaxed on failure: nothing is read but the word.
            if (word.compare_exchange_weak(seen.bits, core::moved_to(seen, phase).bits,
                                           sync::memory_order_acq_rel, sync::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }
};

}  // namespace sluice::detail
