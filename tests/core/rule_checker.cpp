#include "rule_checker.hpp"

#include <algorithm>

namespace sluice::core::test {

void RuleChecker::breaks(const std::string& what) {
    if (!violation_)
        violation_ = what;
}

void RuleChecker::submitted(std::size_t job, std::size_t actor, Lane lane, JobClass c) {
    if (job != jobs_.size())
        breaks("test: jobs are numbered from 0");
    jobs_.push_back({actor, lane, c, State::queued});
    if (const auto reason = refusal(actor))
        expect_failed(job, *reason);
    else
        fifo(actor, c).push_back(job);
}

std::optional<FailReason> RuleChecker::refusal(std::size_t actor) const {
    if (actors_[actor].removed)
        return FailReason::actor_removed;
    if (actors_[actor].fatal)
        return FailReason::actor_fatal;
    if (cancelling_)
        return FailReason::shut_down;
    return std::nullopt;
}

RuleChecker::Census RuleChecker::census(std::size_t actor) const {
    Census count;
    for (const Unit& unit : units_) {
        if (unit.actor != actor)
            continue;
        ++count.all;
        if (unit.step == Step::install || unit.lane == Lane::mutating)
            ++count.writers;
        else if (unit.lane == Lane::pure_read)
            ++count.reads;
        else if (unit.lane == Lane::serial_status)
            ++count.status;
        else
            ++count.building;
    }
    count.all += static_cast<unsigned>(actors_[actor].installs.size());
    return count;
}

unsigned RuleChecker::class_in_flight(JobClass c) const {
    auto count = std::ranges::count(units_, c, &Unit::job_class);
    for (const ActorFacts& actor : actors_)
        count +=
            std::ranges::count_if(actor.installs, [&](std::size_t job) { return jobs_[job].job_class == c; });
    return static_cast<unsigned>(count);
}

unsigned RuleChecker::permits_used() const {
    auto count = std::ranges::count(units_, Lane::heavy_init, &Unit::lane);
    for (const ActorFacts& actor : actors_)
        count += static_cast<std::ptrdiff_t>(actor.installs.size());
    return static_cast<unsigned>(count);
}

std::string RuleChecker::forbidden(std::size_t actor, Lane lane, JobClass c) const {
    const ActorFacts& facts = actors_[actor];
    const Census count = census(actor);
    if (!facts.installs.empty())
        return "E15: new admissions stop until the pending install has run";
    if (count.writers != 0)
        return "E9: a writer is in flight";
    if (count.all >= limits_.actor_cap)
        return "E9: actor_cap";
    if (lane == Lane::pure_read && count.reads >= limits_.read_cap)
        return "E9: read_cap";
    if (lane == Lane::serial_status && count.status != 0)
        return "E9: another status job is in flight";
    if (lane == Lane::mutating && count.reads + count.status != 0)
        return "E8: a writer waits for the readers in flight";
    if (lane == Lane::heavy_init && permits_used() >= permits_)
        return "E9: no heavy permit";
    const unsigned busy = static_cast<unsigned>(units_.size());
    if (c == JobClass::maintenance) {
        const std::deque<std::size_t>& before = facts.fifo[static_cast<unsigned>(JobClass::interactive)];
        if (!before.empty() && jobs_[before.front()].lane == Lane::mutating)
            return "E10: the interactive head is mutating";
        if (class_in_flight(JobClass::maintenance) >= limits_.maintenance_cap)
            return "E11: maintenance_cap";
        if (busy + limits_.interactive_reserve >= limits_.pool_size)
            return "E11: the reserve must stay idle";
    }
    return {};
}

void RuleChecker::started(const Started& run) {
    if (run.jobs.empty() || run.actor >= actors_.size()) {
        breaks("E28: a run has at least one job, of a known actor");
        return;
    }
    if (run.step == Step::install)
        check_install(run);
    else
        check_admission(run);
    if (violation_)
        return;
    for (const std::size_t job : run.jobs)
        jobs_[job].state = State::in_flight;
    units_.push_back({run.actor, run.jobs, run.lane, run.job_class, run.step, run.expected_ns});
}

void RuleChecker::check_install(const Started& run) {
    ActorFacts& actor = actors_[run.actor];
    const Census count = census(run.actor);
    if (actor.installs.empty() || run.jobs.size() != 1 || run.jobs.front() != actor.installs.front())
        return breaks("E15: installs run one by one, the oldest first");
    if (count.writers + count.reads + count.status != 0)
        return breaks("E15: an install is sole writer");
    if (actor.fatal)
        return breaks("E18: a fatal actor installs nothing");
    const std::size_t room = limits_.backlog_ns != 0 ? 2 * limits_.pool_size : limits_.pool_size;
    if (units_.size() >= room)
        return breaks("E15: an install needs a worker");
    actor.installs.pop_front();
}

void RuleChecker::check_admission(const Started& run) {
    std::deque<std::size_t>& queue = fifo(run.actor, run.job_class);
    if (queue.size() < run.jobs.size() || !std::equal(run.jobs.begin(), run.jobs.end(), queue.begin()))
        return breaks("E8: only the head of a FIFO is admitted, in submission order");
    for (const std::size_t job : run.jobs)
        if (jobs_[job].lane != run.lane)
            return breaks("E28: a run is of one lane");
    if (const std::string rule = forbidden(run.actor, run.lane, run.job_class); !rule.empty())
        return breaks(rule);
    check_run_ahead(run);
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(run.jobs.size()));
}

