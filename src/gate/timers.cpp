// The gate's two timers. Setting and clearing them may meet the clock's lock, so neither is done while the baton is held, nor on any
// way of a ticket: a sweep that finds nobody is left to run out, so that a queue that is now empty, now not sets it once.
//
// The sweep: armed by whoever joins and finds it not armed; it disarms itself, looks, and arms itself if somebody waits.
//     who joins                       the sweep
//     word: waiting + 1               sweep_armed_ = false
//     sweep_armed_? no: arm           word: somebody waits? yes: arm
// All four are sequentially consistent: were both to look first, a waiter would wait without a sweep.

#include "gate/gate_state.hpp"

#include <utility>

namespace sluice::detail {

using sync::memory_order_acq_rel;
using sync::memory_order_seq_cst;

/// What a timer's call keeps the gate's memory by.
class GateState::TimerRef {
public:
    explicit TimerRef(GateState& gate) noexcept : gate_(&gate) {
        gate.add_ref();
    }
    TimerRef(TimerRef&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    TimerRef& operator=(TimerRef&&) = delete;
    ~TimerRef() {
        if (gate_ != nullptr)
            gate_->unref();
    }
    [[nodiscard]] GateState& operator*() const noexcept {
        return *gate_;
    }

private:
    GateState* gate_;
};

bool GateState::set_timer(sync::atomic<std::uint64_t>& slot, std::int64_t after,
                          void (GateState::*call)()) noexcept {
    const TimerId timer = config_.clock->set_timer(std::chrono::nanoseconds(after),
                                                   [gate = TimerRef(*this), call] { ((*gate).*call)(); });
    // Acquire and release: partners of each other; the handle is a number, and its clock knows the rest. seq_cst: with the
    // closing of the gate it is a Dekker, so that no timer is left set (clear_timers).
    const std::uint64_t before = slot.exchange(static_cast<std::uint64_t>(timer), memory_order_seq_cst);
    if (before != 0)
        config_.clock->clear_timer(static_cast<TimerId>(before));
    if (core::GateWord{word_.load(memory_order_seq_cst)}.closed())
        clear_timers();
    return timer != TimerId::none;
}

void GateState::clear_timers() noexcept {
    for (auto* slot : {&backoff_timer_, &sweep_timer_}) {
        const std::uint64_t timer = slot->exchange(0, memory_order_seq_cst);
        if (timer != 0)
            config_.clock->clear_timer(static_cast<TimerId>(timer));
    }
}

void GateState::arm_backoff() noexcept {
    const std::int64_t left = pause_left();
    if (left > 0)
        static_cast<void>(
            set_timer(backoff_timer_, left,
                      &GateState::backoff_ran_out));  // else whoever comes next sees that it is over
}

// Of two timers that were set at once the later one may have been cleared: then this one is early, and sets itself anew.
void GateState::backoff_ran_out() noexcept {
    if (!resume_if_over())
        arm_backoff();
}

void GateState::arm_sweep() noexcept {
    if (sweep_armed_.load(memory_order_seq_cst) || sweep_armed_.exchange(true, memory_order_seq_cst))
        return;
    if (!set_timer(sweep_timer_, config_.sweep_interval.count(), &GateState::sweep))
        sweep_armed_.store(false, memory_order_seq_cst);  // whoever joins next tries again
}

void GateState::sweep() noexcept {
    sweep_armed_.store(false, memory_order_seq_cst);
    expire_stale();
    const core::GateWord seen{word_.load(memory_order_seq_cst)};
    if (seen.waiting() != 0 && !seen.closed())
        arm_sweep();
}

}  // namespace sluice::detail
