#pragma once

// Turns that ended since the limit was looked at last: how many, and how long they took together. One word, so that both are taken
// together.
//
//   bit  0..15  count
//   bit 16..63  microseconds in all (eight years)
//
// Written by: whoever ends a turn adds one; whoever looks takes all. Invariant: the count does not overflow, because a window is at
// most 10,000 turns and whoever fills it takes it away; beyond 60,000 nothing is added any more.

#include <cstdint>

namespace sluice::core {

struct WindowWord {
    std::uint64_t bits = 0;

    [[nodiscard]] constexpr std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(bits & 0xffffU);
    }
    [[nodiscard]] constexpr std::uint64_t total_us() const noexcept {
        return bits >> 16U;
    }
    friend constexpr bool operator==(WindowWord, WindowWord) = default;
};

[[nodiscard]] constexpr WindowWord one_ended(WindowWord old, std::int64_t took_ns) noexcept {
    if (old.count() >= 60'000)
        return old;
    const std::uint64_t us = took_ns > 0 ? static_cast<std::uint64_t>(took_ns) / 1'000 : 0;
    return {old.bits + 1 + (us << 16U)};
}

}  // namespace sluice::core
