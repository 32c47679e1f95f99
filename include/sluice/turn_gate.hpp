// The turn gate: how many at once against a provider that may push back, and in which order the others wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

#include <sluice/error.hpp>
#include <sluice/turn_config.hpp>
#include <sluice/turn_snapshot.hpp>
#include <sluice/turn_ticket.hpp>
#include <sluice/turn_wait.hpp>

namespace sluice {

/// A turn that is worth waiting for, and what is to be called while it waits. Exactly one of the first three is called, at most
/// once, after submit() has returned that the turn is queued; each may be empty.
///
/// **Thread**: a thread that calls the gate or releases a ticket, or the clock's. Callbacks of one turn come one after the other. They
/// may call the gate; what they cause is told after they return. **Errors**: what a callback throws is counted and
/// goes no further; a ticket that it held is released.
struct TurnRequest {
    /// Whose turn: what cancel_session() and round robin go by. At most 120 characters.
    std::string_view session = {};
    /// The turn may begin. Without it the ticket is released at once.
    std::move_only_function<void(TurnTicket)> on_admitted = nullptr;
    /// It waited for max_queue_wait or longer; says `deadline_exceeded`.
    std::move_only_function<void(const Error&)> on_expired = nullptr;
    /// It left the queue: `cancelled` or `shut_down`.
    std::move_only_function<void(const Error&)> on_dropped = nullptr;
    /// Its place has changed: 1 is next. Told in order, never one that is older than what was told before (T7).
    std::move_only_function<void(std::size_t)> on_position_changed = nullptr;
};

/// The turn waits.
struct Queued {
    std::size_t position = 0;  ///< 1 is next
    TurnPlace place;
};

/// What became of a submission: a ticket, a place in the queue, or why not.
using Submitted = std::variant<TurnTicket, Queued, Error>;

/// Bounds turns in flight and live sessions, lets the rest wait in order and tells each its place, and stops everybody while the
/// provider asks for it. `docs/guide/turn_gate.md` shows how to use it.
///
/// **Thread**: every member function from any thread at any time, but destruction and moving, which need the caller's own
/// order. Tickets and permits may be released at any time, also meanwhile and afterwards. **Memory**: all of it is taken when the gate
/// is made. **When not to use it**: to bound work inside a process (a pool does that), or across processes.
class SLUICE_API TurnGate {
public:
    /// **Errors**: throws Exception (`invalid_argument`, naming field, value and range; `out_of_memory`).
    explicit TurnGate(const TurnGateConfig& config = {});
    /// As the constructor, with the error as a value.
    [[nodiscard]] static Result<TurnGate> create(const TurnGateConfig& config = {});

    /// A gate that was moved from can be destroyed or assigned to, and nothing else.
    TurnGate(TurnGate&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    TurnGate& operator=(TurnGate&& other) noexcept {
        if (this != &other) {
            close();
            state_ = std::exchange(other.state_, nullptr);
        }
        return *this;
    }
    /// shutdown(), and then waits until no callback of this gate runs any more, but for those around this call (T14).
    ~TurnGate() {
        close();
    }

    /// A ticket, if there is room now, no backoff is on and nobody waits (T2); else none. Never queues.
    /// **Progress**: lock-free. **Cost**: one read-modify-write; no lock, no allocation, no system call (T13).
    [[nodiscard]] TurnTicket try_admit() noexcept;

    /// A ticket, or a place in the queue, or an error: `queue_full` naming the bound, `shut_down`, `invalid_argument`.
    /// **Progress**: lock-free. **Memory**: none unless it is refused.
    [[nodiscard]] Submitted submit(TurnRequest request);

    /// submit(), and then waits here for the outcome (T15). **Progress**: blocks. **Errors**: those of submit();
    /// `deadline_exceeded`, `cancelled` when the stop is requested or the session cancelled, `shut_down`; `would_deadlock`
    /// instead of waiting inside a callback of this gate.
    [[nodiscard]] Result<TurnTicket> wait(std::string_view session = {}, std::stop_token stop = {});

    /// `Result<TurnTicket> turn = co_await gate.turn(session, stop);`: submit() for a coroutine, which holds no thread meanwhile
    /// (T15). Also `.resume_on(post)`, and sluice::async_wait() or async_turn() in a program of Asio. Nothing is asked
    /// for before it is awaited; `session` must stay until then.
    ///
    /// **Thread**: the coroutine goes on where its outcome came about, as TurnRequest's callbacks do: where a ticket was
    /// released, where the stop was requested, or on the clock's thread. Go on elsewhere with resume_on(), and do so for
    /// whatever takes long: whoever made room waits for it. **Errors**: those of wait(), but `would_deadlock`.
    /// **Memory**: none; what waits lies in the coroutine's frame. **Cost**: a ticket that is there suspends nothing.
    [[nodiscard("a turn is asked for when it is awaited")]] TurnWait turn(std::string_view session = {},
                                                                          std::stop_token stop = {}) noexcept;

    /// One waiting turn leaves the queue; false: it does not wait any more. **Progress**: lock-free.
    bool leave(TurnPlace place) noexcept;
    /// All waiting turns of a session leave the queue; returns how many (T8). One whose submit() has not returned yet is not
    /// among them. **Cost**: O(max_queue_length).
    std::size_t cancel_session(std::string_view session) noexcept;
    /// All that waited for max_queue_wait or longer leave the queue, and are told so newest first; returns how many (T9).
    std::size_t expire_stale() noexcept;

    /// The provider said "too many": nobody is admitted for a while (T10). During a pause the pause doubles. The provider's own
    /// figure counts if it is longer.
    void note_rate_limit(std::chrono::nanoseconds retry_after = {}) noexcept;
    /// A turn went well: outside a pause, the next one becomes shorter again. **Cost**: a load, mostly.
    void note_success() noexcept;
    /// Why nobody is admitted now, in words; empty if that is not so.
    [[nodiscard]] std::optional<std::string_view> paused_because() const noexcept;
    [[nodiscard]] std::chrono::nanoseconds backoff_remaining() const noexcept;

    /// Takes a place for a live session (T11), or says which bound it met (`queue_full`).
    [[nodiscard]] Result<SessionPermit> reserve_session();
    /// The sentence that a refused session is told.
    [[nodiscard]] std::string session_refused_reason() const;

    /// Stops the timers and drops those who wait, telling them `shut_down` (T14). Later submissions are refused with it.
    void shutdown() noexcept;

    /// The gate at one moment (T18, T19). **Progress**: lock-free. **Cost**: O(max_queue_length), for the oldest wait.
    [[nodiscard]] TurnGateSnapshot snapshot() const noexcept;
    /// Turns that may be in flight now: what the adaptive limit has come to (T17), else max_concurrent_turns.
    [[nodiscard]] std::uint32_t limit() const noexcept;
    [[nodiscard]] const EffectiveTurnConfig& config() const noexcept;

private:
    explicit TurnGate(detail::GateState* state) noexcept : state_(state) {}
    void close() noexcept;

    detail::GateState* state_ = nullptr;
};

}  // namespace sluice
