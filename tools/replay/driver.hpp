// Submits the jobs of a plan, each when it is meant to arrive, and writes down how that went.
//
// Roles: one submitter thread inside submit_all(); any thread may ask submitted() and finished(). The rest is for after
// the submitter was joined.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sluice/executor.hpp>

#include "counting_resource.hpp"
#include "jobs.hpp"
#include "pacer.hpp"
#include "recorder.hpp"
#include "trace/trace.hpp"

namespace sluice::replay {

class Driver {
public:
    /// Everything given outlives the driver and the executor. `setting` is what the jobs will see; the submitter
    /// stops when `interrupted` is set.
    Driver(const Trace& trace, const Plan& plan, Recorder& recorder, const JobSetting& setting,
           const CountingResource& memory, const std::atomic<bool>& interrupted)
        : trace_(trace),
          plan_(plan),
          recorder_(recorder),
          setting_(setting),
          memory_(memory),
          interrupted_(interrupted) {}

    /// Registers the actors of the trace. **Errors**: throws sluice::Exception.
    void add_actors(Executor& executor);

    /// Submits all jobs, or until interrupted. The start of the run must have been set on the recorder.
    void submit_all();

    /// How many submissions are written down: acquire, so that whoever asks may read as many.
    [[nodiscard]] std::size_t submitted() const noexcept {
        return submitted_.load(std::memory_order_acquire);
    }
    [[nodiscard]] bool finished() const noexcept {
        return finished_.load(std::memory_order_acquire);
    }

    [[nodiscard]] std::uint64_t submitter_cpu_ns() const noexcept {
        return cpu_ns_;
    }
    /// The resource's count when half of the jobs had been submitted; at the end, if that never happened.
    [[nodiscard]] std::uint64_t allocations_at_half() const noexcept {
        return allocations_at_half_;
    }

private:
    Fate submit(std::size_t job);
    template <class Job, class Call>
    Fate submit_as(std::size_t job, std::uint64_t service_ns, Call&& call);

    const Trace& trace_;
    const Plan& plan_;
    Recorder& recorder_;
    const JobSetting& setting_;
    const CountingResource& memory_;
    const std::atomic<bool>& interrupted_;
    std::vector<Actor<ActorState>> actors_;
    /// Released after each submission was written down; submitted() is its partner.
    std::atomic<std::size_t> submitted_{0};
    std::atomic<bool> finished_{false};
    std::uint64_t cpu_ns_ = 0;
    std::uint64_t allocations_at_half_ = 0;
};

/// The changes that all contexts have counted. Only when no job runs any more.
[[nodiscard]] std::uint64_t count_changes(const Executor& executor);

}  // namespace sluice::replay
