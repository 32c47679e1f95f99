#include "platform/futex.hpp"

#include <cassert>
#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice::platform {
namespace {

// The kernel reads and compares the word itself, so it has to be a plain 32-bit integer in memory.
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

constexpr std::int64_t ns_per_second = 1'000'000'000;

long futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* deadline) noexcept {
    // The bitset argument is read by the wait-bitset operation only; "any bit" makes it an ordinary wait.
    return ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, deadline, nullptr,
                     FUTEX_BITSET_MATCH_ANY);
}

// An absolute deadline, so that a wait which a signal cuts short goes on with what is left instead of
// starting over.
timespec monotonic_deadline(std::int64_t nanoseconds) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t seconds = nanoseconds / ns_per_second;
    std::int64_t rest = now.tv_nsec + nanoseconds % ns_per_second;
    const std::int64_t carry = rest >= ns_per_second ? 1 : 0;
    rest -= carry * ns_per_second;
    timespec deadline{};
    // At most 2^63 ns are 292 years, so adding them to the uptime in seconds cannot overflow 64 bits.
    deadline.tv_sec = static_cast<time_t>(now.tv_sec + seconds + carry);
    deadline.tv_nsec = static_cast<long>(rest);
    return deadline;
}

// Wait until woken, changed, or past the deadline (null: none). A signal is no reason to return: the kernel
// compares the word again when the call is repeated, so nothing is missed in between.
WaitResult wait_until(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                      const timespec* deadline) noexcept {
    for (;;) {
        if (futex(word, FUTEX_WAIT_BITSET, expected, deadline) == 0) {
            return WaitResult::changed_or_woken;
        }
        switch (errno) {
            case EINTR:
                continue;
            case ETIMEDOUT:
                return WaitResult::timed_out;
            default:
                assert(errno == EAGAIN && "a wait on a live, aligned word fails in no other way");
                return WaitResult::changed_or_woken;
        }
    }
}

}  // namespace

void address_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    static_cast<void>(wait_until(word, expected, nullptr));
}

WaitResult address_wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                            std::int64_t nanoseconds) noexcept {
    if (nanoseconds <= 0) {
        // Relaxed: the caller reads the word again with the order it needs before it acts.
        return word.load(std::memory_order_relaxed) == expected ? WaitResult::timed_out
                                                                : WaitResult::changed_or_woken;
    }
    const timespec deadline = monotonic_deadline(nanoseconds);
    return wait_until(word, expected, &deadline);
}

// A private wake hashes the address and looks for sleepers under that key. It does not read the word, and an
// address that is no longer mapped has no sleepers: the call returns 0.
void address_wake_one(const std::atomic<std::uint32_t>& word) noexcept {
    futex(word, FUTEX_WAKE, 1, nullptr);
}

void address_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
    futex(word, FUTEX_WAKE, static_cast<std::uint32_t>(INT_MAX), nullptr);
}

}  // namespace sluice::platform