void RuleChecker::check_run_ahead(const Started& run) {
    const bool heavy = run.lane == Lane::heavy_init;
    if (run.jobs.size() > (heavy ? 1 : limits_.run_jobs_max))
        return breaks("E28: a run is too long");
    if (run.jobs.size() > 1 && run.expected_ns > limits_.run_budget_ns)
        return breaks("E28: a run is planned for longer than its budget");
    if (units_.size() < limits_.pool_size)
        return;
    if (limits_.backlog_ns == 0)
        return breaks("E11: no worker is idle");
    std::uint64_t expected_ns = run.expected_ns;
    std::size_t jobs = run.jobs.size();
    for (const Unit& unit : units_) {
        expected_ns += unit.expected_ns;
        jobs += unit.jobs.size();
    }
    if (run.job_class != JobClass::interactive || run.long_running || heavy)
        return breaks("E28: only short interactive jobs may wait for a worker");
    if (expected_ns > limits_.backlog_ns || jobs > limits_.backlog_jobs_max)
        return breaks("E28: the backlog is too long");
}

/// Nothing may be handed out: then no head may be admissible while a worker is idle (E13: no wake-up was lost).
void RuleChecker::nothing_more() {
    if (units_.size() >= limits_.pool_size)
        return;
    for (std::size_t actor = 0; actor < actors_.size(); ++actor) {
        const Census count = census(actor);
        if (!actors_[actor].installs.empty() && count.writers + count.reads + count.status == 0)
            return breaks("E15: an install could run, and a worker is idle");
        for (const JobClass c : {JobClass::interactive, JobClass::maintenance}) {
            const std::deque<std::size_t>& queue = fifo(actor, c);
            if (!queue.empty() && forbidden(actor, jobs_[queue.front()].lane, c).empty())
                return breaks("E13: job " + std::to_string(queue.front()) +
                              " could run, and a worker is idle");
        }
    }
}

RuleChecker::Unit* RuleChecker::find_unit(std::size_t job) {
    const auto found = std::ranges::find_if(
        units_, [&](const Unit& unit) { return std::ranges::find(unit.jobs, job) != unit.jobs.end(); });
    if (found == units_.end()) {
        breaks("test: job " + std::to_string(job) + " is not in flight");
        return nullptr;
    }
    return &*found;
}

