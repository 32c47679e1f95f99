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

/// Asks for a cache line that will soon be written, and that another CPU has written last. An instruction of its own: without
/// flags for a CPU that is known to have it, compilers ask for a line to be read, and the write waits all the same.
inline void prefetch_for_write(const void* line) noexcept {
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));  // a no-op where unknown
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

inline void prefetch_for_write(const void* line) noexcept {
    __builtin_prefetch(line, 1);
}

#endif

}  // namespace sluice::platform
