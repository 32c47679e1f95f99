#pragma once

// A count whose low end lies in somebody's packed word, where it costs nothing to count, and whose rest lies beside it.
//
//   low    `LowBits` bits of the packed word: the true count modulo 2^LowBits. Its lower `LowBits - 2` bits count inside a
//          *lap*, its upper two number the laps modulo 4.
//   laps   a 64-bit word of its own: how many laps are complete, or a little less.
//
// Written by: `low` by whoever counts, in one step with whatever else the packed word says. `laps` by CAS from n to n + 1, by
// anybody who sees that it is behind: normally the one that completed the lap.
// Invariant: 0 <= true laps - `laps` < 4, so the two bits tell how far `laps` is behind, and the true count is known from the two
// words at any moment, also while the thread that owes the step to `laps` is suspended. It holds because nobody begins a lap
// while `laps` is behind (may_count); a CAS on the packed word that was overtaken by a whole multiple of 2^LowBits counts (ABA)
// can break that rule once, and the second lap bit is there for it.

#include <cstdint>

namespace sluice::core {

template <unsigned LowBits>
struct SplitCount {
    static_assert(LowBits > 2);
    static constexpr std::uint64_t lap = std::uint64_t{1} << (LowBits - 2);

    /// By how many laps `laps` is behind.
    [[nodiscard]] static constexpr std::uint64_t behind(std::uint64_t low, std::uint64_t laps) noexcept {
        return (low / lap - laps) % 4;
    }
    [[nodiscard]] static constexpr std::uint64_t total(std::uint64_t low, std::uint64_t laps) noexcept {
        return (laps + behind(low, laps)) * lap + low % lap;
    }
    /// The next count begins a new lap.
    [[nodiscard]] static constexpr bool ends_lap(std::uint64_t low) noexcept {
        return low % lap == lap - 1;
    }
    /// Whether one more may be counted; if not, `laps` is to be brought up first.
    [[nodiscard]] static constexpr bool may_count(std::uint64_t low, std::uint64_t laps) noexcept {
        return !ends_lap(low) || behind(low, laps) == 0;
    }
};

}  // namespace sluice::core
