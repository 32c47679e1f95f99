#pragma once

// Time for measuring and for deadlines. `now_ns` is the truth and costs a clock reading (20 to 40 ns);
// `cycles` is for one reading a job (about 8 ns), and is turned into nanoseconds only as a difference.

#include "platform/cpu.hpp"  // cycles()

#include <cstdint>

namespace sluice::platform {

/// Steady time in nanoseconds since some fixed point (on Linux: CLOCK_MONOTONIC).
/// thread: any. progress: wait-free.
[[nodiscard]] std::int64_t now_ns() noexcept;

/// Length of one cycle of `cycles()`. The first call in the process may measure for about 200 us: do it at
/// start-up. Good to about one part in five thousand, so use it for durations, never for timestamps.
[[nodiscard]] double ns_per_cycle() noexcept;

/// A difference of two `cycles()` readings in nanoseconds. Between CPUs the later reading can be the smaller
/// one by a few cycles: a difference that went below zero, seen as unsigned, comes back as 0.
[[nodiscard]] inline std::int64_t cycles_to_ns(std::uint64_t cycle_count) noexcept {
    const auto difference = static_cast<std::int64_t>(cycle_count);
    return difference <= 0 ? 0 : static_cast<std::int64_t>(static_cast<double>(difference) * ns_per_cycle());
}

}  // namespace sluice::platform
