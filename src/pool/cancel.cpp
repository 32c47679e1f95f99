// How an item ends, whichever thread ends it, and how its slot goes back.
//
// Whoever moves an item out of `queued` by its CAS ends it: destroys the closure, gives the room back, says `settled`. No
// other thread waits for that, and none is in its way.

#include "pool/pool.hpp"

#include <sluice/detail/continuation.hpp>

#include <functional>
#include <utility>

namespace sluice::detail {

using sync::memory_order_acq_rel;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

bool Pool::cancel(PoolSlot& slot) noexcept {
    const core::ItemWord seen = slot.load();
    if (!seen.queued() || !slot.leave_queue(seen, Phase::cancelled))
        return false;
    withdraw(slot, Phase::cancelled);
    return true;
}

// The item is the caller's to end. Slot and bytes are free, and the closure destroyed, when this returns (P5).
void Pool::withdraw(PoolSlot& slot, Phase phase) noexcept {
    slot.ops->destroy_closure(slot.payload);
    free_payload(slot);
    core::PoolRecord record;
    change(slot, record, [&](core::PoolRecord& r) {
        phase == Phase::cancelled ? r.cancel(slot.lane, slot.bytes) : r.discard(slot.lane, slot.bytes);
    });
    settle(slot, core::ItemWord::settled_bit);
    left_queue(record);
    ended();
}

// Ids are compared before the CAS: if it succeeds, they were of the life that it ended.
bool Pool::wanted_here(const PoolSlot& slot, const CancelWanted& wanted, std::uint64_t call,
                       std::uint64_t group) const noexcept {
    if (wanted.all)
        return true;
    // relaxed: see above; the word was loaded before, with acquire.
    if (call != 0)
        return slot.call.load(memory_order_relaxed) == call && slot.names.get().first() == wanted.call;
    return slot.group.load(memory_order_relaxed) == group && slot.names.get().second() == wanted.group;
}

// Up to `most` queued items, in the order of the lanes, then of arrival.
std::size_t Pool::cancel_wanted(const CancelWanted& wanted, std::size_t most) noexcept {
    const std::hash<std::string_view> hash;
    const std::uint64_t call = wanted.call.empty() ? 0 : hash(wanted.call) | 1U;
    const std::uint64_t group = wanted.group.empty() ? 0 : hash(wanted.group) | 1U;
    if (!wanted.all && call == 0 && group == 0)
        return 0;
    std::size_t cancelled = 0;
    const ContinuationsHeld held;  // who is let in meanwhile goes on when the lanes have been gone through
    auto all = items();
    for (auto& lane : lanes_) {
        lane->queue.for_each(all, [&](std::uint32_t index) {
            PoolSlot& slot = slots_[index];
            const core::ItemWord seen = slot.load();
            if (seen.queued() && wanted_here(slot, wanted, call, group) &&
                slot.leave_queue(seen, Phase::cancelled)) {
                withdraw(slot, Phase::cancelled);
                ++cancelled;
            }
            return cancelled < most;
        });
        if (cancelled == most)
            break;
    }
    return cancelled;
}

void Pool::discard_all() noexcept {
    auto all = items();
    for (auto& lane : lanes_) {
        lane->queue.for_each(all, [&](std::uint32_t index) {
            PoolSlot& slot = slots_[index];
            const core::ItemWord seen = slot.load();
            if (seen.queued() && slot.leave_queue(seen, Phase::discarded))
                withdraw(slot, Phase::discarded);
            return true;
        });
    }
}

void Pool::tell_thrown(const PoolSlot& slot, std::exception_ptr thrown) noexcept {
    if (!config_.on_thrown)
        return;
    const auto names = slot.has_names ? slot.names.get() : sync::NamePair::Copy{};
    try {
        config_.on_thrown(
            {config_.lanes[slot.lane].name, names.first(), names.second(), slot.bytes, std::move(thrown)});
    } catch (...) {  // the handler's own trouble must not take the worker down
        callbacks_threw_.fetch_add(1, memory_order_relaxed);  // a count
    }
}

// The ender is through with the slot; from here on it may be free and used again by the handle's thread.
void Pool::settle(PoolSlot& slot, std::uint64_t step) noexcept {
    // acq_rel. Release: partner of PoolSlot::load() by the handle. Acquire: of the handle's drop.
    const core::ItemWord old{slot.word.fetch_add(step, memory_order_acq_rel)};
    if (old.dropped())
        free_slot(slot);
}

void Pool::free_slot(PoolSlot& slot) noexcept {
    // relaxed: the free stack publishes it; observers ask for `queued` only.
    slot.word.store(core::freed({slot.word.load(memory_order_relaxed)}).bits, memory_order_relaxed);
    slots_.give(slot);
}

void Pool::free_payload(PoolSlot& slot) noexcept {
    if (slot.payload_bytes != 0)
        resource_->deallocate(slot.payload, std::exchange(slot.payload_bytes, 0), slot.payload_alignment);
}

// A slot whose item never got in.
void Pool::take_apart(PoolSlot& slot) noexcept {
    slot.ops->destroy_closure(slot.payload);
    free_payload(slot);
    free_slot(slot);
}

// The handle lets go: of an item that has not ended to whoever ends it, otherwise the slot is free.
void Pool::drop_handle(PoolSlot& slot) noexcept {
    core::ItemWord word = slot.load();
    while (!word.settled()) {
        // release: what this thread did with the slot comes before its end. acquire on failure: as load().
        if (slot.word.compare_exchange_weak(word.bits, word.bits | core::ItemWord::dropped_bit,
                                            memory_order_release, memory_order_acquire)) {
            return;
        }
    }
    // Until the word says that the handle has let go the pool is there; afterwards for who holds it.
    retain();
    // acq_rel: partner of the marking in bury(); one of the two comes second.
    word.bits = slot.word.fetch_or(core::ItemWord::dropped_bit, memory_order_acq_rel);
    if (word.orphan()) {
        release();  // the reference that bury() took for this handle
    } else {
        free_slot(slot);
    }
    release();
}

}  // namespace sluice::detail
