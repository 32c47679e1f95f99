#pragma once

// A World whose every event and decision is told to a RuleChecker.

#include "rule_checker.hpp"
#include "world.hpp"

namespace sluice::core::test {

class CheckedWorld {
public:
    CheckedWorld(const Limits& limits, unsigned permits, std::size_t actors)
        : world(limits, permits, actors), rules(limits, permits, actors) {}

    void submit(std::size_t actor, Lane lane, JobClass c, std::uint32_t cost = 1, bool fenced = false) {
        rules.submitted(world.jobs.size(), actor, lane, c);
        world.submit(actor, lane, c, cost, fenced);
        settle();
    }

    /// One decision; false: nothing may be handed out now.
    bool start() {
        const auto index = world.start();
        if (!index) {
            rules.nothing_more();
            return false;
        }
        const Run& run = world.running[*index];
        rules.started({world.index_of(*run.actor), numbers(run.jobs), run.lane, run.job_class, run.step,
                       run.expected_ns, run.long_running});
        return true;
    }

    struct End {
        std::size_t executed = ~std::size_t{0};  ///< At most; the rest comes back. At least 1 is executed.
        bool failed = false;  ///< Of an exclusive step: makes the actor fatal. Of a build: no install.
        Nanos job_ns = 100'000;
    };

    void end(std::size_t index, const End& how) {
        Run run = world.take(index);
        RunEnd end = end_of(run, 0);
        const auto executed = static_cast<std::uint32_t>(how.executed < 1                ? 1
                                                         : how.executed > run.jobs.count ? run.jobs.count
                                                                                         : how.executed);
        end.executed = executed;
        end.elapsed_ns = how.job_ns * executed;
        const bool building = run.step == Step::build || run.step == Step::fenced_build;
        if (how.failed && building)
            end.built = nullptr;
        end.failed = how.failed && (run.lane == Lane::mutating || run.step == Step::install);
        end.rest = cut(run.jobs, executed);
        rules.ended(run.jobs.first->number, executed, end.failed, end.built != nullptr);
        world.scheduler.run_ended(end);
        settle();
    }

    /// Revokes all but the first `keep` jobs (1 or more) of a run that goes on.
    void give_back(std::size_t index, std::size_t keep) {
        Run& run = world.running[index];
        const auto kept = static_cast<std::uint32_t>(keep);
        const JobChain rest = cut(run.jobs, kept);
        if (rest.empty())
            return;
        rules.given_back(run.jobs.first->number, rest.count);
        world.scheduler.give_back(*run.actor, rest);
        settle();
    }

    void return_run(std::size_t index) {
        const Run run = world.take(index);
        rules.returned(run.jobs.first->number);
        world.scheduler.return_run(run);
        settle();
    }

    void remove(std::size_t actor) {
        if (world.actors[actor].removed)
            return;
        rules.removed(actor);
        world.scheduler.remove(world.actors[actor]);
        settle();
    }

    void cancel() {
        rules.cancelling();
        world.scheduler.begin_cancel();
        for (std::size_t actor = 0; actor < world.actors.size(); ++actor) {
            rules.queued_failed(actor, FailReason::shut_down);
            world.scheduler.fail_queued(world.actors[actor], FailReason::shut_down);
        }
        settle();
    }

    /// Every job ends, whatever was done before: eventual completion.
    void finish() {
        for (;;) {
            while (!rules.violation() && start()) {}
            if (rules.violation() || world.running.empty())
                return;
            end(0, {});
        }
    }

    /// What the counters say must follow from what is known (E33), and permits must be neither lost nor doubled.
    [[nodiscard]] bool counters_agree(unsigned permits) const {
        const Scheduler& scheduler = world.scheduler;
        std::uint64_t queued = 0;
        std::uint32_t in_flight = 0, jobs = 0, heavy = 0;
        for (const Actor& actor : world.actors) {
            queued += actor.queued();
            in_flight += actor.in_flight;
        }
        for (const Run& run : world.running) {
            jobs += run.jobs.count;
            heavy += run.lane == Lane::heavy_init;
        }
        return queued == scheduler.queued(JobClass::interactive) + scheduler.queued(JobClass::maintenance) &&
               in_flight ==
                   scheduler.in_flight(JobClass::interactive) + scheduler.in_flight(JobClass::maintenance) &&
               in_flight == world.running.size() + scheduler.pending_installs() &&
               scheduler.busy_units() == world.running.size() && scheduler.jobs_in_flight() == jobs &&
               world.permits.free() + heavy + scheduler.pending_installs() == permits;
    }

    World world;
    RuleChecker rules;

private:
    /// Cuts a chain behind its first `keep` jobs, and returns what was behind.
    static JobChain cut(JobChain& chain, std::uint32_t keep) {
        if (keep >= chain.count)
            return {};
        Job* last = chain.first;
        for (std::uint32_t i = 1; i < keep; ++i)
            last = last->next;
        const JobChain rest{last->next, chain.last, chain.count - keep};
        last->next = nullptr;
        chain.last = last;
        chain.count = keep;
        return rest;
    }

    void settle() {
        std::vector<std::pair<std::size_t, FailReason>> failed;
        for (const Job* job = world.scheduler.take_failed().first; job != nullptr; job = job->next)
            failed.emplace_back(job->number, job->fail);
        rules.failed(failed);
        while (const Actor* actor = world.scheduler.take_released())
            rules.released(world.index_of(*actor));
    }
};

}  // namespace sluice::core::test
