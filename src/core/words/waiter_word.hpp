#pragma once

// Where one waiter stands, what it is to be told, and who still needs its memory.
//
//   bit  0..2   phase       free, joining, waiting, chosen, or an outcome
//   bit  3      carried     some thread is its *courier*: it alone calls the waiter's callbacks
//   bit  4      news        `position` has not been told yet
//   bit  5      unlinked    it is in no line and no stack any more
//   bit  6      delivered   it was told its outcome, or that is not needed
//   bit 16..31  position    the newest
//   bit 32..63  generation  which life of this memory, modulo 2^32
//
// Parties. *Submitter*: the thread inside submit(); the courier until it returns, so no callback comes before that. *Holder*: whoever
// holds the gate's baton; chooses, grants, posts positions, unlinks. *Anyone*: drops a waiter that waits, by this word alone.
// *Courier*: whoever set `carried`.
// Invariants.
// - Phases go free -> joining -> waiting -> outcome -> free; the holder may also choose a joining waiter, or shut it down. `granted` is
//   reached through `chosen`, which nobody but the holder leaves: it decides that the waiter gets a ticket, then counts the ticket in
//   the gate's word, and only then lets the courier see it, who might give it back at once. Each other outcome, and `chosen`, is
//   reached by one CAS from an open phase, so a waiter has exactly one (T21).
// - One courier at a time, and it takes the newest position, before the outcome: so callbacks of one waiter come one after the
//   other, positions in order, none stale (T7).
// - The later one of `unlinked` and `delivered` frees.

#include <cstdint>

namespace sluice::core {

enum class WaiterPhase : std::uint8_t {
    free,
    joining,
    waiting,
    chosen,
    granted,
    cancelled,
    expired,
    shut_down
};

struct WaiterWord {
    std::uint64_t bits = 0;

    static constexpr std::uint64_t phase_mask = 7;
    static constexpr std::uint64_t carried_bit = 1U << 3U;
    static constexpr std::uint64_t news_bit = 1U << 4U;
    static constexpr std::uint64_t unlinked_bit = 1U << 5U;
    static constexpr std::uint64_t delivered_bit = 1U << 6U;
    static constexpr unsigned position_shift = 16;
    static constexpr std::uint64_t position_mask = std::uint64_t{0xffff} << position_shift;
    static constexpr std::uint64_t one_generation = std::uint64_t{1} << 32U;

    [[nodiscard]] constexpr WaiterPhase phase() const noexcept {
        return static_cast<WaiterPhase>(bits & phase_mask);
    }
    /// Nothing is decided yet.
    [[nodiscard]] constexpr bool open() const noexcept {
        return phase() == WaiterPhase::joining || phase() == WaiterPhase::waiting;
    }
    /// It has an outcome that may be told.
    [[nodiscard]] constexpr bool ended() const noexcept {
        return phase() > WaiterPhase::chosen;
    }
    [[nodiscard]] constexpr bool carried() const noexcept {
        return (bits & carried_bit) != 0;
    }
    [[nodiscard]] constexpr bool has_news() const noexcept {
        return (bits & news_bit) != 0;
    }
    [[nodiscard]] constexpr bool unlinked() const noexcept {
        return (bits & unlinked_bit) != 0;
    }
    [[nodiscard]] constexpr bool delivered() const noexcept {
        return (bits & delivered_bit) != 0;
    }
    [[nodiscard]] constexpr std::uint32_t position() const noexcept {
        return static_cast<std::uint32_t>((bits & position_mask) >> position_shift);
    }
    [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
        return static_cast<std::uint32_t>(bits >> 32U);
    }

