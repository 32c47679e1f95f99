#pragma once

// Those who wait for room (P13): a line for each lane, first come first served.
//
// Roles. *Waiter*: a thread inside enqueue_for, or a coroutine, that was refused for now. *Holder*: whoever has the baton; it
// alone touches the lines, and acts on behalf of the waiters, whose slots lend it their scratch records. It takes them in as they
// arrived: in one step each is admitted after all or counted in the record as waiting, and from then on no newcomer of the lane
// overtakes it. So the record counts those who stand in line, in this order, and nobody else. Anybody who gives room back
// while the record says that somebody waits asks for the baton.
// Invariant: when room was given back to those who are counted, or a waiter arrived or wants to leave, then somebody holds the
// baton who has not looked since, or will ask for it: a waiter asks after it has put itself where a holder finds it. Room that
// came back before a waiter was counted is seen by the step that would count it.
// A waiter's memory is its thread's stack. The holder's last touch is the exchange of `state` (and a wake-up, which needs no
// more than the address); a waiter whose time is over asks to be let go, and stays until it is. A coroutine's lies in its
// frame; the holder tells it once it has put the baton down, and room_wait.cpp says what is touched until when.

#include "pool/slot.hpp"
#include "sync/atomic.hpp"
#include "sync/baton.hpp"
#include "sync/cache_line.hpp"

#include <sluice/detail/room_wait.hpp>

#include <array>
#include <cstdint>

namespace sluice::detail {

class RoomLine {
public:
    sync::Baton baton;

    /// Puts a waiter where the next holder finds it. **Thread**: the waiter. **Progress**: lock-free.
    void arrive(RoomWaiter& waiter) noexcept {
        // relaxed: nothing behind the old first is read here.
        waiter.next = arrivals_.load(sync::memory_order_relaxed);
        // release: partner of the acquire in collect(); the waiter is whole.
        while (!arrivals_.compare_exchange_weak(waiter.next, &waiter, sync::memory_order_release,
                                                sync::memory_order_relaxed)) {}
    }

    // The rest is for the holder.

    /// Appends those who have arrived to their lines, in the order in which they came.
    void collect() noexcept {
        RoomWaiter* newest = arrivals_.exchange(nullptr, sync::memory_order_acquire);  // pairs with arrive()
        RoomWaiter* oldest = nullptr;
        while (newest != nullptr) {
            RoomWaiter* const before = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = before;
        }
        while (oldest != nullptr) {
            RoomWaiter* const after = oldest->next;
            oldest->next = nullptr;
            Line& line = lines_[oldest->lane];
            (line.last == nullptr ? line.first : line.last->next) = oldest;
            line.last = oldest;
            oldest = after;
        }
    }

    /// Calls `serve(waiter)` for those of a lane, in order, and takes out whom it is true for.
    template <class Serve>
    void serve(std::uint32_t lane, Serve&& serve_one) noexcept {
        Line& line = lines_[lane];
        RoomWaiter* before = nullptr;
        for (RoomWaiter* waiter = line.first; waiter != nullptr;) {
            RoomWaiter* const after = waiter->next;  // it may be gone right after it was served
            if (!serve_one(*waiter, before == nullptr)) {
                before = waiter;
            } else {
                (before == nullptr ? line.first : before->next) = after;
                if (after == nullptr)
                    line.last = before;
            }
            waiter = after;
        }
    }

private:
    struct Line {
        RoomWaiter* first = nullptr;
        RoomWaiter* last = nullptr;
    };

    alignas(sync::cache_line) sync::atomic<RoomWaiter*> arrivals_{nullptr};
    std::array<Line, core::PoolLimits::most_lanes> lines_{};
};

}  // namespace sluice::detail
