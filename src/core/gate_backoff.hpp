#pragma once

// How long a gate pauses when the provider pushes back (T10), as transitions of one packed word. PURE.
//
//   bit  0..21  length  of the next first pause, in milliseconds: the base, or what rate limits have made of it
//   bit 22..63  until   when the pause ends: microseconds since the gate began, modulo 2^42 (50 days)
//
// Written by: any thread, by CAS (src/gate/gate_pause.cpp). `until` is looked at only while the gate's word says `paused`, and a
// pause is never longer than `longest_pause`, so it is told from a past one by its distance modulo 2^42.

#include <algorithm>
#include <cstdint>

namespace sluice::core {

/// What a gate's configuration says about pauses.
struct BackoffRules {
    std::uint32_t base_ms = 1'000;
    std::uint32_t max_ms = 60'000;
    double jitter = 0;  ///< 0..1: a pause is lengthened by up to this share of it
};

struct BackoffWord {
    std::uint64_t bits = 0;

    static constexpr unsigned until_shift = 22;
    static constexpr std::uint64_t length_max_ms = (std::uint64_t{1} << until_shift) - 1;  // 69 minutes
    static constexpr std::uint64_t until_mask = (std::uint64_t{1} << 42U) - 1;

    [[nodiscard]] constexpr std::uint32_t length_ms() const noexcept {
        return static_cast<std::uint32_t>(bits & length_max_ms);
    }
    [[nodiscard]] constexpr std::uint64_t until_us() const noexcept {
        return bits >> until_shift;
    }
    [[nodiscard]] static constexpr BackoffWord of(std::uint32_t length_ms, std::uint64_t until_us) noexcept {
        return {(until_us & until_mask) << until_shift | length_ms};
    }

    friend constexpr bool operator==(BackoffWord, BackoffWord) = default;
};

/// Longer is taken as this: a day.
inline constexpr std::int64_t longest_pause_ns = 86'400'000'000'000;

/// What is left of the pause at `now_ns`; 0 or less: it is over. Rounded up to the microsecond in which it ends.
[[nodiscard]] constexpr std::int64_t pause_left_ns(BackoffWord word, std::int64_t now_ns) noexcept {
    const auto now_us = static_cast<std::uint64_t>(now_ns / 1'000);
    std::uint64_t ahead = (word.until_us() - now_us) & BackoffWord::until_mask;
    if (ahead > BackoffWord::until_mask / 2)
        return 0;  // in the past
    return static_cast<std::int64_t>(ahead) * 1'000 - now_ns % 1'000;
}

/// splitmix64: the n-th number of the generator with that seed, in [0, 1). A function of n, so threads need no common state
/// but a counter.
[[nodiscard]] constexpr double jitter_number(std::uint64_t seed, std::uint64_t n) noexcept {
    std::uint64_t z = seed + (n + 1) * 0x9E37'79B9'7F4A'7C15ULL;
    z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBULL;
    return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1p-53;
}

/// The provider said "too many" (again). During a pause the length doubles, up to the maximum; the pause starts anew from now,
/// lasts as long as the provider asked if that is longer, is lengthened by jitter, and never ends earlier than it would have.
[[nodiscard]] constexpr BackoffWord rate_limited(BackoffWord old, bool pausing, const BackoffRules& rules,
                                                 std::int64_t now_ns, std::int64_t retry_after_ns,
                                                 double random) noexcept {
    const std::int64_t left_ns = pausing ? std::max<std::int64_t>(pause_left_ns(old, now_ns), 0) : 0;
    std::uint64_t length_ms = old.length_ms();
    if (left_ns > 0)
        length_ms = std::min<std::uint64_t>(length_ms * 2, rules.max_ms);
    std::int64_t pause_ns = std::max(static_cast<std::int64_t>(length_ms) * 1'000'000, retry_after_ns);
    pause_ns = std::min(pause_ns, longest_pause_ns);
    pause_ns += static_cast<std::int64_t>(static_cast<double>(pause_ns) * rules.jitter * random);
    pause_ns = std::max(pause_ns, left_ns);
    const std::int64_t until_us = (now_ns + pause_ns + 999) / 1'000;  // never too short
    return BackoffWord::of(static_cast<std::uint32_t>(length_ms), static_cast<std::uint64_t>(until_us));
}

/// A turn went well outside a pause: the length halves, down to the base.
[[nodiscard]] constexpr BackoffWord went_well(BackoffWord old, const BackoffRules& rules) noexcept {
    return BackoffWord::of(std::max(rules.base_ms, old.length_ms() / 2), old.until_us());
}

}  // namespace sluice::core
