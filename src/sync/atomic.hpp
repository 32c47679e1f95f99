#pragma once

// The seam: everything that src/sync says to another thread goes through the names in this file, and nothing
// else.
//
// How a controlled scheduler takes over: it brings a file of the same name and shape, `sync/atomic.hpp`, in a
// folder that its test puts before src/ on the include path. There `atomic<T>` hands control to the scheduler
// before each operation, and the waiting functions block a simulated thread. No structure changes by a
// character. Such a test links nothing that was compiled against this file (the types have the same names),
// only headers of src/sync and src/core. A tidy test refuses `std::atomic` and `std::memory_order` in the
// other files of the folder, so the seam stays whole.

#include "platform/clock.hpp"
#include "platform/cpu.hpp"
#include "platform/futex.hpp"

#include <atomic>
#include <cstdint>

namespace sluice::sync {

template <typename T>
using atomic = std::atomic<T>;

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

using platform::WaitResult;

/// Sleeping on a word; the contract is in platform/futex.hpp.
inline void wait(const atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    platform::address_wait(word, expected);
}

[[nodiscard]] inline WaitResult wait_for(const atomic<std::uint32_t>& word, std::uint32_t expected,
                                         std::int64_t nanoseconds) noexcept {
    return platform::address_wait_for(word, expected, nanoseconds);
}

inline void wake_one(const atomic<std::uint32_t>& word) noexcept {
    platform::address_wake_one(word);
}

inline void wake_all(const atomic<std::uint32_t>& word) noexcept {
    platform::address_wake_all(word);
}

/// Steady time, for what is left of a timeout after an early return.
[[nodiscard]] inline std::int64_t now_ns() noexcept {
    return platform::now_ns();
}

/// One round of a spin loop.
inline void relax() noexcept {
    platform::cpu_relax();
}

}  // namespace sluice::sync
