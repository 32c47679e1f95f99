// Waiting as code, on top of the callbacks: a place on the waiter's stack, and a parker.

#include "gate/gate_state.hpp"
#include "sync/parker.hpp"

#include <optional>
#include <utility>

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
