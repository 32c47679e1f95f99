// Live sessions: permits, and starts that keep their distance.

#include "gate/gate_state.hpp"

#include <string>

namespace sluice::detail {

using sync::memory_order_acq_rel;
using sync::memory_order_acquire;

Result<SessionPermit> GateState::reserve_session() {
    if (word().closed())
        return std::unexpected(Error({.code = ErrorCode::shut_down, .message = "the gate is shut down"}));
    if (!sessions_.try_take()) {
        counts_.add(GateCounts::sessions_refused);
        return std::unexpected(
            Error({.code = ErrorCode::session_limit,
                   .message = session_refused_reason(),
                   .limit = {"max_live_sessions", config_.max_live_sessions, config_.max_live_sessions}}));
    }
    add_ref();
    const std::int64_t moment = now();
    std::int64_t last = last_start_at_.load(memory_order_acquire);
    core::PacedStart start;
    do {
        start = core::paced_start(last, moment, config_.start_interval.count());
        // Acquire and release: partners of each other, though the value is all there is to it.
    } while (!last_start_at_.compare_exchange_weak(last, start.last_start_at, memory_order_acq_rel,
                                                   memory_order_acquire));
    return SessionPermit(this, std::chrono::nanoseconds(start.wait_ns));
}

std::string GateState::session_refused_reason() const {
    return "the session limit of " + std::to_string(config_.max_live_sessions) +
           " is reached, so this one did not start";
}

void GateState::release_session() noexcept {
    sessions_.give_back();
    unref();
}

}  // namespace sluice::detail
