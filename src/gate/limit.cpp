// The adaptive limit: the rule is pure (core/gate_limit.hpp) and belongs to whoever holds `limit_baton_`. Turns that end add to a word; rate
// limits raise a flag. Nobody waits: whoever finds the baton taken leaves the look to its holder.

#include "gate/gate_state.hpp"

#include <algorithm>

namespace sluice::detail {

using core::WindowWord;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

/// A turn ended that began at `started_at`. Its ticket is still held.
void GateState::turn_took(std::int64_t started_at) noexcept {
    const core::GateWord seen_gate = word();
    if (seen_gate.closed())
        return;  // a ticket that outlives the gate may outlive its clock as well
    const std::uint32_t in_flight = seen_gate.in_flight();
    std::uint32_t most = most_in_flight_.load(memory_order_relaxed);  // relaxed: a statistic
    while (most < in_flight &&
           !most_in_flight_.compare_exchange_weak(most, in_flight, memory_order_relaxed)) {}
    const std::int64_t took = now() - started_at;
    WindowWord seen{window_.load(memory_order_relaxed)};
    WindowWord next;
    do {
        next = core::one_ended(seen, took);
        // Release: partner of the acquire in adapt().
    } while (
        !window_.compare_exchange_weak(seen.bits, next.bits, memory_order_release, memory_order_relaxed));
    if (next.count() >= config_.limit_window)
        adapt();
}

void GateState::limit_lowered() noexcept {
    if (config_.limit == LimitPolicy::fixed)
        return;
    rate_limited_.store(true, memory_order_release);  // partner of the acquire in adapt()
    adapt();
}

void GateState::adapt() noexcept {
    if (!limit_baton_.ask())
        return;
    bool raised = false;
    do {
        if (rate_limited_.exchange(false, memory_order_acquire))
            limit_.rate_limited();
        WindowWord seen{window_.load(memory_order_acquire)};
        if (seen.count() >= config_.limit_window) {
            seen = {window_.exchange(0, memory_order_acquire)};
            const double mean_ns = static_cast<double>(seen.total_us()) * 1'000 / std::max(seen.count(), 1U);
            limit_.window_ended({mean_ns, most_in_flight_.exchange(0, memory_order_relaxed)});
        }
        const std::uint32_t next = limit_.limit();
        const std::uint32_t before = cap_.load(memory_order_relaxed);  // only the holder writes it
        if (next != before) {
            // The cap, then the epoch: who read the old cap with the old word fails (gate_word.hpp).
            cap_.store(next, memory_order_release);
            core::GateWord gate = word();
            while (!step(gate, core::epoch_moved(gate))) {}
            raised |= next > before;
        }
    } while (!limit_baton_.put_down());
    if (raised && word().waiting() != 0) {
        Visit visit(*this);
        look(visit.mail);
    }
}

}  // namespace sluice::detail
