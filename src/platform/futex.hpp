#pragma once

// Sleeping on a 32-bit word, the one blocking primitive under everything else.
//
// Roles: any thread may wait on a word, any thread may wake it.
// Encoding: the word belongs to the caller; only equality with `expected` matters here.
// Invariant: a wake that comes after a change of the word reaches every thread that went to sleep (or is on
// its way to sleep) on the value before the change. Whoever changed the word first and called wake second
// loses nobody.
//
// A wait may return for no reason, so callers look at their word again in a loop. Neither side orders memory:
// the change is a release (or stronger) by the waker, and an acquire load by the waiter after it returned. A
// wake uses the address as a key only and never touches the memory behind it: the waiter may have seen the
// change, returned and destroyed the word before the waker gets here.

#include <atomic>
#include <cstdint>

namespace sluice::platform {

enum class WaitResult : std::uint8_t { changed_or_woken, timed_out };

/// Sleeps while the word holds `expected`, until a wake. May return early.
/// thread: any. progress: blocks until another thread wakes it.
void address_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept;

/// As above, for at most `nanoseconds` of steady time; zero or less only looks at the word.
[[nodiscard]] WaitResult address_wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                                          std::int64_t nanoseconds) noexcept;

/// Wakes at least one of the threads that sleep on this word, if there is one.
void address_wake_one(const std::atomic<std::uint32_t>& word) noexcept;

/// Wakes all threads that sleep on this word.
void address_wake_all(const std::atomic<std::uint32_t>& word) noexcept;

}  // namespace sluice::platform
