// Waiting for room, and letting those in who wait.

#include "pool/pool.hpp"

#include <sluice/detail/continuation.hpp>

#include <utility>

namespace sluice::detail {

// Returns admitted, or why the waiter was let go.
core::Verdict Pool::wait_for_room(PoolSlot& slot, const ItemRequest& request) noexcept {
    const std::int64_t patience = request.patience_ns;
    const std::int64_t deadline = patience < 0 ? 0 : sync::now_ns() + patience;
    RoomWaiter self{.slot = &slot, .lane = request.lane.index, .bytes = request.meta->bytes};
    room_.arrive(self);
    serve_room();
    for (;;) {
        // acquire: partner of the holder's exchange.
        const std::uint32_t state = self.state.load(sync::memory_order_acquire);
        if (state == RoomWaiter::admitted)
            return Verdict::admitted;
        if (state == RoomWaiter::left)
            return self.verdict;
        const std::int64_t remaining = patience < 0 ? 0 : deadline - sync::now_ns();
        if (patience < 0 || state == RoomWaiter::leaving) {
            sync::wait(self.state, state);  // leaving: for as long as the holder's turn takes
        } else if (remaining > 0) {
            (void)sync::wait_for(self.state, state, remaining);
        } else {
            std::uint32_t expected = RoomWaiter::waiting;
            // relaxed: the baton brings it to the holder. Failure: the holder was faster, see above.
            self.state.compare_exchange_strong(expected, RoomWaiter::leaving, sync::memory_order_relaxed);
            serve_room();
        }
    }
}

// Whoever gave room back, came, or wants to leave. One thread at a time works here, for all who ask meanwhile.
void Pool::serve_room() noexcept {
    if (!room_.baton.ask())
        return;
    RoomWaiter* awaited =
        nullptr;  // those who are to be told once the baton is free: it calls for users' code
    RoomWaiter** last = &awaited;
    do {
        room_.collect();
        for (std::uint32_t lane = 0; lane < limits_.lanes; ++lane) {
            room_.serve(lane, [&](RoomWaiter& waiter, bool first) {
                const bool is_awaited =
                    waiter.awaited;  // read first: a thread's waiter is gone when it was let in
                const bool over = let_in(waiter, first);
                if (over && is_awaited) {
                    waiter.next = nullptr;
                    *last = &waiter;
                    last = &waiter.next;
                }
                return over;
            });
        }
    } while (!room_.baton.put_down());
    const ContinuationsHeld
        held;  // coroutines go on when all is done here, in the order in which they were let in
    while (awaited != nullptr) {
        auto& wait = static_cast<RoomWait&>(*std::exchange(awaited, awaited->next));
        if (Continuation* const goes_on = wait.settle())
            run_continuation(*goes_on);
    }
    ended();  // the record has changed under those who ask whether nothing is left
}

// True: the waiter's waiting is over. Of those who are counted, only the first of a line is let in.
bool Pool::let_in(RoomWaiter& waiter, bool first) noexcept {
    // relaxed: the baton orders the holders, and brings what a waiter wrote before it asked.
    const bool leaves = waiter.state.load(sync::memory_order_relaxed) == RoomWaiter::leaving;
    if (waiter.counted && !first && !leaves)
        return false;
    core::PoolRecord record;
    Verdict verdict = Verdict::waiters;
    bool over = false;
    const auto step = [&](core::PoolRecord& r) {
        if (!waiter.counted)
            verdict = r.admit(limits_, waiter.lane, waiter.bytes);
        else if (first)
            verdict = r.admit_waiter(limits_, waiter.lane, waiter.bytes);
        over = leaves || verdict < Verdict::total;
        if (waiter.counted && over && verdict != Verdict::admitted)
            r.leave_line(waiter.lane);
        if (!waiter.counted && !over)
            r.join_line(waiter.lane);
        return verdict == Verdict::admitted || waiter.counted == over;
    };
    // The waiter's own scratch: it sleeps meanwhile.
    (void)ledger_.change(records(), record_words_, record, waiter.slot->scratch, step,
                         [] { return sync::Ledger::nil; });
    waiter.counted = true;
    if (!over)
        return false;
    waiter.verdict = verdict;
    const std::uint32_t outcome = verdict == Verdict::admitted ? RoomWaiter::admitted : RoomWaiter::left;
    // release: partner of the waiter's acquire. From here on the waiter may be gone; the wake-up needs only its address.
    const bool sleeps = !waiter.awaited;
    waiter.state.exchange(outcome, sync::memory_order_release);
    if (sleeps)
        sync::wake_one(waiter.state);
    return true;
}

}  // namespace sluice::detail
