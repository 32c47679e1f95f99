#include "executor/home.hpp"

#include "executor/engine.hpp"
#include "platform/cpu.hpp"
#include "platform/thread.hpp"

namespace sluice::detail {

using sync::memory_order_relaxed;

void Home::main(ThreadSlot& slot) noexcept {
    slot_ = &slot;
    engine_.enter_thread(nullptr, slot);
    seen_claims_.resize(engine_.all_workers_.size());
    if (engine_.workers_take_turns()) {
        main_lent();
    } else {
        main_dedicated();
    }
    engine_.leave_thread();
}

void Home::main_lent() noexcept {
    unsigned quiet_ticks = 0;
    while (!engine_.over()) {
        if (!alarm_.armed()) {
            alarm_.sleep();
            quiet_ticks = 0;
            seen_turns_ = engine_.turns_.load(memory_order_relaxed);  // so that the first look already acts
            continue;
        }
        quiet_ticks = watch_over() ? 0 : quiet_ticks + 1;
        if (quiet_ticks >= quiet_ticks_max) {
            if (alarm_.try_disarm([this] { return engine_.anything_to_watch(); }))
                continue;
            quiet_ticks = 0;
        }
        alarm_.tick(tick_ns);
    }
}

void Home::main_dedicated() noexcept {
    lookout_.start_looking();
    while (!engine_.over()) {
        if (!engine_.take_turn(Engine::home_index, *slot_))
            rest();
    }
}

// Keeps "somebody looks" under `dedicated`: out of the lookers first, then a look, then sleep. While workers hold batches
// it sleeps no longer than a tick.
void Home::rest() noexcept {
    if (spin())
        return;
    lookout_.begin_park(0);
    if (engine_.over() || engine_.turn_needed()) {
        (void)lookout_.cancel_park(0);
    } else if (!engine_.anything_to_watch()) {
        lookout_.park(0);
    } else if (!lookout_.park_for(0, tick_ns)) {
        (void)watch_over();
    }
}

bool Home::spin() noexcept {
    if (engine_.spin_budget_ns_ == 0)
        return false;
    const std::int64_t since = engine_.clock_.now();
    for (unsigned round = 0;; ++round) {
        for (unsigned i = 0; i < 8; ++i)
            platform::cpu_relax();
        if (engine_.over() || engine_.turn_needed())
            return true;
        if (round % 4 != 3)
            continue;
        if (engine_.clock_.now() - since > engine_.spin_budget_ns_)
            return false;
        platform::yield();  // on few CPUs home holds the very CPU that a submitter or a worker needs
    }
}

// One look; see the header. True: there is something to watch.
bool Home::watch_over() noexcept {
    if (!engine_.anything_to_watch())
        return false;
    // relaxed: a count that moves while turns are taken.
    bool stalled = engine_.turns_.load(memory_order_relaxed) == seen_turns_ && engine_.turn_needed();
    for (std::size_t i = 0; i < seen_claims_.size(); ++i) {
        const core::ClaimWord claim = engine_.all_workers_[i]->claim.observe();
        stalled |= claim.left() != 0 && claim.bits == seen_claims_[i];
    }
    if (stalled)
        (void)engine_.take_turn(Engine::home_index, *slot_, seen_claims_);
    if (!engine_.run_queue_.empty())
        (void)engine_.workers_.wake_another();
    for (std::size_t i = 0; i < seen_claims_.size(); ++i) {
        seen_claims_[i] = engine_.all_workers_[i]->claim.observe().bits;
    }
    seen_turns_ = engine_.turns_.load(memory_order_relaxed);
    return true;
}

}  // namespace sluice::detail
