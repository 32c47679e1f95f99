#pragma once

// Everything the scheduler knows about one actor. Owned by whoever holds the scheduler's role; the engine derives its
// cell from Actor. An idle actor is in no list and costs nothing but these bytes (E13).

#include <cstdint>

#include "core/job.hpp"

namespace sluice::core {

/// Where one class of an actor stands. An actor's class is in at most one list, so one pair of links serves all of them.
enum class Place : std::uint8_t {
    off,            ///< In no list: nothing queued, or an event of this very actor will bring it back.
    ring,           ///< In the ready ring of its class.
    heavy_line,     ///< Its head waits for a heavy permit.
    install_ready,  ///< (interactive link only) An install may run now; both classes are closed until it has.
    released,       ///< (interactive link only) Removed, and nothing of it is queued or in flight any more.
};

/// One FIFO of jobs (E8) with its place among the other actors of the class (E12).
struct ClassQueue {
    Actor* next = nullptr;  ///< Links of the list that the class stands in, see Place.
    Actor* previous = nullptr;
    Job* head = nullptr;
    Job* tail = nullptr;
    std::uint32_t size = 0;
    std::int32_t deficit = 0;  ///< In units of cost. Zero whenever nothing is queued.
};

/// Laid out for the common case: an interactive decision touches the first cache line only.
struct Actor {
    ClassQueue interactive;

    Job* last_install =
        nullptr;  ///< Circular list of installs that wait for the exclusion: its `next` is the oldest.
    std::uint32_t jobs_in_flight = 0;  ///< Jobs handed out and not ended, however many runs they form.
    std::uint32_t service = 0;         ///< Service estimate, see ServiceEstimate. 0: never measured.
    std::uint16_t weight =
        1;  ///< Share of the rounds (E12), 1 or more. The engine may change it at any turn.
    std::uint8_t in_flight =
        0;  ///< Runs in flight, plus heavy jobs between build and install. At most actor_cap <= 255.
    std::uint8_t reads = 0;    ///< pure_read runs in flight.
    bool writer : 1 = false;   ///< A mutating run or an install is in flight: nothing else is admitted.
    bool status : 1 = false;   ///< A serial_status run is in flight.
    bool fatal : 1 = false;    ///< An exclusive step failed (E18).
    bool removed : 1 = false;  ///< remove() was called (E4).
    bool called_interactive : 1 =
        false;  ///< Was first in the heavy line, but its actor was busy: it stands first again.
    bool called_maintenance : 1 = false;
    Place interactive_place = Place::off;
    Place maintenance_place = Place::off;

    ClassQueue maintenance;

    std::uint64_t accepted = 0;  ///< Jobs that enqueue() has seen.

    [[nodiscard]] ClassQueue& queue(JobClass c) noexcept {
        return c == JobClass::interactive ? interactive : maintenance;
    }
    [[nodiscard]] const ClassQueue& queue(JobClass c) const noexcept {
        return c == JobClass::interactive ? interactive : maintenance;
    }
    [[nodiscard]] Place& place(JobClass c) noexcept {
        return c == JobClass::interactive ? interactive_place : maintenance_place;
    }
    [[nodiscard]] Place place(JobClass c) const noexcept {
        return c == JobClass::interactive ? interactive_place : maintenance_place;
    }
    [[nodiscard]] bool called(JobClass c) const noexcept {
        return c == JobClass::interactive ? called_interactive : called_maintenance;
    }
    void set_called(JobClass c, bool value) noexcept {
        if (c == JobClass::interactive)
            called_interactive = value;
        else
            called_maintenance = value;
    }

    [[nodiscard]] std::uint32_t queued() const noexcept {
        return interactive.size + maintenance.size;
    }
    [[nodiscard]] bool has_reader() const noexcept {
        return reads != 0 || status;
    }

    /// Jobs that ended or failed. Derived, so that accepted = queued + in flight + completed cannot be broken (E33).
    [[nodiscard]] std::uint64_t completed() const noexcept {
        return accepted - queued() - jobs_in_flight;
    }
};

static_assert(sizeof(Actor) <= 112, "memory per idle actor is a target (perf.md, W2b)");

}  // namespace sluice::core
