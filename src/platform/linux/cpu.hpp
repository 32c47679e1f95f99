#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace sluice::platform {

/// CLOCK_MONOTONIC; declared here too because cycles() falls back on it.
[[nodiscard]] std::int64_t now_ns() noexcept;

#if defined(__x86_64__)

/// Whether the time stamp counter ticks at one rate on all CPUs and through sleep states. Asked once a
/// process.
[[nodiscard]] bool probe_invariant_tsc() noexcept;

/// After the first call a load and a branch that is always taken the same way; rdtsc itself costs ten times
/// that.
[[nodiscard]] inline bool cycles_are_tsc() noexcept {
    static const bool invariant = probe_invariant_tsc();
    return invariant;
}

/// Not ordered with the instructions around it: for measuring, not for deciding who was first.
[[nodiscard]] inline std::uint64_t cycles() noexcept {
    return cycles_are_tsc() ? __rdtsc() : static_cast<std::uint64_t>(now_ns());
}

/// Tells the CPU that this is a spin loop: gives the other hyper-thread room, and avoids the pipeline flush
/// on exit.
inline void cpu_relax() noexcept {
    _mm_pause();
}

#else

[[nodiscard]] inline bool cycles_are_tsc() noexcept {
    return false;
}

[[nodiscard]] inline std::uint64_t cycles() noexcept {
    return static_cast<std::uint64_t>(now_ns());
}

inline void cpu_relax() noexcept {
#if defined(__aarch64__)
    asm volatile("isb");  // `yield` is a no-op on most cores; the barrier really waits a few cycles
#endif
}

#endif

}  // namespace sluice::platform
