// The way in and out: who gets a ticket at once, who joins the line, and what giving a ticket back sets going.

#include "gate/gate_state.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace sluice::detail {

using core::AdmittedCount;
using core::Entry;
using core::GateWord;
using core::JoinedCount;
using core::WaiterPhase;
using core::WaiterWord;
using sync::memory_order_acq_rel;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

// ---- the word ------------------------------------------------------------------------------------------------------

// Steps on from n only while the word says that n is behind; so whoever comes too late with the same n fails.
void GateState::bring_up_admitted() noexcept {
    std::uint64_t laps = admitted_laps_.load(memory_order_acquire);
    if (AdmittedCount::behind(word().admitted(), laps) != 0)
        admitted_laps_.compare_exchange_strong(laps, laps + 1, memory_order_acq_rel, memory_order_relaxed);
}

void GateState::bring_up_joined() noexcept {
    std::uint64_t laps = joined_laps_.load(memory_order_acquire);
    if (JoinedCount::behind(word().joined(), laps) != 0)
        joined_laps_.compare_exchange_strong(laps, laps + 1, memory_order_acq_rel, memory_order_relaxed);
}

bool GateState::may_count_ticket(GateWord seen) noexcept {
    // Acquire: partner of the releases above; `seen` was read before, so the laps are not older than it.
    if (AdmittedCount::may_count(seen.admitted(), admitted_laps_.load(memory_order_acquire)))
        return true;
    bring_up_admitted();
    return false;
}

Entry GateState::enter_now() noexcept {
    GateWord seen = word();
    for (;;) {
        // The cap is read after the word that counts its changes (gate_word.hpp, epoch).
        const Entry answer = core::entry(seen, cap());
        if (answer == Entry::paused && resume_if_over()) {
            seen = word();
            continue;
        }
        if (answer != Entry::admit)
            return answer;
        const bool ends_lap = AdmittedCount::ends_lap(seen.admitted());
        if (ends_lap && !may_count_ticket(seen)) {
            seen = word();
            continue;
        }
        if (step(seen, core::one_admitted(seen))) {
            if (ends_lap)
                bring_up_admitted();
            return Entry::admit;
        }
    }
}

TurnTicket GateState::try_admit() noexcept {
    return enter_now() == Entry::admit ? ticket() : TurnTicket{};
}

void GateState::release(std::int64_t started_at) noexcept {
    if (adaptive_ && started_at != unmeasured)
        turn_took(started_at);
    // Relaxed: a first guess for the CAS. It is not older than the ticket.
    GateWord seen{word_.load(memory_order_relaxed)};
    do {
        if (seen.waiting() != 0) {
            release_with_waiters(seen);
            return;
        }
    } while (!step(seen, core::one_released(seen)));
    if (seen.deserted() && seen.in_flight() == 1)
        unref();  // the tickets' share
}

// The visit begins before the ticket is given back: afterwards nothing else would keep the gate's memory.
void GateState::release_with_waiters(GateWord seen) noexcept {
    {
        Visit visit(*this);
        while (!step(seen, core::one_released(seen))) {}
        if (seen.waiting() != 0)
            look(visit.mail);
    }
    if (seen.deserted() && seen.in_flight() == 1)
        unref();  // the tickets' share
}

// ---- the line ------------------------------------------------------------------------------------------------------

Submitted GateState::refuse(GateCounts::Index why, ErrorCode code, LimitHit limit, const char* sentence) {
    counts_.add(why);
    return Error(Error::Parts{.code = code, .message = sentence, .limit = limit});
}

Submitted GateState::refuse_full(std::uint64_t waiting) {
    return refuse(GateCounts::rejected_full, ErrorCode::queue_full,
                  {"max_queue_length", config_.max_queue_length, waiting},
                  "the queue of waiting turns is full, so this one was not accepted");
}

Submitted GateState::submit(TurnRequest&& request) {
    if (request.session.size() > SessionName::most)
        return refuse(GateCounts::rejected_invalid, ErrorCode::invalid_argument,
                      {"session", SessionName::most, request.session.size()},
                      "the session's name has too many characters");
    const Entry answer = enter_now();
    if (answer == Entry::admit)
        return ticket();
    if (answer == Entry::closed)
        return refuse(GateCounts::rejected_shut_down, ErrorCode::shut_down, {},
                      "the gate is shut down, so the turn was not accepted");
    const std::uint32_t index = take_waiter();
    if (index == GateWord::nobody)
        return refuse_full(word().waiting());
    fill(waiters_[index], std::move(request));
    std::uint32_t of_session = 0;
    if (config_.max_queued_per_session != EffectiveTurnConfig::no_limit &&
        !enter_session(index, of_session)) {
        give_up(index);
        return refuse(GateCounts::rejected_session_full, ErrorCode::queue_full,
                      {"max_queued_per_session", config_.max_queued_per_session, of_session},
                      "as many turns of the session wait as may, so this one was not accepted");
    }
    std::uint32_t position = 0;
    switch (join(index, position)) {
        case Joined::admitted:
            give_up(index);
            return ticket();
        case Joined::closed:
            give_up(index);
            return refuse(GateCounts::rejected_shut_down, ErrorCode::shut_down, {},
                          "the gate is shut down, so the turn was not accepted");
        case Joined::full:
            give_up(index);
            return refuse_full(config_.max_queue_length);
        case Joined::yes:
            break;
    }
    arm_sweep();
    if (config_.order == TurnOrder::round_robin) {
        // Whoever comes first in his session may go ahead of others, which the holder finds out.
        Visit visit(*this);
        look(visit.mail);
    }
    return settle(index, position);
}

