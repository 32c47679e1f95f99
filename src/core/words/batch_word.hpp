#pragma once

// The word that tells how many Batches (E26) hold back the wake-ups of one lease of a thread's slot, and which lease that
// is. Pure: old word -> new word; src/executor does the atomic part.
//
//   bits 0-31   open    Batches that are open on this lease
//   bits 32-63  lease   how often the slot has changed hands, modulo 2^32
//
// Written by: the thread that has the lease (opens, and ends the lease), and whoever destroys a Batch, which may be another
// thread, and may come after the lease's end.
//
// Invariant: a Batch closes nothing but the lease that it was opened on. When that has ended it holds nothing back any more.

#include <cstdint>

namespace sluice::core::batch_word {

inline constexpr std::uint64_t one_batch = 1;
inline constexpr std::uint64_t one_lease = std::uint64_t{1} << 32U;

[[nodiscard]] constexpr std::uint32_t open(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word);
}
[[nodiscard]] constexpr std::uint32_t lease(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word >> 32U);
}

/// One Batch more on the lease. (2^32 at once would not fit into memory.)
[[nodiscard]] constexpr std::uint64_t opened(std::uint64_t word) noexcept {
    return word + one_batch;
}
/// One less, if it was opened on this lease; else unchanged.
[[nodiscard]] constexpr std::uint64_t closed(std::uint64_t word, std::uint32_t opened_on) noexcept {
    return lease(word) == opened_on && open(word) != 0 ? word - one_batch : word;
}
/// The next lease, with none open.
[[nodiscard]] constexpr std::uint64_t next_lease(std::uint64_t word) noexcept {
    return (word & ~(one_lease - 1)) + one_lease;
}

static_assert(next_lease(0xFFFF'FFFF'0000'0003U) == 0);

}  // namespace sluice::core::batch_word
