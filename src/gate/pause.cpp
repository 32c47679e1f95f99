// Backoff: everybody stops while the provider asks for it. The rule is pure (core/gate_backoff.hpp); here are its two words.
//
// The gate's word says *that* nobody is admitted, the backoff's word *until when*. Whoever notes a rate limit writes the second,
// and then moves the first one's epoch and sets its flag. Whoever finds the pause over reads the first, then the second, and takes the
// flag back by a CAS on the first: it fails if a rate limit was noted in between.

#include "gate/gate_state.hpp"

#include <algorithm>

namespace sluice::detail {

using core::BackoffWord;
using core::GateWord;
using sync::memory_order_acq_rel;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;

void GateState::note_rate_limit(std::chrono::nanoseconds retry_after) noexcept {
    counts_.add(GateCounts::rate_limits);
    // Relaxed: each call gets a number of its own, whichever.
    const double random =
        backoff_rules_.jitter > 0
            ? core::jitter_number(config_.jitter_seed, draws_.fetch_add(1, memory_order_relaxed))
            : 0;
    const std::int64_t moment = now();
    BackoffWord old{backoff_.load(memory_order_acquire)};
    BackoffWord next;
    do {
        next = core::rate_limited(old, word().paused(), backoff_rules_, moment, retry_after.count(), random);
        // Release and acquire: partners of each other, and of pause_left().
    } while (
        !backoff_.compare_exchange_weak(old.bits, next.bits, memory_order_acq_rel, memory_order_acquire));
    GateWord seen = word();
    while (!step(seen, core::made_pause(seen))) {}
    arm_backoff();
    limit_lowered();
}

void GateState::note_success() noexcept {
    BackoffWord old{backoff_.load(memory_order_acquire)};
    do {
        if (old.length_ms() == backoff_rules_.base_ms || pause_left() > 0)
            return;
    } while (!backoff_.compare_exchange_weak(old.bits, core::went_well(old, backoff_rules_).bits,
                                             memory_order_acq_rel, memory_order_acquire));
}

/// 0 or less: nobody is paused, or not for longer than until somebody looks.
std::int64_t GateState::pause_left() const noexcept {
    // The word first: a pause that it shows has its end written.
    return word().paused() ? core::pause_left_ns({backoff_.load(memory_order_acquire)}, now()) : 0;
}

/// Whether there is no pause now. Ends one that is over, whatever its timer does.
bool GateState::resume_if_over() noexcept {
    if (!word().paused())
        return true;
    if (pause_left() > 0)
        return false;
    Visit visit(*this);
    if (end_pause())
        look(visit.mail);
    return !word().paused();
}

/// Takes the flag of a pause that is over back. True: this call did it, and the line may go on.
bool GateState::end_pause() noexcept {
    GateWord seen = word();
    // The end of the pause is read after the word that it rests on.
    while (seen.paused() && core::pause_left_ns({backoff_.load(memory_order_acquire)}, now()) <= 0)
        if (step(seen, core::resumed(seen)))
            return true;
    return false;
}

}  // namespace sluice::detail