// There are twice as many places as may wait, and some: a waiter keeps its place until it was told its outcome.
std::uint32_t GateState::take_waiter() noexcept {
    if (config_.max_queue_length == 0)
        return GateWord::nobody;
    const std::optional<std::uint32_t> index = free_.pop(links());
    if (!index)
        return GateWord::nobody;
    std::uint32_t used = used_.load(memory_order_relaxed);  // relaxed: a first guess
    while (used <= *index &&
           !used_.compare_exchange_weak(used, *index + 1, memory_order_release, memory_order_relaxed)) {}
    return *index;
}

void GateState::fill(Waiter& waiter, TurnRequest&& request) noexcept {
    // Relaxed: the waiter is ours, and is published by settle() to those who read it in passing.
    const WaiterWord old{waiter.word.load(memory_order_relaxed)};
    waiter.word.store(core::drafted(old).bits,
                      memory_order_release);  // partner: scanners' acquire of the word
    waiter.listens = static_cast<bool>(request.on_position_changed);
    waiter.enqueued_at.store(now(), memory_order_relaxed);
    waiter.number.store(numbers_.fetch_add(1, memory_order_relaxed), memory_order_relaxed);
    waiter.session_hash.store(std::hash<std::string_view>{}(request.session), memory_order_relaxed);
    waiter.session.set(request.session);
    waiter.calls = {std::move(request.on_admitted), std::move(request.on_expired),
                    std::move(request.on_dropped), std::move(request.on_position_changed)};
}

GateState::Joined GateState::join(std::uint32_t index, std::uint32_t& position) noexcept {
    Waiter& waiter = waiters_[index];
    GateWord seen = word();
    for (;;) {
        const Entry answer = core::entry(seen, cap());
        if (answer == Entry::closed)
            return Joined::closed;
        if (answer == Entry::admit) {
            if (!may_count_ticket(seen)) {
                seen = word();
            } else if (step(seen, core::one_admitted(seen))) {
                bring_up_admitted();
                return Joined::admitted;
            }
            continue;
        }
        if (seen.waiting() >= config_.max_queue_length)
            return Joined::full;
        if (!JoinedCount::may_count(seen.joined(), joined_laps_.load(memory_order_acquire))) {
            bring_up_joined();
            seen = word();
            continue;
        }
        waiter.link.store(seen.newest(), memory_order_relaxed);
        position = seen.waiting() + 1;
        waiter.posted = position;
        if (step(seen, core::one_joined(seen, index))) {
            bring_up_joined();
            return Joined::yes;
        }
    }
}

// The end of submit(): the submitter is the courier until it knows nothing newer than what it returns.
Submitted GateState::settle(std::uint32_t index, std::uint32_t position) {
    Waiter& waiter = waiters_[index];
    WaiterWord seen{waiter.word.load(memory_order_acquire)};
    const std::uint32_t generation = seen.generation();
    for (;;) {
        const core::CourierStep next = core::collected(seen);
        if (next.task == core::CourierTask::outcome)
            break;
        waiter.told = position;  // ours as long as we are the courier, that is until we rest
        // Release: partner of the acquires of those who read the waiter in passing. Acquire: as above.
        if (!waiter.word.compare_exchange_weak(seen.bits, next.after.bits, memory_order_acq_rel,
                                               memory_order_acquire))
            continue;
        if (next.task == core::CourierTask::rest)
            return Queued{position, {index, generation}};
        position = seen.position();
        seen = next.after;
    }
    const WaiterPhase outcome = seen.phase();
    const TurnCalls unused = take_calls(index);
    if (outcome == WaiterPhase::granted)
        return ticket();
    return outcome_error(outcome);
}

// It did not join after all.
void GateState::give_up(std::uint32_t index) noexcept {
    waiters_[index].calls = {};
    free(index);
}

void GateState::free(std::uint32_t index) noexcept {
    Waiter& waiter = waiters_[index];
    const WaiterWord old{waiter.word.load(memory_order_relaxed)};  // relaxed: nobody else writes it any more
    waiter.word.store(core::freed(old).bits, memory_order_release);
    free_.push(index, links());
}

}  // namespace sluice::detail