RuleChecker::Unit RuleChecker::take_unit(std::size_t job) {
    Unit* found = find_unit(job);
    if (found == nullptr)
        return {};
    Unit unit = std::move(*found);
    units_.erase(units_.begin() + (found - units_.data()));
    return unit;
}

void RuleChecker::ended(std::size_t job, std::size_t executed, bool failed, bool built) {
    const Unit unit = take_unit(job);
    if (violation_)
        return;
    ActorFacts& actor = actors_[unit.actor];
    const bool building = unit.lane == Lane::heavy_init && unit.step != Step::install;
    for (std::size_t i = 0; i < executed; ++i)
        jobs_[unit.jobs[i]].state = State::done;
    if (building && built) {
        if (actor.fatal) {
            expect_failed(job, FailReason::actor_fatal);
        } else {
            jobs_[job].state = State::install_pending;
            actor.installs.push_back(job);
        }
    }
    if (failed)
        actor.fatal = true;
    take_back(unit.actor, {unit.jobs.begin() + static_cast<std::ptrdiff_t>(executed), unit.jobs.end()});
    if (failed)
        queued_failed(unit.actor, FailReason::actor_fatal);
}

void RuleChecker::given_back(std::size_t job, std::size_t count) {
    Unit* unit = find_unit(job);
    if (unit == nullptr)
        return;
    const auto first = unit->jobs.end() - static_cast<std::ptrdiff_t>(count);
    const std::vector<std::size_t> rest(first, unit->jobs.end());
    unit->jobs.erase(first, unit->jobs.end());
    take_back(unit->actor, rest);
}

void RuleChecker::returned(std::size_t job) {
    const Unit unit = take_unit(job);
    if (violation_)
        return;
    if (unit.step == Step::install) {
        jobs_[job].state = State::install_pending;
        actors_[unit.actor].installs.push_front(job);
    } else {
        take_back(unit.actor, unit.jobs);
    }
}

/// To the front, in submission order among themselves: jobs are numbered in that order here.
void RuleChecker::take_back(std::size_t actor, const std::vector<std::size_t>& jobs) {
    for (const std::size_t job : jobs) {
        jobs_[job].state = State::queued;
        if (const auto reason = refusal(actor)) {
            expect_failed(job, *reason);
            continue;
        }
        std::deque<std::size_t>& queue = fifo(actor, jobs_[job].job_class);
        queue.insert(std::ranges::lower_bound(queue, job), job);
    }
}

void RuleChecker::removed(std::size_t actor) {
    actors_[actor].removed = true;
    queued_failed(actor, FailReason::actor_removed);
}

void RuleChecker::queued_failed(std::size_t actor, FailReason reason) {
    ActorFacts& facts = actors_[actor];
    for (auto* queue : {&facts.installs, &facts.fifo[0], &facts.fifo[1]}) {
        for (const std::size_t job : *queue)
            expect_failed(job, reason);
        queue->clear();
    }
}

void RuleChecker::expect_failed(std::size_t job, FailReason reason) {
    jobs_[job].state = State::done;
    expected_failures_.emplace_back(job, reason);
}

void RuleChecker::failed(const std::vector<std::pair<std::size_t, FailReason>>& jobs) {
    if (!std::ranges::equal(jobs, expected_failures_))
        breaks("E4, E18, E22: exactly the queued jobs fail, in order and with the right reason");
    expected_failures_.clear();
}

void RuleChecker::released(std::size_t actor) {
    ActorFacts& facts = actors_[actor];
    if (!facts.removed || facts.released || census(actor).all != 0)
        breaks("E4: an actor is released once, when it was removed and nothing of it runs");
    facts.released = true;
}

bool RuleChecker::all_done() const {
    const auto released = [](const ActorFacts& actor) { return actor.removed == actor.released; };
    return units_.empty() && expected_failures_.empty() && std::ranges::all_of(actors_, released) &&
           std::ranges::all_of(jobs_, [](const JobFacts& job) { return job.state == State::done; });
}

}  // namespace sluice::core::test
