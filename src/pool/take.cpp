// What a worker takes, and who is called for what there is.
//
// Keeps "somebody looks" (pool.hpp). For each lane: who makes an item reachable asks afterwards whether a worker looks
// that may run it, in any kind; if none, it wakes one of the first kind that has a sleeper. A worker that looks and then
// enters a job takes itself off the lookers and then, if it was the last of its kind, looks through the lanes of the
// kind: for each that holds an item it does as an enqueuer does. So a worker that was woken for one item and takes another
// one has seen to the first. Model: tests/models/pool_wake.pml.

#include "pool/pool.hpp"

#include <algorithm>
#include <bit>

namespace sluice::detail {

using sync::memory_order_acquire;
using sync::memory_order_relaxed;

// The highest lane first (P1), unless an item of a lower one has waited too long (P12).
PoolSlot* Pool::take(std::uint32_t lanes, std::uint32_t kind) noexcept {
    if ((lanes & aging_lanes_) != 0) {
        if (PoolSlot* slot = take_overdue(lanes & aging_lanes_, kind))
            return slot;
    }
    for (; lanes != 0; lanes &= lanes - 1) {
        if (PoolSlot* slot = take_from(static_cast<std::uint32_t>(std::countr_zero(lanes)), kind))
            return slot;
    }
    return nullptr;
}

// Of several lanes whose oldest item has waited too long, the one that is over its time by the most.
PoolSlot* Pool::take_overdue(std::uint32_t lanes, std::uint32_t kind) noexcept {
    const std::int64_t now = clock_.now();
    std::int64_t most_overdue = 0;
    std::uint32_t chosen = 0;
    auto all = items();
    for (; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
        const auto oldest = lanes_[lane]->queue.peek(all);
        if (!oldest)
            continue;
        // relaxed: a time; if the slot has changed hands since, a wrong choice of the next lane, and no harm.
        const std::int64_t waited = now - slots_[*oldest].enqueued_at.load(memory_order_relaxed);
        if (waited - lanes_[lane]->max_wait_ns > most_overdue) {
            most_overdue = waited - lanes_[lane]->max_wait_ns;
            chosen = lane;
        }
    }
    return most_overdue > 0 ? take_from(chosen, kind) : nullptr;
}

// Claimed by its slot's word, then out of the queue's bounds: room is there before the job begins (P2).
PoolSlot* Pool::take_from(std::uint32_t lane, std::uint32_t kind) noexcept {
    auto all = items();
    const auto claim = [this](std::uint32_t index, std::uint64_t seat) {
        PoolSlot& slot = slots_[index];
        const core::ItemWord word = slot.load();
        // The word before the seat, and the CAS after both: then they are of one life.
        return word.queued() && slot.seat.load(memory_order_acquire) == seat &&
               slot.leave_queue(word, Phase::running);
    };
    const auto index = lanes_[lane]->queue.take(all, claim);
    if (!index)
        return nullptr;
    PoolSlot& slot = slots_[*index];
    core::PoolRecord record;
    change(slot, record, [&](core::PoolRecord& r) { r.take(limits_, lane, slot.bytes, kind); });
    left_queue(record);
    return &slot;
}

bool Pool::anything_in(std::uint32_t lanes) noexcept {
    auto all = items();
    for (; lanes != 0; lanes &= lanes - 1) {
        if (lanes_[static_cast<std::size_t>(std::countr_zero(lanes))]->queue.anything(all))
            return true;
    }
    return false;
}

bool Pool::anyone_looks_at(std::uint32_t lane) const noexcept {
    return std::ranges::any_of(lanes_[lane]->kinds,
                               [this](std::uint8_t kind) { return kinds_[kind]->lookout.anyone_looking(); });
}

void Pool::call_for(std::uint32_t lane) noexcept {
    if (!anyone_looks_at(lane))
        call_for_all(1U << lane);
}

// One worker for each of these lanes that nobody looks at.
void Pool::call_for_all(std::uint32_t lanes) noexcept {
    for (; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<std::uint32_t>(std::countr_zero(lanes));
        if (anyone_looks_at(lane))
            continue;
        for (const std::uint8_t k : lanes_[lane]->kinds) {
            if (kinds_[k]->lookout.wake_one() != sync::Wake::nobody)
                break;
        }
    }
}

}  // namespace sluice::detail
