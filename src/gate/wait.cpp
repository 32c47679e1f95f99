// Waiting as code, on top of the callbacks: a place on the waiter's stack, and a parker; or a place in a coroutine's frame,
// and a continuation.

#include "gate/gate_state.hpp"
#include "sync/parker.hpp"

#include <new>
#include <optional>
#include <utility>
#include <variant>

namespace sluice::detail {

Result<TurnTicket> GateState::wait(std::string_view session, const std::stop_token& stop) {
    if (enter_now() == core::Entry::admit)
        return ticket();
    if (stop.stop_requested())
        return std::unexpected(outcome_error(core::WaiterPhase::cancelled));
    if (inside_callback())
        return std::unexpected(
            Error({.code = ErrorCode::would_deadlock,
                   .message = "a callback of the gate cannot wait for the gate: what it caused is told after "
                              "it returns"}));
    // Written by the courier before it unparks, read by this thread after it parked.
    struct Outcome {
        sync::Parker parker;
        std::optional<Result<TurnTicket>> result;
        void is(Result<TurnTicket> given) {
            result.emplace(std::move(given));
            parker.unpark();
        }
    } outcome;
    Submitted submitted = submit({
        .session = session,
        .on_admitted = [&outcome](TurnTicket granted) { outcome.is(std::move(granted)); },
        .on_expired = [&outcome](const Error& error) { outcome.is(std::unexpected(error)); },
        .on_dropped = [&outcome](const Error& error) { outcome.is(std::unexpected(error)); },
    });
    if (auto* granted = std::get_if<TurnTicket>(&submitted))
        return std::move(*granted);
    if (auto* error = std::get_if<Error>(&submitted))
        return std::unexpected(std::move(*error));
    const TurnPlace place = std::get<Queued>(submitted).place;
    // Called at once if the stop was requested meanwhile. Its destructor waits for a call that is being made.
    const std::stop_callback leave_on_stop(stop, [this, place] { leave(place); });
    outcome.parker.park();
    return *std::move(outcome.result);
}

}  // namespace sluice::detail

namespace sluice {

using sync::memory_order_acq_rel;
using sync::memory_order_acquire;

TurnWait TurnGate::turn(std::string_view session, std::stop_token stop) noexcept {
    return {state_, session, std::move(stop)};
}

// The stop callback goes first, which waits for a call of it that another thread makes: the gate's memory is needed there.
TurnWait::~TurnWait() {
    leave_on_stop_.reset();
    if (queued_)
        gate_->unref();
}

// False: the outcome is there, and nobody will call the continuation. True: by now this may be gone.
bool TurnWait::attach(detail::Continuation& continuation) noexcept {
    continuation_ = &continuation;
    if (stop_.stop_requested()) {
        TurnTicket at_once = gate_->try_admit();
        if (at_once)
            outcome_.emplace(std::move(at_once));
        else
            outcome_.emplace(std::unexpect, detail::GateState::outcome_error(core::WaiterPhase::cancelled));
        return false;
    }
    try {
        Submitted submitted = gate_->submit({
            .session = session_,
            .on_admitted = [this](TurnTicket granted) { tell(std::move(granted)); },
            .on_expired = [this](const Error& error) { tell(std::unexpected(error)); },
            .on_dropped = [this](const Error& error) { tell(std::unexpected(error)); },
        });
        if (auto* granted = std::get_if<TurnTicket>(&submitted)) {
            outcome_.emplace(std::move(*granted));
            return false;
        }
        if (auto* error = std::get_if<Error>(&submitted)) {
            outcome_.emplace(std::unexpect, std::move(*error));
            return false;
        }
        place_ = std::get<Queued>(submitted).place;
    } catch (const std::bad_alloc&) {  // a refusal that could not be put into words
        outcome_.emplace(std::unexpect, Error({.code = ErrorCode::out_of_memory}));
        return false;
    }
    gate_->add_ref();
    queued_ = true;
    if (stop_.stop_possible())
        leave_on_stop_.emplace(stop_,
                               LeaveOnStop{this});  // called at once if the stop was requested meanwhile
    std::uint32_t before = attaching;
    // Release: partner of the acquire in tell(), which hands this on to who resumes. Acquire on failure: the outcome.
    return phase_.compare_exchange_strong(before, waiting, memory_order_acq_rel, memory_order_acquire);
}

// The courier's, once. If attach() has not come to its end, it finds that this is over, and nothing is left to call.
void TurnWait::tell(Result<TurnTicket> outcome) noexcept {
    outcome_.emplace(std::move(outcome));
    // Release: partner of attach()'s acquire. Acquire: of its release; what the coroutine has left is whole.
    if (phase_.exchange(ended, memory_order_acq_rel) == waiting)
        detail::run_continuation(*continuation_);
}

void TurnWait::LeaveOnStop::operator()() const noexcept {
    // The place is a copy: this may be gone as soon as the turn has left.
    const TurnPlace place = wait->place_;
    wait->gate_->leave(place);
}

bool TurnWait::take_back_continuation() noexcept {
    // Acquire: partner of the release in tell().
    if (phase_.load(memory_order_acquire) == ended || !gate_->take_back(place_))
        return false;
    outcome_.emplace(std::unexpect, detail::GateState::outcome_error(core::WaiterPhase::cancelled));
    return true;
}

Result<TurnTicket> TurnWait::take_ready() noexcept {
    if (!outcome_)
        return Result<TurnTicket>(std::unexpect, Error({.code = ErrorCode::no_state}));
    return *std::move(outcome_);
}

}  // namespace sluice
