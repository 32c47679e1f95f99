#pragma once

// A turn gate, from the inside. One block of memory: this object, its waiters and its line, taken when the gate is made.
//
// Roles. *Caller*: any thread inside a member function of the gate, or inside a ticket's or permit's release. *Holder*: the caller
// that has the baton; it alone touches the line. *Courier* of a waiter: the caller that tells it things. *Closer*: whoever destroys the gate.
//
// Admission is decided on `word_` (core/words/gate_word.hpp). With nobody waiting that is all there is. With waiters:
//   whoever makes room, or takes a waiter out by its word (core/words/waiter_word.hpp), asks for the baton afterwards
//   the holder takes in who joined, takes out who left, tells the new positions, grants while there is room, tells positions
//   and having put the baton down it calls the callbacks of those waiters that it became the courier of
// Invariant (nothing idle): if somebody waits, there is room and no pause, then some caller is between making that so and asking, or
// the baton is held by somebody who will look again (sync/baton.hpp).
//
// Callbacks. A caller that is inside a callback of the same gate already (a *frame* is on its stack) leaves what it has to tell to
// that frame, so callbacks never nest, however many turns end inside them.
//
// Memory. `refs_` counts: the gate itself; all tickets together; each session permit, set timer, queued TurnWait and *visit*. A visit is a caller that may ask
// for the baton. The last ticket after the gate's end drops the tickets' share: `deserted` and in_flight == 0 in the word. So a ticket
// costs no count of its own. `inside_` counts visits alone; the closer waits until only its own are left.

#include "core/gate_backoff.hpp"
#include "core/gate_limit.hpp"
#include "core/gate_line.hpp"
#include "core/gate_pacing.hpp"
#include "core/words/gate_word.hpp"
#include "core/words/waiter_word.hpp"
#include "core/words/window_word.hpp"
#include "gate/waiter.hpp"
#include "sync/atomic.hpp"
#include "sync/baton.hpp"
#include "sync/cache_line.hpp"
#include "sync/permits.hpp"
#include "sync/tagged_stack.hpp"

#include <sluice/turn_gate.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <stop_token>

namespace sluice::detail {

/// Rare events, added to by any thread. The first four are those of waiters that came to an outcome: counted before the word
/// says that one less waits, so that a snapshot never sees more outcomes than waiters (snapshot.cpp).
struct GateCounts {
    enum Index : std::uint8_t {
        admitted_from_queue,
        cancelled,
        expired,
        shut_down,
        rejected_full,
        rejected_session_full,
        rejected_shut_down,
        rejected_invalid,
        sessions_refused,
        rate_limits,
        callbacks_threw,
    };
    static constexpr std::size_t outcomes = 4;
    std::array<sync::atomic<std::uint64_t>, 11> values{};

    void add(Index index, std::uint64_t count = 1) noexcept {
        // Release: partner of the acquires in GateState::snapshot(). The word's CAS after it carries it along, too.
        values[index].fetch_add(count, sync::memory_order_release);
    }
    [[nodiscard]] std::uint64_t get(std::size_t index) const noexcept {
        return values[index].load(sync::memory_order_acquire);  // partner of the release in add()
    }
};

class GateState {
public:
    /// **Errors**: `out_of_memory`, `invalid_argument`.
    [[nodiscard]] static Result<GateState*> make(const TurnGateConfig& config);

    // admit.cpp
    [[nodiscard]] TurnTicket try_admit() noexcept;
    [[nodiscard]] Submitted submit(TurnRequest&& request);
    /// `started_at`: when the turn began, or `unmeasured`.
    void release(std::int64_t started_at) noexcept;
    static constexpr std::int64_t unmeasured = std::numeric_limits<std::int64_t>::min();

    // leaving.cpp
    bool leave(TurnPlace place) noexcept;
    /// As leave(), and its callbacks are destroyed: none of them will be called. Not for a turn that listens for positions.
    [[nodiscard]] bool take_back(TurnPlace place) noexcept;
    std::size_t cancel_session(std::string_view session) noexcept;
    std::size_t expire_stale() noexcept;

    // wait.cpp
    [[nodiscard]] Result<TurnTicket> wait(std::string_view session, const std::stop_token& stop);
    /// Without memory, the code only.
    [[nodiscard]] static Error outcome_error(core::WaiterPhase outcome) noexcept;

