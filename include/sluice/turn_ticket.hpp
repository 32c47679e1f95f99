// What a turn gate hands out: a ticket for one turn, a place in its queue, a permit for one session.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <sluice/detail/export.hpp>

namespace sluice {

namespace detail {
class GateState;
}

/// One turn in flight. Gives its place to the next one when it is released or destroyed, whichever comes first (T5).
///
/// Move-only. May outlive its gate; releasing it then tells nobody, and is harmless.
///
/// **Thread**: one at a time per ticket. **Memory**: none of its own.
class [[nodiscard("a ticket that is dropped is released at once")]] TurnTicket {
public:
    /// No ticket.
    TurnTicket() noexcept = default;
    TurnTicket(TurnTicket&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), started_at_(other.started_at_) {}
    TurnTicket& operator=(TurnTicket&& other) noexcept {
        if (this != &other) {
            release();
            gate_ = std::exchange(other.gate_, nullptr);
            started_at_ = other.started_at_;
        }
        return *this;
    }
    ~TurnTicket() {
        if (gate_ != nullptr)
            release();
    }

    /// Whether this is a ticket that has not been released.
    [[nodiscard]] explicit operator bool() const noexcept {
        return gate_ != nullptr;
    }

    /// Ends the turn; those who wait are admitted while there is room, and their callbacks run on this thread (T6). False: this is
    /// no ticket (any more), and nothing was changed.
    /// **Progress**: lock-free, but for callbacks. **Cost**: one read-modify-write when nobody waits.
    SLUICE_API bool release() noexcept;
    /// As release(), but the time of the turn says nothing: it failed, or was cut short. An adaptive limit does not learn from it.
    SLUICE_API bool abandon() noexcept;

private:
    friend class detail::GateState;
    TurnTicket(detail::GateState* gate, std::int64_t started_at) noexcept
        : gate_(gate), started_at_(started_at) {}

    detail::GateState* gate_ = nullptr;
    std::int64_t started_at_ = 0;  // only if the limit is adaptive
};

/// One waiting turn by name, for leave(). Plain data; harmless when the turn waits no more.
struct TurnPlace {
    std::uint32_t index = ~std::uint32_t{0};
    std::uint32_t generation = 0;
};

/// One live session (T11). Gives its place back when it is released or destroyed, whichever comes first.
///
/// Move-only. May outlive its gate. **Thread**: one at a time per permit.
class [[nodiscard("a permit that is dropped is given back at once")]] SessionPermit {
public:
    SessionPermit() noexcept = default;
    SessionPermit(SessionPermit&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), start_after_(other.start_after_) {}
    SessionPermit& operator=(SessionPermit&& other) noexcept {
        if (this != &other) {
            release();
            gate_ = std::exchange(other.gate_, nullptr);
            start_after_ = other.start_after_;
        }
        return *this;
    }
    ~SessionPermit() {
        if (gate_ != nullptr)
            release();
    }

    [[nodiscard]] explicit operator bool() const noexcept {
        return gate_ != nullptr;
    }
    /// How long to wait, counted from the reservation, before the session starts, so that starts are `start_interval` apart.
    [[nodiscard]] std::chrono::nanoseconds start_after() const noexcept {
        return start_after_;
    }
    /// Ends the session. False: this is no permit (any more). **Progress**: lock-free.
    SLUICE_API bool release() noexcept;

private:
    friend class detail::GateState;
    SessionPermit(detail::GateState* gate, std::chrono::nanoseconds start_after) noexcept
        : gate_(gate), start_after_(start_after) {}

    detail::GateState* gate_ = nullptr;
    std::chrono::nanoseconds start_after_{0};
};

}  // namespace sluice
