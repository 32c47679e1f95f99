#pragma once

#include <chrono>
#include <cstdint>

namespace sluice::platform {

/// Without a cycle counter a cycle is a nanosecond of the steady clock.
[[nodiscard]] inline std::uint64_t cycles() noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

/// Standard C++ has no hint for a spin loop. Callers yield every few rounds, and that is all there is here.
inline void cpu_relax() noexcept {}

/// As above: nothing in standard C++ asks for a cache line ahead.
inline void prefetch_for_write(const void* /*line*/) noexcept {}

}  // namespace sluice::platform