    friend constexpr bool operator==(WaiterWord, WaiterWord) = default;
};

/// Any part of the word but the phase: `with(word, phase)` goes to another phase.
[[nodiscard]] constexpr WaiterWord with(WaiterWord old, WaiterPhase phase) noexcept {
    return {(old.bits & ~WaiterWord::phase_mask) | static_cast<std::uint64_t>(phase)};
}

/// free -> joining, in the next life, with the submitter as courier.
[[nodiscard]] constexpr WaiterWord drafted(WaiterWord old) noexcept {
    const std::uint64_t generation =
        (old.bits + WaiterWord::one_generation) & ~(WaiterWord::one_generation - 1);
    return {generation | WaiterWord::carried_bit | static_cast<std::uint64_t>(WaiterPhase::joining)};
}
/// Any -> free, keeping the life.
[[nodiscard]] constexpr WaiterWord freed(WaiterWord old) noexcept {
    return {old.bits & ~(WaiterWord::one_generation - 1)};
}

/// What a step asks of its caller.
enum class WaiterTask : std::uint8_t {
    refused,  ///< Not possible in this phase; nothing was to be written.
    none,     ///< Somebody else is the courier, and will see.
    carry,    ///< The caller is the courier now.
    free,     ///< The caller was the last to need the memory.
};
struct WaiterStep {
    WaiterWord after;
    WaiterTask task = WaiterTask::refused;
};

[[nodiscard]] constexpr WaiterStep carried_by_someone(WaiterWord word) noexcept {
    if (word.carried())
        return {word, WaiterTask::none};
    return {{word.bits | WaiterWord::carried_bit}, WaiterTask::carry};
}

/// The holder decides that the waiter gets a ticket; from here on nobody can drop it.
[[nodiscard]] constexpr WaiterStep chosen(WaiterWord old) noexcept {
    if (!old.open())
        return {old, WaiterTask::refused};
    return {with(old, WaiterPhase::chosen), WaiterTask::none};
}
/// The holder has counted the ticket, and has taken the waiter out of the line. A position that was not told yet is told first.
[[nodiscard]] constexpr WaiterStep granted(WaiterWord old) noexcept {
    return carried_by_someone({with(old, WaiterPhase::granted).bits | WaiterWord::unlinked_bit});
}
/// Anyone drops a waiter that waits; the holder, for `shut_down`, also one that is joining. Its position matters no more.
[[nodiscard]] constexpr WaiterStep dropped(WaiterWord old, WaiterPhase outcome) noexcept {
    const bool may = old.phase() == WaiterPhase::waiting ||
                     (old.phase() == WaiterPhase::joining && outcome == WaiterPhase::shut_down);
    if (!may)
        return {old, WaiterTask::refused};
    return carried_by_someone({with(old, outcome).bits & ~WaiterWord::news_bit});
}
/// The holder posts a new position.
[[nodiscard]] constexpr WaiterStep posted(WaiterWord old, std::uint32_t position) noexcept {
    if (!old.open())
        return {old, WaiterTask::refused};
    return carried_by_someone({(old.bits & ~WaiterWord::position_mask) | WaiterWord::news_bit |
                               std::uint64_t{position} << WaiterWord::position_shift});
}
/// The holder has taken a waiter with an outcome out of the line.
[[nodiscard]] constexpr WaiterStep unlinked(WaiterWord old) noexcept {
    return {{old.bits | WaiterWord::unlinked_bit}, old.delivered() ? WaiterTask::free : WaiterTask::none};
}

/// What the courier does next.
enum class CourierTask : std::uint8_t {
    rest,      ///< Nothing is left to tell; it is the courier no more.
    position,  ///< Tell the position, and come again.
    outcome,   ///< Tell the outcome, then delivered().
};
struct CourierStep {
    WaiterWord after;
    CourierTask task = CourierTask::rest;
};

/// The courier looks what is to be told. A submitter at the end of submit() is one, and becomes a waiter's by resting.
[[nodiscard]] constexpr CourierStep collected(WaiterWord old) noexcept {
    if (old.has_news())
        return {{old.bits & ~WaiterWord::news_bit}, CourierTask::position};
    if (old.ended())
        return {old, CourierTask::outcome};
    const WaiterWord resting{old.bits & ~WaiterWord::carried_bit};
    return {old.phase() == WaiterPhase::joining ? with(resting, WaiterPhase::waiting) : resting,
            CourierTask::rest};
}
/// The courier has told the outcome, and its callbacks are gone.
[[nodiscard]] constexpr WaiterStep delivered(WaiterWord old) noexcept {
    return {{old.bits | WaiterWord::delivered_bit}, old.unlinked() ? WaiterTask::free : WaiterTask::none};
}

}  // namespace sluice::core
