#pragma once

// What goes out of the scheduler and what comes back: values, so that a script can make and compare them.

#include <cstdint>

#include "core/job.hpp"
#include "core/limits.hpp"

namespace sluice::core {

/// Consecutive jobs of one actor, lane, class and step, executed one after the other by one worker.
/// A run is one unit: it counts once for actor_cap, read_cap, the class limits and the idle workers.
struct Run {
    Actor* actor = nullptr;
    JobChain jobs;
    std::uint32_t expected_ns = 0;  ///< Estimated time of the whole run; comes back in RunEnd.
    Lane lane = Lane::pure_read;
    JobClass job_class = JobClass::interactive;
    Step step = Step::
        whole;  ///< install: run the second step of the job (of a fenced_build: nothing, then complete it).
    bool long_running = false;  ///< A job of it is expected to be long, or nothing is known about it yet.
};

/// The end of a run, or of what was left of it after give_back().
struct RunEnd {
    Actor* actor = nullptr;
    JobChain rest;  ///< Jobs of the run that were not executed: back to the front, in order.
    Job* built =
        nullptr;  ///< After a build that succeeded: the job, whose install comes next. nullptr: it failed.
    Nanos elapsed_ns = 0;           ///< Time of the executed jobs together.
    std::uint32_t executed = 0;     ///< Jobs that ended, with a value or by throwing.
    std::uint32_t expected_ns = 0;  ///< As in the Run.
    Lane lane = Lane::pure_read;
    JobClass job_class = JobClass::interactive;
    Step step = Step::whole;
    bool failed = false;  ///< A job threw in `mutating` or in an install: the actor becomes fatal (E18).
};

/// The process-wide permits of heavy builds (E9). The engine puts a lock-free counter behind it.
class HeavyPermits {
public:
    [[nodiscard]] virtual bool try_take() noexcept = 0;
    virtual void give_back() noexcept = 0;

protected:
    ~HeavyPermits() = default;
};

/// The end of `run` as it looks when all its jobs were executed; the caller sets what differs.
[[nodiscard]] inline RunEnd end_of(const Run& run, Nanos elapsed_ns) noexcept {
    RunEnd end;
    end.actor = run.actor;
    end.elapsed_ns = elapsed_ns;
    end.executed = run.jobs.count;
    end.expected_ns = run.expected_ns;
    end.lane = run.lane;
    end.job_class = run.job_class;
    end.step = run.step;
    if (run.step == Step::build || run.step == Step::fenced_build)
        end.built = run.jobs.first;
    return end;
}

}  // namespace sluice::core
