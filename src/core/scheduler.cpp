#include "core/scheduler_places.hpp"

#include <algorithm>
#include <cassert>

namespace sluice::core {

Scheduler::Scheduler(const Limits& limits, HeavyPermits& permits, TimerPlace timers) noexcept
    : limits_(limits),
      permits_(permits),
      timers_(timers),
      // Nothing is known yet, so every job counts as long: runs of one, no backlog.
      global_service_(std::max(limits.run_budget_ns, limits.long_job_ns) * service::scale) {
    assert(limits.pool_size >= 1 && limits.actor_cap >= 1 && limits.actor_cap <= 255);
    assert(limits.read_cap >= 1 && limits.read_cap <= limits.actor_cap && limits.drr_quantum >= 1);
}

void Scheduler::enqueue(Job& job) noexcept {
    Actor& actor = *job.actor;
    job.next = nullptr;
    ++actor.accepted;
    if (const FailReason reason = refusal(actor); reason != FailReason::none) {
        fail_chain({&job, &job, 1}, reason);
        return;
    }
    job.order = static_cast<std::uint32_t>(actor.accepted);
    if (job.cost < 1 ||
        job.cost > max_job_cost)  // the engine refuses such; else the word stays the submitter's
        job.cost = std::clamp<std::uint32_t>(job.cost, 1, max_job_cost) & 0xF'FFFF;
    const JobClass c = job.job_class;
    ClassQueue& queue = actor.queue(c);
    const bool was_empty = queue.head == nullptr;
    job.previous = queue.tail;
    (was_empty ? queue.head : queue.tail->next) = &job;
    queue.tail = &job;
    ++queue.size;
    ++of(c).queued;
    entered_queue(job);
    // Behind another head nothing has changed for anybody. A new interactive head can only hold maintenance back.
    if (was_empty && admissible(check_head(actor, c, limits_)))
        link(actor, c);
}

void Scheduler::run_ended(const RunEnd& end) noexcept {
    Actor& actor = *end.actor;
    if (end.step != Step::whole && !end.rest.empty()) {  // The one job of a heavy run came back unstarted.
        return_run({end.actor, end.rest, end.expected_ns, end.lane, end.job_class, end.step, false});
        return;
    }
    end_of_unit(actor, end.executed + end.rest.count, end.expected_ns);
    switch (end.step) {
        case Step::whole:
            measure(end);
            unit_left(actor, end.job_class, end.lane);
            break;
        case Step::build:
        case Step::fenced_build:
            build_ended(actor, end);
            break;
        case Step::install:
            actor.writer = false;
            unit_left(actor, end.job_class, end.lane);
            permit_back();
            break;
    }
    if (end.failed) {
        assert(end.lane == Lane::mutating || end.step == Step::install);
        actor.fatal = true;
    }
    take_back(actor, end.rest);
    if (end.failed)
        fail_everything(actor, FailReason::actor_fatal);
    look_again(actor);
    release_if_done(actor);
}

void Scheduler::give_back(Actor& actor, JobChain rest) noexcept {
    assert(out_.jobs >= rest.count && actor.jobs_in_flight >= rest.count);
    out_.jobs -= rest.count;
    actor.jobs_in_flight -= rest.count;
    take_back(actor, rest);
    look_again(actor);
}

void Scheduler::return_run(const Run& run) noexcept {
    Actor& actor = *run.actor;
    end_of_unit(actor, run.jobs.count, run.expected_ns);
    if (run.step == Step::install) {
        actor.writer = false;
        ++actor.jobs_in_flight;
        add_install(actor, *run.jobs.first, false);
    } else {
        std::uint32_t paid = 0;
        for (const Job* job = run.jobs.first; job != nullptr; job = job->next)
            paid += job->cost;
        unit_left(actor, run.job_class, run.lane);
        if (run.step != Step::whole)
            permit_back();
        if (take_back(actor, run.jobs))
            actor.queue(run.job_class).deficit += static_cast<std::int32_t>(paid);
    }
    look_again(actor);
    release_if_done(actor);
}

/// Jobs that were handed out and not started go to the front, where they were: other units of this actor may have given
/// back jobs between them before. The merge passes such jobs only, at most run_jobs_max for each unit in flight.
bool Scheduler::take_back(Actor& actor, JobChain rest) noexcept {
    if (rest.empty())
        return false;
    if (const FailReason reason = refusal(actor); reason != FailReason::none) {
        fail_chain(rest, reason);
        return false;
    }
    const JobClass c = rest.first->job_class;
    ClassQueue& queue = actor.queue(c);
    Job* before = nullptr;
    for (Job* job = rest.first; job != nullptr;) {
        Job* following = job->next;
        Job* after = before == nullptr ? queue.head : before->next;
        while (after != nullptr && after->before(*job)) {
            before = after;
            after = after->next;
        }
        job->previous = before;
        job->next = after;
        (before == nullptr ? queue.head : before->next) = job;
        (after == nullptr ? queue.tail : after->previous) = job;
        entered_queue(*job);
        before = job;
        job = following;
    }
    queue.size += rest.count;
    of(c).queued += rest.count;
    // A head that waited for a permit may now stand behind one that needs none.
    if (actor.place(c) == Place::heavy_line && queue.head->lane != Lane::heavy_init)
        unlink(actor, c);
    return true;
}

/// Heavy steps are left out: they are long by definition, and would make the reads beside them look long.
void Scheduler::measure(const RunEnd& end) noexcept {
    if (end.executed == 0)
        return;
    Actor& actor = *end.actor;
    actor.service = service::updated(actor.service, global_service_, end.elapsed_ns, end.executed);
    global_service_ = measured_ ? service::updated(global_service_, 0, end.elapsed_ns, end.executed)
                                : service::updated(0, global_service_, end.elapsed_ns, end.executed);
    measured_ = true;
    batch_ = jobs_within(limits_.run_budget_ns, service::nanos(global_service_), limits_.run_jobs_max);
}

bool Scheduler::quiet() const noexcept {
    return busy_ == 0 && pending_installs_ == 0 && interactive_.queued == 0 && maintenance_.queued == 0 &&
           failed_.empty() && released_.empty();
}

}  // namespace sluice::core
