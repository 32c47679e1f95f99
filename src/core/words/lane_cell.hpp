#pragma once

// One cell of a lane's ring (sync/lane_queue.hpp). Pure: what a cell says, and what it may say next.
//
//   bit  0..1   kind: empty, item, or frozen: dropped (nothing of it is left) or kept (its item moves on)
//   bit  2..23  slot of the item
//   bit 24..63  position in the lane; never used twice, so a cell never says the same thing twice
//
// Transitions of the cell of position p, in a ring of c cells: {p, empty} -> {p, slot, item} -> {p + c, empty}, and any of
// them -> frozen, once. 40 bits of positions last 30 hours at ten million items a second, and to be fooled a thread would
// have to sleep between its load and its CAS for exactly that long.

#include <cstdint>

namespace sluice::core {

struct LaneCell {
    std::uint64_t bits = 0;

    enum class Kind : std::uint8_t { empty, item, dropped, kept };

    static constexpr unsigned slot_bits = 22;
    static constexpr std::uint32_t most_slots = 1U << slot_bits;
    static constexpr std::uint64_t most_positions = std::uint64_t{1} << (62 - slot_bits);

    [[nodiscard]] constexpr Kind kind() const noexcept {
        return static_cast<Kind>(bits & 3U);
    }
    [[nodiscard]] constexpr bool frozen() const noexcept {
        return kind() >= Kind::dropped;
    }
    [[nodiscard]] constexpr std::uint32_t slot() const noexcept {
        return static_cast<std::uint32_t>(bits >> 2U) & (most_slots - 1);
    }
    [[nodiscard]] constexpr std::uint64_t position() const noexcept {
        return bits >> (2 + slot_bits);
    }

    [[nodiscard]] static constexpr LaneCell of(std::uint64_t position, Kind kind,
                                               std::uint32_t slot = 0) noexcept {
        return {position << (2 + slot_bits) | std::uint64_t{slot} << 2U | static_cast<std::uint64_t>(kind)};
    }

    friend constexpr bool operator==(LaneCell, LaneCell) = default;
};

/// {p, empty} -> {p, slot, item}.
[[nodiscard]] constexpr LaneCell filled(LaneCell empty, std::uint32_t slot) noexcept {
    return LaneCell::of(empty.position(), LaneCell::Kind::item, slot);
}
/// {p, slot, item} -> {p + capacity, empty}.
[[nodiscard]] constexpr LaneCell emptied(LaneCell item, std::uint64_t capacity) noexcept {
    return LaneCell::of(item.position() + capacity, LaneCell::Kind::empty);
}
/// Not frozen -> frozen. Only an item can be kept.
[[nodiscard]] constexpr LaneCell frozen(LaneCell cell, bool keep) noexcept {
    return LaneCell::of(cell.position(), keep ? LaneCell::Kind::kept : LaneCell::Kind::dropped, cell.slot());
}

}  // namespace sluice::core
