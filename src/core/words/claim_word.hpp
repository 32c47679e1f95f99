#pragma once

// What a worker has claimed from the run queue: an array of jobs beside this word, and which of them are left.
//
//   bit  0..15  end         one past the last job of the claim that is still the worker's
//   bit 16..31  next        the job that the worker takes next
//   bit 32..63  generation  counts claims, so that a revoker cannot confuse two of them
//
// Written by: the worker that owns it (publish, take_next), and the holder of the scheduler's role (revoke).
// Invariant: job i of a claim is executed by the worker if take_next() returned i, or given back if a revoke() covers i;
// one of the two and never both, because both happen on this one word.
//
// The owner takes by adding `one_taken` (a fetch_add, wait-free); the transition is here as a function so that tests can
// enumerate it. The addition cannot carry into the generation: next <= end + 1, for the owner stops after the first
// addition that found nothing left, and end <= most.

#include <cstdint>

namespace sluice::core {

struct ClaimWord {
    std::uint64_t bits = 0;

    static constexpr std::uint32_t most = 64;  ///< Jobs in one claim.
    static constexpr std::uint64_t one_taken = std::uint64_t{1} << 16;

    [[nodiscard]] constexpr std::uint32_t end() const noexcept {
        return static_cast<std::uint32_t>(bits & 0xffffU);
    }
    [[nodiscard]] constexpr std::uint32_t next() const noexcept {
        return static_cast<std::uint32_t>(bits >> 16 & 0xffffU);
    }
    [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
        return static_cast<std::uint32_t>(bits >> 32);
    }
    [[nodiscard]] constexpr std::uint32_t left() const noexcept {
        return next() < end() ? end() - next() : 0;
    }

    [[nodiscard]] static constexpr ClaimWord of(std::uint32_t generation, std::uint32_t next,
                                                std::uint32_t end) noexcept {
        return {std::uint64_t{generation} << 32 | std::uint64_t{next} << 16 | end};
    }

    friend constexpr bool operator==(ClaimWord, ClaimWord) = default;
};

/// The owner, with nothing left of the old claim: `jobs` new ones, none taken. Generations wrap; a revoker would have to
/// sleep through 2^32 claims between its load and its CAS, and find the same next and end, to be fooled.
[[nodiscard]] constexpr ClaimWord published(ClaimWord old, std::uint32_t jobs) noexcept {
    return ClaimWord::of(old.generation() + 1, 0, jobs);
}

/// What the owner's fetch_add found: the index of the job that is now its own, or that nothing is left.
struct Taken {
    bool mine = false;
    std::uint32_t index = 0;
};

[[nodiscard]] constexpr ClaimWord after_take(ClaimWord old) noexcept {
    return {old.bits + ClaimWord::one_taken};
}
[[nodiscard]] constexpr Taken taken(ClaimWord old) noexcept {
    return {old.next() < old.end(), old.next()};
}

/// The role takes everything that was not begun: jobs first..first+count-1 are the role's, if its CAS succeeds.
struct Revoked {
    ClaimWord word;
    std::uint32_t first = 0;
    std::uint32_t count = 0;  ///< 0: nothing to revoke, do not write.
};

[[nodiscard]] constexpr Revoked revoked(ClaimWord old) noexcept {
    if (old.left() == 0)
        return {old, 0, 0};
    return {ClaimWord::of(old.generation(), old.next(), old.next()), old.next(), old.left()};
}

}  // namespace sluice::core