    /// A reference, for a wait that may outlive the gate. From one that is held, or inside a call of the gate.
    void add_ref() noexcept {
        refs_.fetch_add(1, sync::memory_order_relaxed);  // relaxed: from a reference that is held
    }
    void unref() noexcept;

    // pause.cpp
    void note_rate_limit(std::chrono::nanoseconds retry_after) noexcept;
    void note_success() noexcept;
    [[nodiscard]] std::int64_t pause_left() const noexcept;

    // sessions.cpp
    [[nodiscard]] Result<SessionPermit> reserve_session();
    [[nodiscard]] std::string session_refused_reason() const;
    void release_session() noexcept;

    // lifetime.cpp
    void shutdown() noexcept;
    void close() noexcept;

    // snapshot.cpp
    [[nodiscard]] TurnGateSnapshot snapshot() const noexcept;
    [[nodiscard]] std::optional<std::chrono::nanoseconds> oldest_wait() const noexcept;

    [[nodiscard]] std::uint32_t cap() const noexcept {
        return cap_.load(sync::memory_order_acquire);  // partner of the release where the limit changes
    }
    [[nodiscard]] const EffectiveTurnConfig& config() const noexcept {
        return config_;
    }

    GateState(const GateState&) = delete;
    GateState& operator=(const GateState&) = delete;

private:
    class Visit;
    class TimerRef;
    struct Frame;
    struct Memory;

    GateState(const EffectiveTurnConfig& config, const Memory& memory) noexcept;
    ~GateState() = default;
    static Memory layout(const EffectiveTurnConfig& config) noexcept;

    // The word. `expected` is what it was found to be when the step fails.
    [[nodiscard]] core::GateWord word() const noexcept {
        // Acquire: partner of the release in step(); a decision rests on what lies beside the word as well.
        return {word_.load(sync::memory_order_acquire)};
    }
    [[nodiscard]] bool step(core::GateWord& expected, core::GateWord after) noexcept {
        // Release: whoever reads the new word sees what came before it. Acquire on both: as in word(). seq_cst where it
        // succeeds: joining and arming the sweep are one Dekker with the sweep's own look (timers.cpp).
        return word_.compare_exchange_weak(expected.bits, after.bits, sync::memory_order_seq_cst,
                                           sync::memory_order_acquire);
    }
    [[nodiscard]] core::Entry enter_now() noexcept;
    [[nodiscard]] bool may_count_ticket(core::GateWord word) noexcept;
    void bring_up_admitted() noexcept;
    void bring_up_joined() noexcept;
    void release_with_waiters(core::GateWord seen) noexcept;
    [[nodiscard]] TurnTicket ticket() noexcept {
        return {this, adaptive_ ? now() : 0};
    }

    // admit.cpp, the way into the line.
    [[nodiscard]] Submitted refuse(GateCounts::Index why, ErrorCode code, LimitHit limit,
                                   const char* sentence);
    [[nodiscard]] Submitted refuse_full(std::uint64_t waiting);
    [[nodiscard]] std::uint32_t take_waiter() noexcept;
    void fill(Waiter& waiter, TurnRequest&& request) noexcept;
    enum class Joined : std::uint8_t { yes, admitted, closed, full };
    [[nodiscard]] Joined join(std::uint32_t index, std::uint32_t& position) noexcept;
    [[nodiscard]] Submitted settle(std::uint32_t index, std::uint32_t position);
    void give_up(std::uint32_t index) noexcept;
    void free(std::uint32_t index) noexcept;

    // per_session.cpp
    [[nodiscard]] std::uint32_t count_session(std::uint32_t self) const noexcept;
    [[nodiscard]] bool enter_session(std::uint32_t index, std::uint32_t& count) noexcept;

    // line.cpp: the holder.
    void look(Mail& mail) noexcept;
    void round(Mail& mail) noexcept;
    [[nodiscard]] bool take_in() noexcept;
    [[nodiscard]] bool take_out() noexcept;
    void drop_all(Mail& mail) noexcept;
    [[nodiscard]] bool grant(Mail& mail, bool& moved) noexcept;
    void give_ticket(std::uint32_t index, Mail& mail) noexcept;
    void post_positions(Mail& mail) noexcept;
    void unlink(std::uint32_t index) noexcept;

    // leaving.cpp
    [[nodiscard]] bool drop(std::uint32_t index, core::WaiterWord seen, core::WaiterPhase outcome,
                            Mail& mail) noexcept;
    void have_left(std::uint32_t count, GateCounts::Index why, Mail& mail) noexcept;
    void sort(Mail& mail, bool newest_first) noexcept;

