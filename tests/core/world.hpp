#pragma once

// What every test of the scheduler needs: actors, jobs, permits and the runs in flight, with names to speak about them.
// The engine's part of the contract is played here, by hand and one step at a time.

#include "core/scheduler.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace sluice::core::test {

inline constexpr Lane lanes[] = {Lane::pure_read, Lane::serial_status, Lane::heavy_init, Lane::mutating};
inline constexpr JobClass classes[] = {JobClass::interactive, JobClass::maintenance};

/// As many permits as it is given; counts how often it was asked.
class CountedPermits final : public HeavyPermits {
public:
    explicit CountedPermits(unsigned free) : free_(free) {}

    [[nodiscard]] bool try_take() noexcept override {
        ++asked_;
        if (free_ == 0)
            return false;
        --free_;
        return true;
    }
    void give_back() noexcept override {
        ++free_;
    }

    [[nodiscard]] unsigned free() const {
        return free_;
    }
    [[nodiscard]] unsigned asked() const {
        return asked_;
    }

private:
    unsigned free_;
    unsigned asked_ = 0;
};

/// The smallest limits that show every rule: the caps of E1/E2 for `pool_size`, without run-ahead.
[[nodiscard]] inline Limits plain_limits(std::uint32_t pool_size) {
    Limits limits;
    limits.pool_size = pool_size;
    limits.actor_cap = pool_size < 3 ? 1 : pool_size > 5 ? 4 : pool_size - 1;
    limits.read_cap = limits.actor_cap;
    limits.interactive_reserve = pool_size >= 4 ? 2 : pool_size == 1 ? 0 : 1;
    limits.maintenance_cap =
        pool_size > limits.interactive_reserve ? pool_size - limits.interactive_reserve : 1;
    limits.deficit_cap = 4 * limits.actor_cap;
    return limits.without_run_ahead();
}

/// A job with the timer that the core finds through TimerPlace.
struct TimedJob : Job {
    struct Timer : JobTimer {
        TimedJob* job = nullptr;
    } timer;
};
inline constexpr TimerPlace timers_of_world{
    .of = [](Job& job) noexcept -> JobTimer& { return static_cast<TimedJob&>(job).timer; },
    .job = [](JobTimer& timer) noexcept -> Job& { return *static_cast<TimedJob::Timer&>(timer).job; },
};

struct World {
    World(const Limits& limits, unsigned permit_count, std::size_t actor_count)
        : permits(permit_count), scheduler(limits, permits, timers_of_world) {
        for (std::size_t i = 0; i < actor_count; ++i)
            actors.emplace_back();
    }

    /// Jobs are known by their index, which is also their Job::number.
    std::size_t submit(std::size_t actor, Lane lane, JobClass c = JobClass::interactive,
                       std::uint32_t cost = 1, bool fenced = false,
                       std::optional<Nanos> deadline = std::nullopt) {
        TimedJob& job = jobs.emplace_back();
        job.actor = &actors[actor];
        job.number = jobs.size() - 1;
        job.cost = cost & 0xF'FFFF;
        job.lane = lane;
        job.job_class = c;
        if (lane == Lane::heavy_init)
            job.step = fenced ? Step::fenced_build : Step::build;
        job.withdrawable = true;
        job.timed = deadline.has_value();
        job.timer.job = &job;
        job.timer.deadline = deadline.value_or(0);
        scheduler.enqueue(job);
        return jobs.size() - 1;
    }

    /// The index of the run in `running`, if there was one.
    std::optional<std::size_t> start() {
        const std::optional<Run> run = scheduler.next_run();
        if (!run)
            return std::nullopt;
        running.push_back(*run);
        return running.size() - 1;
    }

    void start_all() {
        while (start()) {}
    }

    /// Takes a run out of `running`, to be ended.
    Run take(std::size_t index) {
        const Run run = running[index];
        running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
        return run;
    }

    void end(std::size_t index, Nanos job_ns = 100'000) {
        const Run run = take(index);
        scheduler.run_ended(end_of(run, job_ns * run.jobs.count));
    }

    [[nodiscard]] std::size_t index_of(const Actor& actor) const {
        for (std::size_t i = 0; i < actors.size(); ++i)
            if (&actors[i] == &actor)
                return i;
        return actors.size();
    }

    CountedPermits permits;
    Scheduler scheduler;
    std::deque<Actor> actors;
    std::deque<TimedJob> jobs;
    std::vector<Run> running;
};

[[nodiscard]] inline std::vector<std::size_t> numbers(const JobChain& chain) {
    std::vector<std::size_t> result;
    for (const Job* job = chain.first; job != nullptr; job = job->next)
        result.push_back(job->number);
    return result;
}

}  // namespace sluice::core::test
