#pragma once

// Counted permits: how many there are, and how many are out.
//
//   bit  0..31  out       permits in somebody's hands
//   bit 32..63  capacity  all permits; written once, and in the word so that one load tells the whole state
//
// Written by: any thread, by CAS (sync/permits.hpp). Invariant: out <= capacity. A taker moves `out` up only
// below the capacity; a giver moves it down only above zero.

#include <cstdint>

namespace sluice::core {

struct PermitWord {
    std::uint64_t bits = 0;

    [[nodiscard]] constexpr std::uint32_t out() const noexcept {
        return static_cast<std::uint32_t>(bits);
    }
    [[nodiscard]] constexpr std::uint32_t capacity() const noexcept {
        return static_cast<std::uint32_t>(bits >> 32U);
    }
    [[nodiscard]] constexpr std::uint32_t available() const noexcept {
        return capacity() - out();
    }

    [[nodiscard]] static constexpr PermitWord of(std::uint32_t capacity, std::uint32_t out) noexcept {
        return {std::uint64_t{capacity} << 32U | out};
    }

    friend constexpr bool operator==(PermitWord, PermitWord) = default;
};

/// The word to write, and whether there is anything to write; if not, `after` is what was there before.
struct PermitStep {
    PermitWord after;
    bool allowed = false;
};

/// A taker: one more is out, unless all are.
[[nodiscard]] constexpr PermitStep one_taken(PermitWord before) noexcept {
    if (before.out() == before.capacity()) {
        return {before, false};
    }
    return {PermitWord::of(before.capacity(), before.out() + 1), true};
}

/// A giver: one less is out. Refused if none is: somebody gave back what he did not have.
[[nodiscard]] constexpr PermitStep one_given_back(PermitWord before) noexcept {
    if (before.out() == 0) {
        return {before, false};
    }
    return {PermitWord::of(before.capacity(), before.out() - 1), true};
}

}  // namespace sluice::core
