#pragma once

// One thread that goes to sleep in two steps, announce and sleep, so that it can look in between; and wakers of whom any may stand
// still between any two steps without the sleeper, or another waker, waiting for it.
//
// Roles: the *owner*, one thread, calls announce, sleep, sleep_for and be_awake. Anybody calls call, help and asleep.
// Encoding of the word:
//     bit 0..1   phase   awake, asleep, called, rung
//     bit 2..31  number of the sleep
// Transitions:
//     awake -> asleep         announce: the next number. From here on it sleeps, or is about to.
//     asleep -> called        a waker, by CAS: there is one for each sleep. It owes the system call.
//     called -> rung          whoever has made the system call, by CAS: nobody owes it any more.
//     any -> awake            be_awake: the owner, when it has woken or thought better of it.
// Invariant: whoever saw `rung` may go: the owner runs, or will, and says so by be_awake. Whoever saw `called` makes the system
// call itself and may then go as well: the waker that called may stand still for ever.
// The number: a waker that stood still between its system call and `rung` must not mark a later sleep, whose call is owed still. It
// would have to stand still for 2^30 sleeps.
//
// All sequentially consistent: announce, and what the owner looks at afterwards, are one half of the handshake in
// lookout.hpp; what a waker made, and call or help, the other.

#include "sync/atomic.hpp"

#include <cassert>
#include <cstdint>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct SleeperRules {
    /// A waker makes the system call; a mutant only writes the word.
    static constexpr bool ring = true;
    /// Who finds the owner called and not rung makes the system call as well.
    static constexpr bool help = true;
};

template <typename Rules>
class BasicSleeper {
public:
    BasicSleeper() = default;
    BasicSleeper(const BasicSleeper&) = delete;
    BasicSleeper& operator=(const BasicSleeper&) = delete;

    // For the owner.

    /// From now on it can be called. progress: wait-free.
    void announce() noexcept {
        // Relaxed: while it is awake nobody else writes.
        const std::uint32_t before = word_.load(memory_order_relaxed);
        assert((before & phases) == awake);
        word_.store((before & ~phases) + next_number + asleep_phase, memory_order_seq_cst);
    }

    /// Sleeps until it has been called. progress: blocks until then.
    void sleep() noexcept {
        std::uint32_t seen = word_.load(memory_order_seq_cst);
        while ((seen & phases) == asleep_phase) {
            wait(word_, seen);
            seen = word_.load(memory_order_seq_cst);
        }
    }

    /// As sleep, for at most this long. It may have been called all the same: be_awake() says.
    void sleep_for(std::int64_t nanoseconds) noexcept {
        const std::int64_t begin = now_ns();
        std::int64_t left = nanoseconds;
        std::uint32_t seen = word_.load(memory_order_seq_cst);
        while ((seen & phases) == asleep_phase) {
            if (wait_for(word_, seen, left) == WaitResult::timed_out) {
                return;
            }
            left = nanoseconds - (now_ns() - begin);
            seen = word_.load(memory_order_seq_cst);
        }
    }

    /// After announce, whether it slept or not. True: it had been called. What the waker did before is visible. progress: wait-free.
    bool be_awake() noexcept {
        return (word_.fetch_and(~phases, memory_order_seq_cst) & phases) != asleep_phase;
    }

    // For anybody.

    /// Wakes the owner if it sleeps and nobody has called it. True: this call did.
    /// progress: wait-free. cost: a load, or a read-modify-write and a system call.
    bool call() noexcept {
        std::uint32_t seen = word_.load(memory_order_seq_cst);
        if ((seen & phases) != asleep_phase ||
            !word_.compare_exchange_strong(seen, seen - asleep_phase + called, memory_order_seq_cst)) {
            return false;
        }
        make_the_call(seen - asleep_phase + called);
        return true;
    }

    /// True: the owner has been called, nothing is owed any more, and it has not yet said that it is awake.
    /// progress: wait-free. cost: a load, unless the waker is between its steps.
    [[nodiscard]] bool help() noexcept {
        const std::uint32_t seen = word_.load(memory_order_seq_cst);
        if ((seen & phases) == called && Rules::help) {
            make_the_call(seen);
        }
        return (seen & phases) == called || (seen & phases) == rung;
    }

    /// It sleeps, or is about to, and nobody has called it.
    [[nodiscard]] bool asleep() const noexcept {
        return (word_.load(memory_order_seq_cst) & phases) == asleep_phase;
    }

private:
    static constexpr std::uint32_t awake = 0;
    static constexpr std::uint32_t asleep_phase = 1;
    static constexpr std::uint32_t called = 2;
    static constexpr std::uint32_t rung = 3;
    static constexpr std::uint32_t phases = 3;
    static constexpr std::uint32_t next_number = 4;

    void make_the_call(std::uint32_t seen) noexcept {
        if (Rules::ring) {
            wake_one(word_);
        }
        word_.compare_exchange_strong(seen, seen - called + rung, memory_order_seq_cst);
    }

    atomic<std::uint32_t> word_{awake};
};

using Sleeper = BasicSleeper<SleeperRules>;

}  // namespace sluice::sync
