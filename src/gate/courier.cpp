// Telling waiters what happened. No baton is held here, so callbacks may take their time and may call the gate.

#include "gate/gate_state.hpp"

#include <utility>

namespace sluice::detail {

using core::CourierStep;
using core::CourierTask;
using core::WaiterPhase;
using core::WaiterTask;
using core::WaiterWord;
using sync::memory_order_acq_rel;
using sync::memory_order_acquire;

/// On the stack of a thread that is telling: what else it has to tell, of this gate.
struct GateState::Frame {
    GateState* gate;
    Mail mail;
    Frame* outer;
    static thread_local Frame* innermost;
};
constinit thread_local GateState::Frame* GateState::Frame::innermost = nullptr;

GateState::Frame* GateState::frame_here() noexcept {
    Frame* frame = Frame::innermost;
    while (frame != nullptr && frame->gate != this)
        frame = frame->outer;
    return frame;
}

bool GateState::inside_callback() noexcept {
    return frame_here() != nullptr;
}

void GateState::add(Mail& mail, std::uint32_t index) noexcept {
    waiters_[index].next_mail = Mail::none;
    (mail.empty() ? mail.first : waiters_[mail.last].next_mail) = index;
    mail.last = index;
}

void GateState::deliver(Mail mail) noexcept {
    if (mail.empty())
        return;
    if (Frame* frame = frame_here()) {
        (frame->mail.empty() ? frame->mail.first : waiters_[frame->mail.last].next_mail) = mail.first;
        frame->mail.last = mail.last;
        return;
    }
    Frame frame{this, mail, Frame::innermost};
    Frame::innermost = &frame;
    run(frame.mail);
    Frame::innermost = frame.outer;
}

/// The gate ends inside one of its callbacks: what the frame still has to tell is told now.
void GateState::deliver_pending() noexcept {
    if (Frame* frame = frame_here())
        run(frame->mail);
}

void GateState::run(Mail& mail) noexcept {
    while (!mail.empty()) {
        const std::uint32_t index = mail.first;
        mail.first = waiters_[index].next_mail;
        carry(index);
    }
}

void GateState::carry(std::uint32_t index) noexcept {
    Waiter& waiter = waiters_[index];
    WaiterWord seen{waiter.word.load(memory_order_acquire)};
    for (;;) {
        const CourierStep next = core::collected(seen);
        if (next.task == CourierTask::outcome)
            break;
        // Acquire: what belongs to the news. Release: the callbacks that were made come before the next courier's.
        if (!waiter.word.compare_exchange_weak(seen.bits, next.after.bits, memory_order_acq_rel,
                                               memory_order_acquire))
            continue;
        if (next.task == CourierTask::rest)
            return;
        // It may have changed and changed back before anybody came to tell it: then there is no news (T7).
        const std::uint32_t position = seen.position();
        if (std::exchange(waiter.told, position) != position && waiter.calls.on_position_changed)
            guarded([&] { waiter.calls.on_position_changed(position); });
        seen = WaiterWord{waiter.word.load(memory_order_acquire)};
    }
    const WaiterPhase outcome = seen.phase();
    TurnCalls calls = take_calls(index);
    tell_outcome(calls, outcome);
}

// The waiter's memory is free for the next one before its owner hears how it ended: that may take long.
TurnCalls GateState::take_calls(std::uint32_t index) noexcept {
    Waiter& waiter = waiters_[index];
    TurnCalls calls = std::move(waiter.calls);
    waiter.calls = {};
    WaiterWord seen{waiter.word.load(memory_order_acquire)};
    for (;;) {
        const core::WaiterStep next = core::delivered(seen);
        // Release: the calls are out before whoever frees it hands the waiter on. Acquire: partner of unlink()'s release.
        if (waiter.word.compare_exchange_weak(seen.bits, next.after.bits, memory_order_acq_rel,
                                              memory_order_acquire)) {
            if (next.task == WaiterTask::free)
                free(index);
            return calls;
        }
    }
}

void GateState::tell_outcome(TurnCalls& calls, WaiterPhase outcome) noexcept {
    if (outcome == WaiterPhase::granted) {
        TurnTicket granted = ticket();  // released here if nobody wants it, or by the callback that throws
        if (calls.on_admitted)
            guarded([&] { calls.on_admitted(std::move(granted)); });
    } else if (outcome == WaiterPhase::expired) {
        if (calls.on_expired)
            guarded([&] { calls.on_expired(outcome_error(outcome)); });
    } else if (calls.on_dropped) {
        guarded([&] { calls.on_dropped(outcome_error(outcome)); });
    }
    guarded([&] { calls = {}; });  // closures may throw from nowhere else
}

template <class Call>
void GateState::guarded(Call&& call) noexcept {
    try {
        call();
    } catch (...) {
        counts_.add(GateCounts::callbacks_threw);
    }
}

// noexcept: a waiter whose error could not be put into words would wait for ever.
Error GateState::outcome_error(WaiterPhase outcome) noexcept {
    ErrorCode code = ErrorCode::cancelled;
    const char* sentence = "the turn was cancelled while it waited";
    if (outcome == WaiterPhase::expired) {
        code = ErrorCode::deadline_exceeded;
        sentence = "the turn waited for max_queue_wait, so it was dropped from the queue";
    } else if (outcome == WaiterPhase::shut_down) {
        code = ErrorCode::shut_down;
        sentence = "the gate was shut down while the turn waited";
    }
    try {
        return Error({.code = code, .message = sentence});
    } catch (...) {
        return Error({.code = code});
    }
}

}  // namespace sluice::detail
