#pragma once

// The admission table of E9, with E10 and the pause for a pending install (E15), as one pure function. It looks at one
// actor only: class limits, idle workers and heavy permits belong to the scheduler.

#include "core/actor_state.hpp"
#include "core/limits.hpp"

namespace sluice::core {

/// May the head of a class be admitted, as far as its own actor is concerned? Anything but `admit` and `needs_permit`
/// ends by an event of this actor, so the actor leaves the ring and is looked at again at that event.
enum class Verdict : std::uint8_t {
    admit,
    needs_permit,  ///< heavy_init: yes, if a permit can be had.
    nothing_queued,
    writer_in_flight,
    install_pending,  ///< E15: no new admission until the install has run.
    actor_cap_reached,
    interactive_barrier,  ///< E10: the interactive head is mutating, and this is maintenance.
    read_cap_reached,
    status_in_flight,
    readers_in_flight,  ///< E8: the writer barrier.
};

[[nodiscard]] constexpr bool admissible(Verdict verdict) noexcept {
    return verdict <= Verdict::needs_permit;
}

/// What holds for every lane of both classes of an actor.
[[nodiscard]] inline bool closed(const Actor& actor, const Limits& limits) noexcept {
    return actor.writer || actor.last_install != nullptr || actor.in_flight >= limits.actor_cap;
}

/// One row of the table of E9.
[[nodiscard]] inline Verdict check_lane(const Actor& actor, Lane lane, const Limits& limits) noexcept {
    if (actor.writer)
        return Verdict::writer_in_flight;
    if (actor.last_install != nullptr)
        return Verdict::install_pending;
    if (actor.in_flight >= limits.actor_cap)
        return Verdict::actor_cap_reached;
    switch (lane) {
        case Lane::pure_read:
            return actor.reads < limits.read_cap ? Verdict::admit : Verdict::read_cap_reached;
        case Lane::serial_status:
            return actor.status ? Verdict::status_in_flight : Verdict::admit;
        case Lane::heavy_init:
            return Verdict::needs_permit;
        case Lane::mutating:
            return actor.has_reader() ? Verdict::readers_in_flight : Verdict::admit;
    }
    return Verdict::nothing_queued;
}

/// The head of one class of an actor: only ever the head is considered (E8).
[[nodiscard]] inline Verdict check_head(const Actor& actor, JobClass c, const Limits& limits) noexcept {
    const Job* head = actor.queue(c).head;
    if (head == nullptr)
        return Verdict::nothing_queued;
    if (c == JobClass::maintenance) {
        const Job* before = actor.interactive.head;
        if (before != nullptr && before->lane == Lane::mutating)
            return Verdict::interactive_barrier;
    }
    return check_lane(actor, head->lane, limits);
}

/// Marks the actor as having one more unit of `lane` in flight.
inline void admit(Actor& actor, Lane lane) noexcept {
    ++actor.in_flight;
    switch (lane) {
        case Lane::pure_read:
            ++actor.reads;
            break;
        case Lane::serial_status:
            actor.status = true;
            break;
        case Lane::heavy_init:
            break;
        case Lane::mutating:
            actor.writer = true;
            break;
    }
}

/// The opposite of admit().
inline void leave(Actor& actor, Lane lane) noexcept {
    --actor.in_flight;
    switch (lane) {
        case Lane::pure_read:
            --actor.reads;
            break;
        case Lane::serial_status:
            actor.status = false;
            break;
        case Lane::heavy_init:
            break;
        case Lane::mutating:
            actor.writer = false;
            break;
    }
}

}  // namespace sluice::core
