#pragma once

// A World and a NaiveModel that are told the same: without run-ahead both must come to the same decisions, one by one.
// The first difference is kept as a sentence, for the property tests and the fuzzer to fail with.

#include "naive_model.hpp"
#include "world.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sluice::core::test {

class PairedWorld {
public:
    PairedWorld(const Limits& limits, unsigned permits, std::size_t actors)
        : world(limits, permits, actors), model(limits, permits, actors) {}

    void set_weight(std::size_t actor, std::uint16_t weight) {
        world.actors[actor].weight = weight;
        model.set_weight(actor, weight);
    }

    void submit(std::size_t actor, Lane lane, JobClass c, std::uint32_t cost,
                std::optional<Nanos> deadline = std::nullopt) {
        model.submit({actor, lane, c, cost});
        world.submit(actor, lane, c, cost, false, deadline);
        compare_failed();
    }

    /// One decision of both; false: both have none, or they differ.
    bool decide() {
        const auto expected = model.next();
        const auto index = world.start();
        if (index.has_value() != expected.has_value())
            differ(index ? "the model hands nothing out" : "the scheduler hands nothing out");
        if (!index || !expected)
            return false;
        const Run& run = world.running[*index];
        if (run.jobs.count != 1)
            differ("a run of several jobs, without run-ahead");
        if (run.jobs.first->number != expected->job || (run.step == Step::install) != expected->install)
            differ("the scheduler hands out " + std::to_string(run.jobs.first->number) + ", the model " +
                   std::to_string(expected->job));
        return !difference_;
    }

    void end(std::size_t index, bool failed) {
        const Run run = world.take(index);
        RunEnd end = end_of(run, 100'000);
        if (failed)
            end.built = nullptr;
        end.failed = failed && (run.lane == Lane::mutating || run.step == Step::install);
        model.end(run.jobs.first->number, failed);
        world.scheduler.run_ended(end);
        compare_failed();
    }

    void remove(std::size_t actor) {
        if (world.actors[actor].removed)
            return;
        model.remove(actor);
        world.scheduler.remove(world.actors[actor]);
        compare_failed();
    }

    /// One of the jobs that are queued, if any is.
    void withdraw(std::size_t which) {
        std::vector<Job*> queued;
        for (Job& job : world.jobs)
            if (job.queued)
                queued.push_back(&job);
        if (queued.empty())
            return;
        Job& job = *queued[which % queued.size()];
        model.withdraw(job.number);
        world.scheduler.withdraw(job, FailReason::cancelled);
        compare_failed();
    }

    /// Time is `now`: whose deadline has passed, and nobody else, leaves the queue. The model takes their order as it comes.
    void expire(Nanos now, std::uint32_t most) {
        const bool more = world.scheduler.expire(now, most);
        const JobChain failed = world.scheduler.take_failed();
        for (const Job* job = failed.first; job != nullptr; job = job->next) {
            if (!job->timed || job->fail != FailReason::deadline_exceeded ||
                world.jobs[job->number].timer.deadline > now)
                differ("job " + std::to_string(job->number) + " expired before its time");
            model.withdraw(job->number);
        }
        if (failed.count > most)
            differ("more expired than were asked for");
        if (!more)
            for (const TimedJob& job : world.jobs)
                if (job.queued && job.timed && job.timer.deadline <= now)
                    differ("job " + std::to_string(job.number) + " should have expired");
        (void)model.take_failed();
    }

    /// Every job ends, whatever was done before.
    void finish(unsigned permits) {
        for (;;) {
            while (decide()) {}
            if (difference_)
                return;
            if (world.running.empty())
                break;
            end(world.running.size() / 2, false);
        }
        const Scheduler& scheduler = world.scheduler;
        if (scheduler.queued(JobClass::interactive) + scheduler.queued(JobClass::maintenance) != 0)
            differ("jobs stay behind");
        if (world.permits.free() != permits)
            differ("a heavy permit was lost or doubled");
    }

    [[nodiscard]] const std::optional<std::string>& difference() const {
        return difference_;
    }

    World world;
    NaiveModel model;

private:
    void differ(std::string what) {
        if (!difference_)
            difference_ = std::move(what);
    }
    void compare_failed() {
        if (numbers(world.scheduler.take_failed()) != model.take_failed())
            differ("other jobs failed than in the model");
    }

    std::optional<std::string> difference_;
};

}  // namespace sluice::core::test