    // courier.cpp
    void add(Mail& mail, std::uint32_t index) noexcept;
    void deliver(Mail mail) noexcept;
    void run(Mail& mail) noexcept;
    void carry(std::uint32_t index) noexcept;
    void tell_outcome(TurnCalls& calls, core::WaiterPhase outcome) noexcept;
    [[nodiscard]] TurnCalls take_calls(std::uint32_t index) noexcept;
    void deliver_pending() noexcept;
    template <class Call>
    void guarded(Call&& call) noexcept;
    [[nodiscard]] Frame* frame_here() noexcept;
    [[nodiscard]] bool inside_callback() noexcept;

    // limit.cpp
    void turn_took(std::int64_t started_at) noexcept;
    void limit_lowered() noexcept;
    void adapt() noexcept;

    // pause.cpp, timers.cpp
    bool resume_if_over() noexcept;
    bool end_pause() noexcept;
    void arm_backoff() noexcept;
    void backoff_ran_out() noexcept;
    void arm_sweep() noexcept;
    void sweep() noexcept;
    [[nodiscard]] bool set_timer(sync::atomic<std::uint64_t>& slot, std::int64_t after,
                                 void (GateState::*call)()) noexcept;
    void clear_timers() noexcept;
    [[nodiscard]] std::int64_t now() const noexcept {
        return (config_.clock->now() - began_).count();
    }

    [[nodiscard]] auto links() noexcept {
        return [this](std::uint32_t index) -> sync::atomic<std::uint32_t>& { return waiters_[index].link; };
    }

    // What every admission touches. The laps change once in 16 admissions, so they may lie beside the word.
    alignas(sync::cache_line) sync::atomic<std::uint64_t> word_{core::GateWord{}.bits};
    sync::atomic<std::uint64_t> admitted_laps_{0};
    sync::atomic<std::uint64_t> joined_laps_{0};

    // Read by every admission, seldom written.
    alignas(sync::cache_line) sync::atomic<std::uint32_t> cap_;
    const bool adaptive_;
    const EffectiveTurnConfig config_;
    const core::BackoffRules backoff_rules_;
    const std::chrono::nanoseconds began_;
    std::pmr::memory_resource* const memory_;
    const std::size_t memory_size_;
    const std::span<Waiter> waiters_;

    // The line.
    alignas(sync::cache_line) sync::Baton baton_;
    sync::atomic<bool> somebody_left_{false};  // set by droppers, taken by the holder
    core::GateLine line_;                      // the holder's, and so is what follows
    std::uint32_t listeners_ = 0;              // in the line, with on_position_changed

    // Waiters that are free, and how many were ever in use.
    alignas(sync::cache_line) sync::TaggedStack free_;
    sync::atomic<std::uint32_t> used_{0};
    sync::atomic<std::uint64_t> numbers_{0};

    std::array<sync::atomic<std::uint64_t>, 64> session_versions_{};  // only with max_queued_per_session

    // The adaptive limit: the rule is its baton holder's, the words are added to by whoever ends a turn.
    alignas(sync::cache_line) sync::Baton limit_baton_;
    core::AdaptiveLimit limit_;
    sync::atomic<std::uint64_t> window_{0};
    sync::atomic<std::uint32_t> most_in_flight_{0};
    sync::atomic<bool> rate_limited_{false};

    // Everything else.
    alignas(sync::cache_line) sync::atomic<std::uint64_t> backoff_;
    sync::atomic<std::uint64_t> draws_{0};  // random numbers drawn for jitter
    sync::atomic<std::uint64_t> backoff_timer_{0};
    sync::atomic<std::uint64_t> sweep_timer_{0};
    sync::atomic<bool> sweep_armed_{false};
    sync::atomic<std::int64_t> last_start_at_{core::never_started};
    GateCounts counts_;
    sync::Permits sessions_;
    sync::atomic<std::uint32_t> refs_{2};  // the gate's and the tickets'
    sync::atomic<std::uint32_t> inside_{0};
};

/// A caller that may ask for the baton: keeps the gate's memory, and tells what is to be told when it ends.
class GateState::Visit {
public:
    explicit Visit(GateState& gate) noexcept;
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    ~Visit();

    Mail mail;

private:
    GateState& gate_;
};

}  // namespace sluice::detail
