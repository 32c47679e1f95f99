// The rounds: who is offered a worker next. The resumable form of one loop:
//
//   repeat
//     visit every actor in the interactive ring once, while workers (or the backlog) have room        E11, E12
//     visit every actor in the maintenance ring once, while more workers than the reserve are idle    E11
//   until a round hands out nothing
//
// A visit hands out a run, or finds that the actor cannot run (it leaves the ring), or that it cannot pay yet. Both are
// paid for by an earlier event, so a decision costs O(1) amortised, whatever the number of actors (E13).

#include <algorithm>
#include <cassert>

#include "core/scheduler_places.hpp"

namespace sluice::core {

std::optional<Run> Scheduler::next_run() noexcept {
    std::optional<Run> decision(std::in_place);
    if (!next_install(*decision) && !next_admission(*decision))
        decision.reset();
    return decision;
}

bool Scheduler::next_admission(Run& run) noexcept {
    for (;;) {
        if (between_rounds_) {
            if (nobody_is_ready())
                return false;
            begin_round();
        }
        if (!maintenance_turn_) {
            const Offer offer = offer_class(JobClass::interactive, run);
            if (offer == Offer::handed_out)
                return true;
            if (offer == Offer::no_room) {
                between_rounds_ = true;
                return false;
            }
            maintenance_turn_ = true;
            interactive_came_ = false;
        }
        const Offer offer = offer_class(JobClass::maintenance, run);
        if (offer == Offer::handed_out)
            return true;
        between_rounds_ = true;
        if (offer == Offer::interactive_came || handed_out_)
            continue;
        if (fewest_rounds_ == 0)
            return false;
        skip_rounds(JobClass::interactive);
        if (offer == Offer::nobody_left)
            skip_rounds(JobClass::maintenance);
    }
}

bool Scheduler::nobody_is_ready() const noexcept {
    return interactive_.ring.size() + maintenance_.ring.size() == 0 &&
           !line_may_move(JobClass::interactive) && !line_may_move(JobClass::maintenance);
}

void Scheduler::begin_round() noexcept {
    // Forgotten slowly: who is heavy comes by now and then only.
    if (++rounds_ % 64 == 0) {
        heaviest_ = heaviest_lately_;
        heaviest_lately_ = 1;
    }
    interactive_.ring.begin_round();
    maintenance_.ring.begin_round();
    between_rounds_ = false;
    maintenance_turn_ = false;
    handed_out_ = false;
    fewest_rounds_ = 0;
}

/// After a round in which nobody could pay: the rounds that would go by likewise are taken in one pass.
void Scheduler::skip_rounds(JobClass c) noexcept {
    const std::uint32_t rounds = fewest_rounds_ - 1;
    if (rounds == 0)
        return;
    of(c).ring.for_each_visited([&](Actor& actor) {
        const bool heavy = actor.queue(c).head->lane == Lane::heavy_init;
        add_quantum(actor, c, rounds, rounds_in_run(jobs_in_run(job_time(actor, heavy))));
    });
}

/// Visits until a run can be handed out. In the maintenance half, interactive work that has come meanwhile ends the round.
Scheduler::Offer Scheduler::offer_class(JobClass c, Run& run) noexcept {
    PerClass& offered = of(c);
    for (;;) {
        if (c == JobClass::maintenance && (interactive_came_ || line_may_move(JobClass::interactive)))
            return Offer::interactive_came;
        if (!class_may_go(c))
            return Offer::no_room;
        const bool has_permit = permit_for_line(c);
        Actor* actor = has_permit ? offered.heavy_line.front() : offered.ring.next_in_round();
        if (actor == nullptr)
            return Offer::nobody_left;
        const Offer offer = visit(*actor, c, has_permit, run);
        if (offer != Offer::moved_on)
            return offer;
    }
}

/// E11, and for interactive work E28: with no worker idle, a short backlog may still be handed out.
bool Scheduler::class_may_go(JobClass c) const noexcept {
    if (c == JobClass::maintenance)
        return idle_workers() > limits_.interactive_reserve &&
               maintenance_.in_flight < limits_.maintenance_cap;
    return busy_ < limits_.pool_size ||
           (out_.expected_ns < limits_.backlog_ns && out_.jobs < limits_.backlog_jobs_max);
}

Scheduler::Offer Scheduler::visit(Actor& actor, JobClass c, bool has_permit, Run& run) noexcept {
    const Verdict verdict = check_head(actor, c, limits_);
    if (!admissible(verdict)) {
        unlink(actor, c);
        if (has_permit)
            step_aside(actor, c);
        return Offer::moved_on;
    }
    const bool heavy = verdict == Verdict::needs_permit;
    const std::uint32_t job_ns = job_time(actor, heavy);
    const std::uint32_t batch = jobs_in_run(job_ns);
    const std::uint32_t jobs_max = heavy ? 1 : batch;
    heaviest_ = std::max(heaviest_, actor.weight);
    heaviest_lately_ = std::max(heaviest_lately_, actor.weight);
    if (busy_ >= limits_.pool_size && !fits_backlog(actor, c, jobs_max, job_ns))
        return Offer::no_room;
    if (heavy && !has_permit && !take_permit(actor, c))
        return Offer::moved_on;
    if (!pay_for_head(actor, c, rounds_in_run(batch))) {
        unlink(actor, c);
        if (has_permit)
            step_aside(actor, c);
        else if (heavy)
            permit_back();
        of(c).ring.join(actor);
        actor.place(c) = Place::ring;
        return Offer::moved_on;
    }
    hand_out(actor, c, jobs_max, job_ns, run);
    return Offer::handed_out;
}

/// The run must fit as a whole: if it were cut, who is cut would be so each time round, as one that is cut leaves a gap
/// of just that size behind.
bool Scheduler::fits_backlog(const Actor& actor, JobClass c, std::uint32_t jobs_max,
                             std::uint32_t job_ns) const noexcept {
    return out_.room(limits_, job_ns) >= std::min(jobs_max, actor.queue(c).size);
}

/// Heavy jobs never wait in the backlog: without an idle worker nobody in line is asked.
bool Scheduler::line_may_move(JobClass c) const noexcept {
    return permit_may_be_free_ && !of(c).heavy_line.empty() && busy_ < limits_.pool_size;
}

/// Whoever waits longest for a permit gets one before newcomers are visited.
bool Scheduler::permit_for_line(JobClass c) noexcept {
    if (!line_may_move(c))
        return false;
    permit_may_be_free_ = permits_.try_take();
    return permit_may_be_free_;
}

/// The first in line cannot use its permit yet. It stands first again when it can; the permit is for the next.
void Scheduler::step_aside(Actor& actor, JobClass c) noexcept {
    actor.set_called(c, true);
    permit_back();
}

/// For one who does not stand in line yet: nobody overtakes those who do, and maintenance nobody interactive.
bool Scheduler::take_permit(Actor& actor, JobClass c) noexcept {
    ActorList& line = of(c).heavy_line;
    const bool first = actor.called(c);
    if (first || (line.empty() && interactive_.heavy_line.empty())) {
        if (permits_.try_take())
            return true;
        permit_may_be_free_ = false;
    }
    unlink(actor, c);
    if (first)
        line.push_front(actor);
    else
        line.push_back(actor);
    actor.place(c) = Place::heavy_line;
    actor.set_called(c, false);
    return false;
}

/// A visit adds the quantum unless an earlier one has not been used up (E12).
bool Scheduler::pay_for_head(Actor& actor, JobClass c, std::uint32_t batch) noexcept {
    ClassQueue& queue = actor.queue(c);
    const auto cost = static_cast<std::int32_t>(queue.head->cost);
    if (queue.deficit >= cost)
        return true;
    const std::int64_t quantum = add_quantum(actor, c, 1, batch);
    if (queue.deficit >= cost)
        return true;
    // A quantum is at least 1: weights are. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
    const auto rounds = static_cast<std::uint32_t>((cost - queue.deficit + quantum - 1) / quantum);
    fewest_rounds_ = fewest_rounds_ == 0 ? rounds : std::min(fewest_rounds_, rounds);
    return false;
}

/// What `rounds` visits add, with `batch` jobs to a visit, since a run is one visit. Returns what one of them adds.
std::int64_t Scheduler::add_quantum(Actor& actor, JobClass c, std::uint32_t rounds,
                                    std::uint32_t batch) noexcept {
    ClassQueue& queue = actor.queue(c);
    const std::int64_t share = std::int64_t{std::max<std::uint16_t>(actor.weight, 1)} * batch;
    const std::int64_t quantum = limits_.drr_quantum * share;
    assert(quantum >= 1);
    // A quantum is never cut: neither by a cap below it, nor by what an expensive head has to save up.
    const std::int64_t most = std::max<std::int64_t>(limits_.deficit_cap * share, quantum + queue.head->cost);
    queue.deficit = static_cast<std::int32_t>(
        std::min({queue.deficit + quantum * rounds, most, std::int64_t{largest_deficit}}));
    return quantum;
}

/// How many rounds one visit stands for: with run-ahead a run is one visit, and holds as many jobs as fit. The heaviest
/// actor of late gets its whole share into a run, and the others accordingly less.
std::uint32_t Scheduler::rounds_in_run(std::uint32_t batch) const noexcept {
    const std::uint32_t rounds = std::min(batch, batch_);
    return heaviest_ <= 1 ? rounds : std::max<std::uint32_t>(rounds / heaviest_, 1);
}

std::uint32_t Scheduler::job_time(const Actor& actor, bool heavy) const noexcept {
    const std::uint32_t usual_ns = expected_job_ns(actor);
    return heavy ? std::max(usual_ns, limits_.long_job_ns) : usual_ns;
}

std::uint32_t Scheduler::jobs_in_run(std::uint32_t job_ns) const noexcept {
    return jobs_within(limits_.run_budget_ns, job_ns, limits_.run_jobs_max);
}

void Scheduler::hand_out(Actor& actor, JobClass c, std::uint32_t jobs_max, std::uint32_t job_ns,
                         Run& run) noexcept {
    ClassQueue& queue = actor.queue(c);
    const Lane lane = queue.head->lane;
    run.actor = &actor;
    run.lane = lane;
    run.job_class = c;
    run.step = queue.head->step;
    run.jobs.first = queue.head;
    Job* job = queue.head;
    do {
        queue.deficit -= static_cast<std::int32_t>(job->cost);
        left_queue(*job);
        run.jobs.last = job;
        ++run.jobs.count;
        job = job->next;
    } while (job != nullptr && run.jobs.count < jobs_max && job->lane == lane &&
             static_cast<std::int32_t>(job->cost) <= queue.deficit);
    run.jobs.last->next = nullptr;
    queue.head = job;
    queue.size -= run.jobs.count;
    if (job == nullptr) {
        queue.tail = nullptr;
        queue.deficit = 0;
    } else {
        job->previous = nullptr;
    }
    run.expected_ns = job_ns * run.jobs.count;
    run.long_running = job_ns >= limits_.long_job_ns;

    admit(actor, lane);
    actor.jobs_in_flight += run.jobs.count;
    PerClass& offered = of(c);
    offered.queued -= run.jobs.count;
    ++offered.in_flight;
    ++busy_;
    out_.jobs += run.jobs.count;
    out_.expected_ns += run.expected_ns;
    handed_out_ = true;
    actor.set_called(c, false);
    unlink(actor, c);
    look_again(
        actor);  // Back into the ring if more of it can go; a new interactive head may free maintenance (E10).
}

/// E15: an install goes before everything else. Its unit of actor and class was never given up, so only a worker is needed;
/// with run-ahead on it may wait for one in the run queue, where it is the first thing that a free worker finds.
bool Scheduler::next_install(Run& run) noexcept {
    Actor* actor = install_ready_.front();
    if (actor == nullptr)
        return false;
    const std::uint32_t room = limits_.backlog_ns != 0 ? 2 * limits_.pool_size : limits_.pool_size;
    if (busy_ >= room)
        return false;
    unlink(*actor, JobClass::interactive);
    Job& job = take_install(*actor);
    actor->writer = true;
    run.actor = actor;
    run.jobs = {&job, &job, 1};
    run.expected_ns = std::max(expected_job_ns(*actor), limits_.long_job_ns);
    run.lane = Lane::heavy_init;
    run.job_class = job.job_class;
    run.step = Step::install;
    run.long_running = true;
    ++busy_;
    ++out_.jobs;
    out_.expected_ns += run.expected_ns;
    return true;
}

}  // namespace sluice::core
