// What ends other than well: failed jobs, removed actors, and the bookkeeping of heavy jobs between their two steps.

#include <cassert>

#include "core/scheduler_places.hpp"

namespace sluice::core {

void Scheduler::remove(Actor& actor) noexcept {
    assert(!actor.removed);
    actor.removed = true;
    fail_everything(actor, FailReason::actor_removed);
    release_if_done(actor);
}

void Scheduler::fail_queued(Actor& actor, FailReason reason) noexcept {
    fail_everything(actor, reason);
    release_if_done(actor);
}

// Keeps `linked`: what stood behind the job may go now, of either class (E10).
void Scheduler::withdraw(Job& job, FailReason reason) noexcept {
    assert(job.withdrawable && job.queued);
    Actor& actor = *job.actor;
    const JobClass c = job.job_class;
    ClassQueue& queue = actor.queue(c);
    left_queue(job);
    const bool was_head = job.previous == nullptr;
    (was_head ? queue.head : job.previous->next) = job.next;
    (job.next == nullptr ? queue.tail : job.next->previous) = job.previous;
    --queue.size;
    --of(c).queued;
    fail_chain({&job, &job, 1}, reason);
    if (!was_head)
        return;
    // The new head has no right to the permit that the old one waited for. In the ring the place is the actor's.
    if (actor.place(c) == Place::heavy_line ||
        (actor.place(c) == Place::ring && !admissible(check_head(actor, c, limits_)))) {
        unlink(actor, c);
    }
    actor.set_called(c, false);
    if (queue.head == nullptr)
        queue.deficit = 0;
    look_again(actor);
}

bool Scheduler::expire(Nanos now, std::uint32_t most) noexcept {
    return deadlines_.expire(
        now, most, [this](JobTimer& timer) { withdraw(timers_.job(timer), FailReason::deadline_exceeded); });
}

JobChain Scheduler::take_failed() noexcept {
    const JobChain taken = failed_;
    failed_ = {};
    return taken;
}

Actor* Scheduler::take_released() noexcept {
    Actor* actor = released_.front();
    if (actor != nullptr)
        released_.remove(*actor);  // Its place stays `released`, so it never comes here again.
    return actor;
}

/// Keeps `paid` and `permits`: a build that succeeded stays counted, and keeps its permit, until its install has ended.
void Scheduler::build_ended(Actor& actor, const RunEnd& end) noexcept {
    if (end.built != nullptr && !actor.fatal) {
        ++actor.jobs_in_flight;
        add_install(actor, *end.built, true);
        return;
    }
    unit_left(actor, end.job_class, end.lane);
    permit_back();
    if (end.built != nullptr)
        fail_chain({end.built, end.built, 1}, FailReason::actor_fatal);
}

void Scheduler::add_install(Actor& actor, Job& job, bool as_newest) noexcept {
    Job*& last = actor.last_install;
    job.next = last == nullptr ? &job : last->next;
    if (last != nullptr)
        last->next = &job;
    if (last == nullptr || as_newest)
        last = &job;
    ++pending_installs_;
}

Job& Scheduler::take_install(Actor& actor) noexcept {
    Job& oldest = *actor.last_install->next;
    if (&oldest == actor.last_install)
        actor.last_install = nullptr;
    else
        actor.last_install->next = oldest.next;
    oldest.next = nullptr;
    --pending_installs_;
    return oldest;
}

void Scheduler::permit_back() noexcept {
    permits_.give_back();
    permit_may_be_free_ = true;
}

void Scheduler::fail_chain(JobChain chain, FailReason reason) noexcept {
    Job* job = chain.first;
    for (std::uint32_t left = chain.count; left != 0; --left) {
        Job* next = job->next;  // as many as are linked. NOLINT(clang-analyzer-core.NullDereference)
        job->fail = reason;
        failed_.append(*job);
        job = next;
    }
}

/// Everything of the actor that is not running: installs first, for they stand in front, then both FIFOs.
void Scheduler::fail_everything(Actor& actor, FailReason reason) noexcept {
    if (actor.interactive_place != Place::released)
        unlink(actor, JobClass::interactive);
    unlink(actor, JobClass::maintenance);
    while (actor.last_install != nullptr) {
        Job& job = take_install(actor);
        --actor.jobs_in_flight;
        unit_left(actor, job.job_class, job.lane);
        permit_back();
        fail_chain({&job, &job, 1}, reason);
    }
    for (const JobClass c : {JobClass::interactive, JobClass::maintenance}) {
        ClassQueue& queue = actor.queue(c);
        const JobChain all{queue.head, queue.tail, queue.size};
        for (Job* job = queue.head; job != nullptr; job = job->next)
            left_queue(*job);
        of(c).queued -= queue.size;
        queue.head = queue.tail = nullptr;
        queue.size = 0;
        queue.deficit = 0;
        actor.set_called(c, false);
        fail_chain(all, reason);
    }
}

/// A removed actor is released when nothing of it is in flight; nothing can be queued any more.
void Scheduler::release_if_done(Actor& actor) noexcept {
    if (!actor.removed || actor.in_flight != 0 || actor.interactive_place == Place::released)
        return;
    assert(actor.queued() == 0 && actor.jobs_in_flight == 0);
    released_.push_back(actor);
    actor.interactive_place = Place::released;
}

FailReason Scheduler::refusal(const Actor& actor) const noexcept {
    if (actor.removed)
        return FailReason::actor_removed;
    if (actor.fatal)
        return FailReason::actor_fatal;
    return cancelling_ ? FailReason::shut_down : FailReason::none;
}

}  // namespace sluice::core
