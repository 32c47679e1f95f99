#pragma once

// The home thread's alarm: asleep without a timeout while it is off, and a tick every so often while it is
// armed.
//
// Why: a looker (sync/lookout.hpp) may be inside a job that was expected to be short and is not, and jobs may
// wait behind a long one. Then nobody but a clock notices. A clock that never stops would burn CPU, so it
// runs only while there is something to watch over.
//
// Roles
//     keeper    the home thread: sleep, tick, try_disarm.
//     anybody   armed, arm.
// Word: armed_, 1 while the keeper ticks, or is on its way to. Set by anybody, cleared by the keeper only.
// Invariant: who saw armed_ set, after it made something to watch over, is watched: the keeper clears the
// word first and asks afterwards whether there is anything to watch over; if so it arms itself again. Both
// sides are sequentially consistent. Were the keeper to ask first:
//     keeper: nothing to watch over
//     submitter: announces a job, somebody looks (inside a job), the alarm is armed
//     keeper: off, sleeps
// What there is to watch over: work that waits, and a claim with something left.
//
// So a submitter leaves because somebody looks, and a member enters a job with a claimed rest behind it, only after it has seen
// armed() or called arm(). A looker inside a job on which nobody relies is not watched. The model is
// tests/models/parking.pml.

#include <cstdint>

#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/parker.hpp"

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct AlarmRules {
    /// Off first, then the question.
    static constexpr bool off_before_question = true;
};

template <typename Rules>
class BasicAlarm {
public:
    /// thread: any. progress: wait-free. cost: a load.
    [[nodiscard]] bool armed() const noexcept {
        return armed_.load(memory_order_seq_cst) != 0;
    }

    /// The keeper ticks from now on. True: it was off, and was woken.
    /// thread: any. progress: wait-free. cost: a load while armed, otherwise a wake-up.
    bool arm() noexcept {
        if (armed() || armed_.exchange(1, memory_order_seq_cst) != 0) {
            return false;
        }
        parker_.unpark();
        return true;
    }

    /// Wakes the keeper from either sleep, as it is: for shutdown. thread: any. progress: wait-free.
    void nudge() noexcept {
        parker_.unpark();
    }

    /// Sleeps until somebody arms or nudges; may return without either. thread: the keeper. progress: blocks.
    void sleep() noexcept {
        parker_.park();
    }

    /// Sleeps until the next tick, or a nudge. thread: the keeper. progress: blocks for at most this long.
    void tick(std::int64_t nanoseconds) noexcept {
        static_cast<void>(parker_.park_for(nanoseconds));
    }

    /// Turns the alarm off unless `anything_to_watch()`. True: it is off, the keeper may sleep; otherwise it
    /// goes on ticking.
    /// thread: the keeper. progress: wait-free, but for the question.
    template <typename Question>
    [[nodiscard]] bool try_disarm(Question anything_to_watch) noexcept {
        if (!Rules::off_before_question) {
            if (anything_to_watch()) {
                return false;
            }
            armed_.store(0, memory_order_seq_cst);
            return true;
        }
        armed_.store(0, memory_order_seq_cst);
        if (!anything_to_watch()) {
            return true;
        }
        // Somebody may have armed it in between, and left a token: the next tick is short then, no harm.
        armed_.store(1, memory_order_seq_cst);
        return false;
    }

private:
    alignas(cache_line) atomic<std::uint32_t> armed_{0};
    alignas(cache_line) Parker parker_;
};

using Alarm = BasicAlarm<AlarmRules>;

}  // namespace sluice::sync
