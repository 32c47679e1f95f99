#pragma once

// The word that engine and handle share over one job's memory: where the job stands, who still holds on to it, and which
// of the node's many lives this is. Pure: old word -> new word; src/executor does the atomic part.
//
//   bits 0-1   phase: 0 free, 1 drafted (being filled), 2 queued (until the job has ended), 3 done
//   bit  2     waiter: somebody sleeps on this word
//   bit  3     dropped: the handle let go
//   bit  4     orphan: the engine is gone; the handle's release goes to what is left of it
//   bit  5     continuation: something is to run when the job ends, and the handle belongs to it
//   bit  6     stopped: its std::stop_token was triggered before it started: it will not run
//   bit  7     started: who is to run or end a job with a token took it from the token
//   bits 8-31  generation: which life of the node, modulo 2^24
//
// Invariants. Phases go 0 -> 1 -> 2 -> 3 -> 0. A node without a handle goes 2 -> 0. The later one of `done` and `dropped`
// frees. `waiter`, `dropped` and `continuation` exclude each other as long as handles are used by one thread at a time.

#include <cstdint>

namespace sluice::core::job_word {

enum class Phase : std::uint8_t { free, drafted, queued, done };

inline constexpr std::uint32_t phase_mask = 3;
inline constexpr std::uint32_t waiter_bit = 1U << 2U;
inline constexpr std::uint32_t dropped_bit = 1U << 3U;
inline constexpr std::uint32_t orphan_bit = 1U << 4U;
inline constexpr std::uint32_t continuation_bit = 1U << 5U;
inline constexpr std::uint32_t stopped_bit = 1U << 6U;
inline constexpr std::uint32_t started_bit = 1U << 7U;
inline constexpr std::uint32_t generation_unit = 1U << 8U;

/// Ending a job is one addition: `queued + 1 == done`, and nothing carries.
inline constexpr std::uint32_t ended_step = 1;

[[nodiscard]] constexpr Phase phase(std::uint32_t word) noexcept {
    return static_cast<Phase>(word & phase_mask);
}
[[nodiscard]] constexpr bool done(std::uint32_t word) noexcept {
    return phase(word) == Phase::done;
}
[[nodiscard]] constexpr bool has_waiter(std::uint32_t word) noexcept {
    return (word & waiter_bit) != 0;
}
[[nodiscard]] constexpr bool dropped(std::uint32_t word) noexcept {
    return (word & dropped_bit) != 0;
}
[[nodiscard]] constexpr bool has_continuation(std::uint32_t word) noexcept {
    return (word & continuation_bit) != 0;
}
[[nodiscard]] constexpr bool stopped(std::uint32_t word) noexcept {
    return (word & stopped_bit) != 0;
}
[[nodiscard]] constexpr bool started(std::uint32_t word) noexcept {
    return (word & started_bit) != 0;
}
[[nodiscard]] constexpr bool orphan(std::uint32_t word) noexcept {
    return (word & orphan_bit) != 0;
}

/// Which life of the node this is.
[[nodiscard]] constexpr std::uint32_t life(std::uint32_t word) noexcept {
    return word / generation_unit;
}

/// free -> drafted, in the next life.
[[nodiscard]] constexpr std::uint32_t draft(std::uint32_t word) noexcept {
    return ((word & ~(generation_unit - 1)) + generation_unit) | static_cast<std::uint32_t>(Phase::drafted);
}
/// drafted -> queued, an addition as well.
inline constexpr std::uint32_t queued_step = 1;
[[nodiscard]] constexpr std::uint32_t queue(std::uint32_t word) noexcept {
    return word + queued_step;
}
/// any -> free, keeping the life.
[[nodiscard]] constexpr std::uint32_t free(std::uint32_t word) noexcept {
    return word & ~(generation_unit - 1);
}

/// Whether the words show one and the same life of a queued job: what was read between them is of that job.
[[nodiscard]] constexpr bool same_queued_life(std::uint32_t before, std::uint32_t after) noexcept {
    return phase(before) == Phase::queued && phase(after) == Phase::queued && life(before) == life(after);
}

static_assert((static_cast<std::uint32_t>(Phase::queued) + ended_step) ==
              static_cast<std::uint32_t>(Phase::done));
static_assert(phase(draft(0xFFFF'FF1FU)) == Phase::drafted && draft(0xFFFF'FF1FU) >> 8U == 0);

}  // namespace sluice::core::job_word
