#pragma once

// Puts one thread to sleep until somebody has something for it. A token, not a signal: an unpark that comes
// first makes the next park return at once, so there is no window between the owner's last look and its
// sleep.
//
// Roles: the *owner*, one thread at a time, calls park and park_for. Any thread calls unpark.
// Encoding of the state word:
//     empty (0)     no token, the owner is not asleep
//     notified (1)  a token waits for the owner's next park; further unparks leave it at that
//     parked (2)    the owner sleeps, or is about to
// Transitions: park: notified -> empty (returns), or empty -> parked (sleeps); after a wake notified ->
// empty.
//     unpark: any -> notified, with a system call if the old value was `parked`. A timeout: parked -> empty.
// Invariant: `parked` is only left towards `notified` by an unparker, who then wakes, or by the owner itself.
// So a sleeping owner always has either no token or a wake on its way.
//
// The unparker's wake may come after the owner has run on and destroyed the parker; the platform's wake
// allows that.

#include "sync/atomic.hpp"

#include <cstdint>
#include <limits>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct ParkerRules {
    /// Wakes a parked owner; a mutant may forget to.
    static constexpr bool wake_a_parked_owner = true;
    /// Leaves a token for an owner that is awake; a mutant may only signal, as a bare condition variable
    /// does.
    static constexpr bool leave_a_token = true;
};

template <typename Rules>
class BasicParker {
public:
    BasicParker() = default;
    BasicParker(const BasicParker&) = delete;
    BasicParker& operator=(const BasicParker&) = delete;

    /// Sleeps until there is a token and takes it. What happened before the unpark is visible afterwards.
    /// thread: the owner. progress: blocks until an unpark. cost: one read-modify-write if the token is
    /// there.
    void park() noexcept {
        if (take_token_or_announce()) {
            return;
        }
        for (;;) {
            wait(state_, parked);
            if (take_token_after_wake()) {
                return;
            }
        }
    }

    /// As park, for at most this long. False: the time is over and there was no token.
    [[nodiscard]] bool park_for(std::int64_t nanoseconds) noexcept {
        if (take_token_or_announce()) {
            return true;
        }
        const std::int64_t deadline = deadline_after(nanoseconds);
        for (;;) {
            const WaitResult result = wait_for(state_, parked, deadline - now_ns());
            if (take_token_after_wake()) {
                return true;
            }
            if (result == WaitResult::timed_out) {
                // Acquire: an unpark may have come in since; then its token is taken here, as in a park.
                return state_.exchange(empty, memory_order_acquire) == notified;
            }
        }
    }

    /// Gives the owner a token (it holds at most one) and wakes it if it sleeps.
    /// thread: any. progress: wait-free. cost: one read-modify-write, and a system call only if the owner
    /// sleeps.
    void unpark() noexcept {
        if (!Rules::leave_a_token && state_.load(memory_order_relaxed) != parked) {
            return;
        }
        // Release: partner of the owner's acquires. An exchange even if a token is there already: as a
        // read-modify-write it continues the release sequence of the unpark before it, so that the owner, who
        // takes one token for both, sees what came before either.
        const std::uint32_t before = state_.exchange(notified, memory_order_release);
        if (Rules::wake_a_parked_owner && before == parked) {
            wake_one(state_);
        }
    }

private:
    static constexpr std::uint32_t empty = 0;
    static constexpr std::uint32_t notified = 1;
    static constexpr std::uint32_t parked = 2;

    // True: there was a token, and it is taken. False: the word says `parked`.
    [[nodiscard]] bool take_token_or_announce() noexcept {
        std::uint32_t expected = notified;
        // Acquire: partner of unpark's release. Relaxed on failure: nothing is read that an unparker wrote.
        if (state_.compare_exchange_strong(expected, empty, memory_order_acquire, memory_order_relaxed)) {
            return true;
        }
        expected = empty;
        // Relaxed: announcing a sleep publishes nothing. The handshake "announce, then look once more for
        // work" is the caller's and stands on the caller's own words.
        if (state_.compare_exchange_strong(expected, parked, memory_order_relaxed, memory_order_relaxed)) {
            return false;
        }
        // An unpark came in between, and only the owner takes tokens away. Acquire: partner of unpark's
        // release.
        state_.exchange(empty, memory_order_acquire);
        return true;
    }

    [[nodiscard]] bool take_token_after_wake() noexcept {
        std::uint32_t expected = notified;
        // Acquire: partner of unpark's release. Failure means an early return of the wait; the word still
        // says parked.
        return state_.compare_exchange_strong(expected, empty, memory_order_acquire, memory_order_relaxed);
    }

    [[nodiscard]] static std::int64_t deadline_after(std::int64_t nanoseconds) noexcept {
        const std::int64_t now = now_ns();
        const std::int64_t room = std::numeric_limits<std::int64_t>::max() - now;
        return nanoseconds < room ? now + nanoseconds : std::numeric_limits<std::int64_t>::max();
    }

    atomic<std::uint32_t> state_{empty};
};

using Parker = BasicParker<ParkerRules>;

}  // namespace sluice::sync
