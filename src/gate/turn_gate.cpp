// The public face: everything is GateState's.

#include "gate/gate_state.hpp"

#include <algorithm>
#include <utility>

namespace sluice {

TurnGate::TurnGate(const TurnGateConfig& config) {
    auto state = detail::GateState::make(config);
    if (!state)
        throw Exception(std::move(state).error());
    state_ = *state;
}

Result<TurnGate> TurnGate::create(const TurnGateConfig& config) {
    auto state = detail::GateState::make(config);
    if (!state)
        return std::unexpected(std::move(state).error());
    return TurnGate(*state);
}

void TurnGate::close() noexcept {
    if (state_ != nullptr)
        std::exchange(state_, nullptr)->close();
}

TurnTicket TurnGate::try_admit() noexcept {
    return state_->try_admit();
}
Submitted TurnGate::submit(TurnRequest request) {
    return state_->submit(std::move(request));
}
Result<TurnTicket> TurnGate::wait(std::string_view session, std::stop_token stop) {
    return state_->wait(session, stop);
}
bool TurnGate::leave(TurnPlace place) noexcept {
    return state_->leave(place);
}
std::size_t TurnGate::cancel_session(std::string_view session) noexcept {
    return state_->cancel_session(session);
}
std::size_t TurnGate::expire_stale() noexcept {
    return state_->expire_stale();
}
void TurnGate::note_rate_limit(std::chrono::nanoseconds retry_after) noexcept {
    state_->note_rate_limit(retry_after);
}
void TurnGate::note_success() noexcept {
    state_->note_success();
}
std::optional<std::string_view> TurnGate::paused_because() const noexcept {
    if (state_->pause_left() <= 0)
        return std::nullopt;
    return "provider backoff";
}
std::chrono::nanoseconds TurnGate::backoff_remaining() const noexcept {
    return std::chrono::nanoseconds(std::max<std::int64_t>(0, state_->pause_left()));
}
Result<SessionPermit> TurnGate::reserve_session() {
    return state_->reserve_session();
}
std::string TurnGate::session_refused_reason() const {
    return state_->session_refused_reason();
}
void TurnGate::shutdown() noexcept {
    state_->shutdown();
}
TurnGateSnapshot TurnGate::snapshot() const noexcept {
    return state_->snapshot();
}
std::uint32_t TurnGate::limit() const noexcept {
    return state_->cap();
}
const EffectiveTurnConfig& TurnGate::config() const noexcept {
    return state_->config();
}

bool TurnTicket::release() noexcept {
    detail::GateState* const gate = std::exchange(gate_, nullptr);
    if (gate == nullptr)
        return false;
    gate->release(started_at_);
    return true;
}

bool TurnTicket::abandon() noexcept {
    started_at_ = detail::GateState::unmeasured;
    return release();
}

bool SessionPermit::release() noexcept {
    detail::GateState* const gate = std::exchange(gate_, nullptr);
    if (gate == nullptr)
        return false;
    gate->release_session();
    return true;
}

}  // namespace sluice
