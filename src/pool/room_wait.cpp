// Waiting for room without a thread: a line's waiter in a coroutine's frame.
//
// The closure is in its slot before the wait begins, so who admits the item queues it as well, and it runs however late the
// coroutine goes on. The order in settle() is what lets both the frame and the pool go: the item is queued or its slot is free; the
// phase says so; the stop callback is gone, which waits for a call of it by another thread; `inside_line_` is given back.
// After that neither is touched but for the continuation, and that is called by a thread that has left the pool for good
// (ContinuationsHeld), or is inside a call that keeps it.

#include "pool/pool.hpp"

#include <utility>

namespace sluice::detail {

using core::Verdict;
using sync::memory_order_acq_rel;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

namespace {

/// Without memory for the words, the code only.
Error late_refusal(ErrorCode code, std::string_view call_id, const char* sentence) noexcept {
    try {
        return Error({.code = code, .request_id = call_id, .message = sentence});
    } catch (...) {
        return Error({.code = code});
    }
}

Error withdrawn(std::string_view call_id) noexcept {
    return late_refusal(ErrorCode::cancelled, call_id, "a stop was requested while the item waited for room");
}

}  // namespace

void RoomWait::refuse(Error error) noexcept {
    outcome_.emplace(std::unexpect, std::move(error));
}

void* RoomWait::reserve(const ItemRequest& request, const std::stop_token& stop) noexcept {
    if (stop.stop_requested()) {
        pool_.other_refusals_.fetch_add(1, memory_order_relaxed);  // a count
        refuse(withdrawn(request.meta->call_id));
        return nullptr;
    }
    try {
        if (Error refusal; pool_.out_of_range(request, refusal)) {
            refuse(std::move(refusal));
            return nullptr;
        }
    } catch (...) {
        refuse(Error({.code = ErrorCode::invalid_argument}));
        return nullptr;
    }
    slot = pool_.take_slot(request);
    if (slot == nullptr) {
        pool_.other_refusals_.fetch_add(1, memory_order_relaxed);  // a count
        refuse(Error({.code = ErrorCode::out_of_memory, .request_id = request.meta->call_id}));
        return nullptr;
    }
    pool_.fill(*slot, request);
    lane = slot->lane;
    bytes = slot->bytes;
    return slot->payload;
}

bool RoomWait::enter(const ItemRequest& request, std::stop_token stop, Continuation& continuation) noexcept {
    // Those of others, whom serve_room() may let in on the way, are called after this has come to its end.
    const ContinuationsHeld held;
    Pool& pool = pool_;
    pool.inside_line_.fetch_add(1);
    core::PoolRecord record;
    const auto step = [&](core::PoolRecord& r) {
        verdict = r.admit(pool.limits_, lane, bytes);
        return verdict == Verdict::admitted;
    };
    (void)pool.ledger_.change(pool.records(), pool.record_words_, record, slot->scratch, step,
                              [] { return sync::Ledger::nil; });
    if (verdict == Verdict::admitted) {
        pool.commit(*slot);
        outcome_.emplace(PoolItemRef(slot));
    } else if (verdict < Verdict::total) {
        try {
            refuse(pool.refusal_of(request, verdict, record));
        } catch (...) {
            refuse(Error({.code = ErrorCode::out_of_memory}));
        }
        pool.take_apart(*slot);
    } else {
        awaited = true;
        continuation_ = &continuation;
        pool.room_.arrive(*this);
        if (stop.stop_possible())
            leave_on_stop_.emplace(std::move(stop), LeaveOnStop{this});  // called at once if it was requested
        pool.serve_room();
        std::uint32_t before = attaching;
        // Release: partner of settle()'s acquire, what is here is whole. Acquire on failure: of its release, the outcome.
        if (phase_.compare_exchange_strong(before, suspended, memory_order_acq_rel, memory_order_acquire))
            return true;
        leave_on_stop_.reset();
    }
    pool.inside_line_.fetch_sub(1);
    return false;
}

Continuation* RoomWait::settle() noexcept {
    Pool& pool = pool_;
    if (verdict == Verdict::admitted) {
        pool.commit(*slot);
        outcome_.emplace(PoolItemRef(slot));
    } else {
        const auto names = slot->has_names ? slot->names.get() : sync::NamePair::Copy{};
        if (verdict == Verdict::closed) {
            pool.lanes_[lane]->refused[static_cast<std::size_t>(verdict)].fetch_add(1, memory_order_relaxed);
            refuse(late_refusal(ErrorCode::shut_down, names.first(), "the pool is shut down"));
        } else {
            pool.other_refusals_.fetch_add(1, memory_order_relaxed);  // a count, as above
            refuse(withdrawn(names.first()));
        }
        pool.take_apart(*slot);
    }
    // Release: partner of the acquires in enter(), take_back(), and of who resumes. Acquire: of enter()'s release.
    const std::uint32_t before = phase_.exchange(ended, memory_order_acq_rel);
    if (before == attaching)
        return nullptr;  // enter() finds it, and has the rest to do
    leave_on_stop_.reset();
    Continuation* const continuation = continuation_;
    if (before == taken_back) {
        phase_.store(finished, memory_order_release);  // partner: the acquire in take_back()
        sync::wake_all(phase_);                        // needs no more than the address
        return nullptr;
    }
    pool.inside_line_.fetch_sub(1);
    return continuation;
}

// Once the state says so, every holder lets it go: so whoever had the baton is asked again.
void RoomWait::leave() noexcept {
    std::uint32_t expected = waiting;
    // relaxed: the baton brings it to the holder. Failure: the wait is over, or ends already.
    if (state.compare_exchange_strong(expected, leaving, memory_order_relaxed))
        pool_.serve_room();
}

// The wait's own count of `inside_line_` keeps the pool until settle() has waited for this call, but not if this very thread is
// inside settle(); hence one more.
void RoomWait::LeaveOnStop::operator()() const noexcept {
    const ContinuationsHeld held;  // the coroutine goes on after the last touch of the pool
    Pool& pool = wait->pool_;
    pool.inside_line_.fetch_add(1);
    wait->leave();
    pool.inside_line_.fetch_sub(1);
}

bool RoomWait::take_back() noexcept {
    const ContinuationsHeld held;
    std::uint32_t before = suspended;
    // Acquire: partner of settle()'s release. From here on the count of `inside_line_` is this thread's.
    if (!phase_.compare_exchange_strong(before, taken_back, memory_order_acq_rel, memory_order_acquire))
        return false;
    leave();
    for (std::uint32_t now = phase_.load(memory_order_acquire); now != finished;
         now = phase_.load(memory_order_acquire))
        sync::wait(phase_, now);
    pool_.inside_line_.fetch_sub(1);
    return true;
}

Result<PoolItemRef> RoomWait::take() noexcept {
    if (!outcome_)
        return Result<PoolItemRef>(std::unexpect, Error({.code = ErrorCode::no_state}));
    return *std::exchange(outcome_, std::nullopt);
}

}  // namespace sluice::detail
