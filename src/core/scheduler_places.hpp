#pragma once

// The small transitions that every event and every decision ends in: which list an actor stands in, and what is counted.
// Private to the scheduler's own files; here, and not in one of them, so that each of them can have them inline.

#include "core/scheduler.hpp"

#include <cassert>

namespace sluice::core {

inline void Scheduler::end_of_unit(Actor& actor, std::uint32_t jobs, std::uint32_t expected_ns) noexcept {
    assert(busy_ > 0 && out_.jobs >= jobs && out_.expected_ns >= expected_ns && actor.jobs_in_flight >= jobs);
    --busy_;
    out_.jobs -= jobs;
    out_.expected_ns -= expected_ns;
    actor.jobs_in_flight -= jobs;
}

inline void Scheduler::unit_left(Actor& actor, JobClass c, Lane lane) noexcept {
    assert(actor.in_flight > 0 && of(c).in_flight > 0);
    leave(actor, lane);
    --of(c).in_flight;
}

inline void Scheduler::entered_queue(Job& job) noexcept {
    if (!job.withdrawable)
        return;
    job.queued = true;
    if (job.timed)
        deadlines_.add(timers_.of(job));
}

inline void Scheduler::left_queue(Job& job) noexcept {
    if (!job.withdrawable)
        return;
    job.queued = false;
    if (job.timed)
        deadlines_.remove(timers_.of(job));
}

/// Keeps `linked`: called at the end of every event for the actor that it is about.
inline void Scheduler::look_again(Actor& actor) noexcept {
    if (actor.last_install != nullptr) {
        // E15: nothing else of this actor is admitted, so that soon nobody is in the way of the install.
        if (actor.interactive_place == Place::install_ready)
            return;
        unlink(actor, JobClass::interactive);
        unlink(actor, JobClass::maintenance);
        if (!actor.writer && !actor.has_reader()) {
            install_ready_.push_back(actor);
            actor.interactive_place = Place::install_ready;
        }
        return;
    }
    for (const JobClass c : {JobClass::interactive, JobClass::maintenance})
        if (actor.place(c) == Place::off && admissible(check_head(actor, c, limits_)))
            link(actor, c);
}

/// An actor whose deficit still covers its head has not finished its visit: nobody is visited before it.
inline void Scheduler::link(Actor& actor, JobClass c) noexcept {
    const ClassQueue& queue = actor.queue(c);
    FairRing& ring = of(c).ring;
    if (queue.deficit >= static_cast<std::int32_t>(queue.head->cost))
        ring.join_front(actor);
    else
        ring.join(actor);
    actor.place(c) = Place::ring;
    if (c == JobClass::interactive)
        interactive_came_ = true;
}

inline void Scheduler::unlink(Actor& actor, JobClass c) noexcept {
    Place& place = actor.place(c);
    switch (place) {
        case Place::off:
            return;
        case Place::ring:
            of(c).ring.remove(actor);
            break;
        case Place::heavy_line:
            of(c).heavy_line.remove(actor);
            break;
        case Place::install_ready:
            install_ready_.remove(actor);
            break;
        case Place::released:
            assert(false && "a released actor is in no other list");
            return;
    }
    place = Place::off;
}

}  // namespace sluice::core
