#pragma once

// The word of a slot of the pool: where its item stands, who still holds on to it, and which of the slot's many lives
// this is. Pure: old word -> new word; src/pool does the atomic part.
//
//   bit  0..2   phase: free, drafted (being filled), queued, running, then one of the four ends
//   bit  3      dropped: the handle let go
//   bit  4      settled: whoever ended the item is through with the slot
//   bit  5      orphan: the pool is gone; the handle's release goes to what is left of it
//   bit  8..63  generation: which life of the slot
//
// Invariants. drafted -> queued -> running -> ran or thrown; queued -> cancelled or discarded; drafted -> discarded. An
// item leaves `queued` by one CAS, so it is run or cancelled or discarded, one of the three, and once (P6). The later
// one of `settled` and `dropped` frees the slot.

#include <cstdint>

namespace sluice::core {

enum class ItemPhase : std::uint8_t { free, drafted, queued, running, ran, thrown, cancelled, discarded };

struct ItemWord {
    std::uint64_t bits = 0;

    static constexpr std::uint64_t phase_mask = 7;
    static constexpr std::uint64_t dropped_bit = 1U << 3U;
    static constexpr std::uint64_t settled_bit = 1U << 4U;
    static constexpr std::uint64_t orphan_bit = 1U << 5U;
    static constexpr std::uint64_t generation_unit = 1U << 8U;

    [[nodiscard]] constexpr ItemPhase phase() const noexcept {
        return static_cast<ItemPhase>(bits & phase_mask);
    }
    [[nodiscard]] constexpr bool queued() const noexcept {
        return phase() == ItemPhase::queued;
    }
    /// Ended, one way or another.
    [[nodiscard]] constexpr bool ended() const noexcept {
        return phase() >= ItemPhase::ran;
    }
    [[nodiscard]] constexpr bool dropped() const noexcept {
        return (bits & dropped_bit) != 0;
    }
    [[nodiscard]] constexpr bool settled() const noexcept {
        return (bits & settled_bit) != 0;
    }
    [[nodiscard]] constexpr bool orphan() const noexcept {
        return (bits & orphan_bit) != 0;
    }
    [[nodiscard]] constexpr std::uint64_t generation() const noexcept {
        return bits / generation_unit;
    }

    friend constexpr bool operator==(ItemWord, ItemWord) = default;
};

/// free -> drafted, in the next life; a handle is about.
[[nodiscard]] constexpr ItemWord drafted(ItemWord old) noexcept {
    return {(old.generation() + 1) * ItemWord::generation_unit |
            static_cast<std::uint64_t>(ItemPhase::drafted)};
}

/// Any phase to another one, in the same life and with the same holders.
[[nodiscard]] constexpr ItemWord moved_to(ItemWord old, ItemPhase phase) noexcept {
    return {(old.bits & ~ItemWord::phase_mask) | static_cast<std::uint64_t>(phase)};
}

/// What a worker adds to a running item when it has ended: nothing carries, and no other bit changes.
inline constexpr std::uint64_t ran_step = static_cast<std::uint64_t>(ItemPhase::ran) -
                                          static_cast<std::uint64_t>(ItemPhase::running) +
                                          ItemWord::settled_bit;
inline constexpr std::uint64_t thrown_step = ran_step + 1;

/// Any phase -> free, keeping the life; nobody holds on.
[[nodiscard]] constexpr ItemWord freed(ItemWord old) noexcept {
    return {old.generation() * ItemWord::generation_unit};
}

static_assert(ItemWord{static_cast<std::uint64_t>(ItemPhase::running) + ran_step}.phase() == ItemPhase::ran);
static_assert(ItemWord{static_cast<std::uint64_t>(ItemPhase::running) + thrown_step}.phase() ==
              ItemPhase::thrown);

}  // namespace sluice::core
