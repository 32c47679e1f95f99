// Sleeping on a word in standard C++: a fixed table of buckets, each a mutex, a condition variable and a
// count.
//
// Roles: waiters hold their bucket's mutex from before they count themselves until they sleep; wakers take it
// only if somebody is counted.
// Encoding: `sleepers` counts the threads inside a wait on any word of the bucket.
// Invariant (no lost wake-up): a waiter that saw the old value is counted and asleep, or still holds the
// mutex, when the waker that changed the word notifies.
//
// Why it holds: both sides do a read-modify-write on `sleepers`, and those are totally ordered.
//  - The waiter's comes first: the waker reads a count above zero, takes the mutex (which it gets only once
//    the waiter sleeps or has left) and notifies.
//  - The waker's comes first: the waiter's read-modify-write reads it, or a later one of the same release
//    sequence, and so synchronises with it. The change of the word was sequenced before the waker's, so the
//    waiter's load sees it.
// A plain load by the waker would need the caller to change its word with seq_cst (Dekker: each side writes
// its own word and reads the other's); with read-modify-writes any order of the caller will do.
//
// Differing words share buckets, so a wake notifies all sleepers of the bucket; the others look at their word
// again. That, and a mutex on the way to sleep, is why this twin is the fallback and not the first choice.

#include "platform/futex.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <new>

namespace sluice::platform {
namespace {

// 64 buckets of two lines: more than the threads that sleep at once in any sensible process, and 8 KiB.
constexpr std::size_t bucket_count = 64;

struct alignas(64) Bucket {
    std::atomic<std::uint32_t> sleepers{0};
    std::mutex mutex;  // on the way into and out of sleep only, see tests/tidy/locks.txt
    std::condition_variable changed;
};

using Buckets = std::array<Bucket, bucket_count>;

Bucket& bucket_of(const std::atomic<std::uint32_t>& word) noexcept {
    // Never destroyed: a thread may still sleep here while the process runs its static destructors.
    alignas(Buckets) static std::byte storage[sizeof(Buckets)];
    static Buckets* const buckets = new (storage) Buckets();
    // Fibonacci hashing: words on neighbouring cache lines land far apart.
    const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&word));
    return (*buckets)[static_cast<std::size_t>((address >> 2U) * 0x9E37'79B9'7F4A'7C15ULL >> 58U)];
}
static_assert(bucket_count == std::size_t{1} << (64U - 58U));

template <typename Sleep>
WaitResult wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Sleep sleep) noexcept {
    Bucket& bucket = bucket_of(word);
    std::unique_lock lock(bucket.mutex);
    // acq_rel: partner of the one in wake(), see above.
    bucket.sleepers.fetch_add(1, std::memory_order_acq_rel);
    WaitResult result = WaitResult::changed_or_woken;
    // Relaxed: the read-modify-write before it has made every change visible whose wake did not count us.
    if (word.load(std::memory_order_relaxed) == expected) {
        result = sleep(bucket.changed, lock);
    }
    // Relaxed: a count that is seen too high costs a needless notification, no more. It is a
    // read-modify-write, so it does not end the release sequence of an earlier wake.
    bucket.sleepers.fetch_sub(1, std::memory_order_relaxed);
    return result;
}

void wake(const std::atomic<std::uint32_t>& word) noexcept {
    Bucket& bucket = bucket_of(word);
    // acq_rel: partner of the one in wait(), see above.
    if (bucket.sleepers.fetch_add(0, std::memory_order_acq_rel) == 0) {
        return;
    }
    // Having held the mutex is what matters: a waiter that was between its look at the word and its sleep
    // sleeps now.
    { const std::scoped_lock lock(bucket.mutex); }
    bucket.changed.notify_all();
}

}  // namespace

void address_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    static_cast<void>(
        wait(word, expected, [](std::condition_variable& changed, std::unique_lock<std::mutex>& lock) {
            changed.wait(lock);
            return WaitResult::changed_or_woken;
        }));
}

WaitResult address_wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                            std::int64_t nanoseconds) noexcept {
    if (nanoseconds <= 0) {
        // Relaxed: the caller reads the word again with the order it needs before it acts.
        return word.load(std::memory_order_relaxed) == expected ? WaitResult::timed_out
                                                                : WaitResult::changed_or_woken;
    }
    using Clock = std::chrono::steady_clock;
    const Clock::time_point now = Clock::now();
    const auto room = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::time_point::max() - now);
    const auto deadline = now + std::min(room, std::chrono::nanoseconds(nanoseconds));
    return wait(word, expected, [&](std::condition_variable& changed, std::unique_lock<std::mutex>& lock) {
        const bool timed_out = changed.wait_until(lock, deadline) == std::cv_status::timeout;
        return timed_out ? WaitResult::timed_out : WaitResult::changed_or_woken;
    });
}

void address_wake_one(const std::atomic<std::uint32_t>& word) noexcept {
    wake(word);
}

void address_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
    wake(word);
}

}  // namespace sluice::platform
