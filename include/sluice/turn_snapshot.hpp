// What a turn gate tells of itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace sluice {

/// Turns that submit() refused, by reason.
struct TurnsRejected {
    std::uint64_t queue_full = 0;          ///< max_queue_length
    std::uint64_t session_queue_full = 0;  ///< max_queued_per_session
    std::uint64_t shut_down = 0;
    std::uint64_t invalid = 0;  ///< a session's name that is too long
    [[nodiscard]] std::uint64_t total() const noexcept {
        return queue_full + session_queue_full + shut_down + invalid;
    }
};

/// A gate at one moment. In every snapshot `admitted == released + in_flight`, `in_flight` was never above the limit that was
/// in force when the last of them was admitted, and `queued == left_queue() + waiting` (T19).
struct TurnGateSnapshot {
    std::uint64_t in_flight = 0;
    std::uint64_t admitted = 0;  ///< tickets given in all
    std::uint64_t released = 0;
    std::uint64_t limit = 0;  ///< turns that may be in flight

    std::uint64_t waiting = 0;
    std::uint64_t queued = 0;  ///< turns that ever waited
    std::uint64_t admitted_from_queue = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t expired = 0;
    std::uint64_t shut_down = 0;  ///< dropped by shutdown()
    /// Those that ever waited and wait no more.
    [[nodiscard]] std::uint64_t left_queue() const noexcept {
        return admitted_from_queue + cancelled + expired + shut_down;
    }
    /// Age of the turn that has waited longest, if any waits.
    std::optional<std::chrono::nanoseconds> oldest_wait;

    TurnsRejected rejected;
    std::uint64_t live_sessions = 0;
    std::uint64_t sessions_refused = 0;
    std::uint64_t rate_limits = 0;  ///< calls of note_rate_limit()
    std::chrono::nanoseconds backoff_remaining{0};
    std::uint64_t callbacks_threw = 0;
};

}  // namespace sluice
