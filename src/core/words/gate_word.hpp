#pragma once

// The word that decides who may take a turn, and what a snapshot of a gate rests on.
//
//   bit  0..15  in_flight  tickets in somebody's hands
//   bit 16..31  waiting    waiters in the line that have no outcome yet
//   bit 32..47  newest     the waiter that joined last and was not taken in yet: the top of a stack that goes down from waiter to
//                          waiter; `nobody` if all were taken in
//   bit 48      paused     a backoff is on: nobody is admitted
//   bit 49      closed     the gate is shut down: nobody is admitted, nobody may join
//   bit 50      deserted   the gate is destroyed: the last ticket frees what is left
//   bit 51..53  epoch      counts, modulo 8, changes of what lies beside the word and is read with it: the cap, the end of the
//                          backoff
//   bit 54..57  joined     waiters that ever joined, the low end of a SplitCount
//   bit 58..63  admitted   tickets that were ever given, the low end of a SplitCount
//
// Written by: any thread, by CAS (src/gate). Invariants:
// - A ticket is given only while in_flight < cap, and either nobody waits, or the ticket is for a waiter; so T3 and T4.
// - Who joins says `waiting + 1` and is put on top of the stack by the same CAS. So the order of the stack is the order of the
//   positions, and the position is true.
// - in_flight, waiting, joined and admitted change in one step, so tickets given back = admitted - in_flight, and waiters that
//   came to an outcome = joined - waiting, exactly, at any moment (T19).
// - A decision that rests on something beside the word reads the word first. Whoever changes such a thing writes it, and then
//   moves the epoch; a CAS that rests on the old value then fails. (Were the thread suspended for exactly a multiple of 8
//   changes that end in the same word, it would succeed; that takes the same counts of all above.)

#include <cstdint>

#include "core/words/split_count.hpp"

namespace sluice::core {

using AdmittedCount = SplitCount<6>;
using JoinedCount = SplitCount<4>;

struct GateWord {
    std::uint64_t bits = std::uint64_t{0xffff} << 32;  // nobody has joined

    static constexpr std::uint32_t nobody = 0xffff;
    static constexpr std::uint32_t in_flight_max = 0xffff;
    static constexpr std::uint32_t waiting_max =
        0x7fff;  // there are twice as many places, and an index of 16 bits

    static constexpr unsigned waiting_shift = 16;
    static constexpr unsigned newest_shift = 32;
    static constexpr std::uint64_t newest_mask = std::uint64_t{0xffff} << newest_shift;
    static constexpr std::uint64_t paused_bit = std::uint64_t{1} << 48;
    static constexpr std::uint64_t closed_bit = std::uint64_t{1} << 49;
    static constexpr std::uint64_t deserted_bit = std::uint64_t{1} << 50;
    static constexpr std::uint64_t epoch_unit = std::uint64_t{1} << 51;
    static constexpr std::uint64_t epoch_mask = std::uint64_t{7} << 51;
    static constexpr std::uint64_t joined_unit = std::uint64_t{1} << 54;
    static constexpr std::uint64_t joined_mask = std::uint64_t{15} << 54;
    static constexpr std::uint64_t admitted_unit = std::uint64_t{1} << 58;
    static constexpr std::uint64_t waiting_unit = std::uint64_t{1} << waiting_shift;

    [[nodiscard]] constexpr std::uint32_t in_flight() const noexcept {
        return static_cast<std::uint32_t>(bits & 0xffffU);
    }
    [[nodiscard]] constexpr std::uint32_t waiting() const noexcept {
        return static_cast<std::uint32_t>(bits >> waiting_shift & 0xffffU);
    }
    [[nodiscard]] constexpr std::uint32_t newest() const noexcept {
        return static_cast<std::uint32_t>(bits >> newest_shift & 0xffffU);
    }
    [[nodiscard]] constexpr bool paused() const noexcept {
        return (bits & paused_bit) != 0;
    }
    [[nodiscard]] constexpr bool closed() const noexcept {
        return (bits & closed_bit) != 0;
    }
    [[nodiscard]] constexpr bool deserted() const noexcept {
        return (bits & deserted_bit) != 0;
    }
    [[nodiscard]] constexpr std::uint64_t joined() const noexcept {
        return (bits & joined_mask) >> 54U;
    }
    [[nodiscard]] constexpr std::uint64_t admitted() const noexcept {
        return bits >> 58U;
    }

    friend constexpr bool operator==(GateWord, GateWord) = default;
};

/// Whether somebody who comes now gets a ticket, and if not, why.
enum class Entry : std::uint8_t {
    admit,          ///< CAS to one_admitted().
    no_room,        ///< All tickets are out.
    behind_others,  ///< There may be room, but it is for those who wait.
    paused,         ///< A backoff is on, or was: look at the time.
    closed,
};

[[nodiscard]] constexpr Entry entry(GateWord word, std::uint32_t cap) noexcept {
    if (word.closed())
        return Entry::closed;
    if (word.paused())
        return Entry::paused;
    if (word.waiting() != 0)
        return Entry::behind_others;
    return word.in_flight() < cap ? Entry::admit : Entry::no_room;
}

/// Whether the head of the line gets a ticket.
[[nodiscard]] constexpr bool may_grant(GateWord word, std::uint32_t cap) noexcept {
    return !word.closed() && !word.paused() && word.waiting() != 0 && word.in_flight() < cap;
}

/// Somebody came and took a ticket. The count of tickets overflows out of the word, where a SplitCount wants it to wrap.
[[nodiscard]] constexpr GateWord one_admitted(GateWord old) noexcept {
    return {old.bits + 1 + GateWord::admitted_unit};
}
/// The head of the line was granted its ticket.
[[nodiscard]] constexpr GateWord one_granted(GateWord old) noexcept {
    return {old.bits + 1 + GateWord::admitted_unit - GateWord::waiting_unit};
}
/// A ticket came back.
[[nodiscard]] constexpr GateWord one_released(GateWord old) noexcept {
    return {old.bits - 1};
}
/// A waiter joins the line at position waiting() + 1, and is the newest.
[[nodiscard]] constexpr GateWord one_joined(GateWord old, std::uint32_t waiter) noexcept {
    const std::uint64_t count =
        ((old.bits & GateWord::joined_mask) + GateWord::joined_unit) & GateWord::joined_mask;
    const std::uint64_t others = old.bits & ~(GateWord::joined_mask | GateWord::newest_mask);
    return {(others | count | std::uint64_t{waiter} << GateWord::newest_shift) + GateWord::waiting_unit};
}
/// That many waiters came to another outcome than a ticket.
[[nodiscard]] constexpr GateWord some_dropped(GateWord old, std::uint32_t count) noexcept {
    return {old.bits - count * GateWord::waiting_unit};
}
/// Whoever tends the line takes in those who joined.
[[nodiscard]] constexpr GateWord all_taken_in(GateWord old) noexcept {
    return {old.bits | GateWord::newest_mask};
}
/// Something beside the word was changed.
[[nodiscard]] constexpr GateWord epoch_moved(GateWord old) noexcept {
    return {(old.bits & ~GateWord::epoch_mask) | ((old.bits + GateWord::epoch_unit) & GateWord::epoch_mask)};
}
/// A backoff begins, or ends later than it did.
[[nodiscard]] constexpr GateWord made_pause(GateWord old) noexcept {
    return {epoch_moved(old).bits | GateWord::paused_bit};
}
[[nodiscard]] constexpr GateWord resumed(GateWord old) noexcept {
    return {old.bits & ~GateWord::paused_bit};
}

}  // namespace sluice::core
