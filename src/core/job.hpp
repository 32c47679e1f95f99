#pragma once

// A job as the core sees it: what it needs to be queued and admitted, nothing about what it does.
// The engine derives its node from Job; the core never allocates, copies or destroys one.

#include <cstdint>

#include <sluice/lane.hpp>

namespace sluice::core {

struct Actor;

/// The part of a job that one run executes.
/// Every lane but heavy_init runs a job `whole`. A heavy_init job is `build` (its result is installed afterwards) or
/// `fenced_build` (nothing to install: the install is an empty exclusive step, a fence); its second step is `install`.
enum class Step : std::uint8_t { whole, build, install, fenced_build };

/// Why a job was given back to the engine without having run (see Scheduler::take_failed).
enum class FailReason : std::uint8_t {
    none,
    actor_removed,
    actor_fatal,
    shut_down,
    cancelled,
    deadline_exceeded,
    met  ///< the engine's: stopped, and not in the core any more
};

struct Job {
    Job* next = nullptr;
    Job* previous = nullptr;  ///< While the job is queued, so that it can be taken out of the middle.
    Actor* actor = nullptr;
    std::uint64_t number = 0;  ///< The engine's; the core does not look at it.
    /// Stamped by enqueue(): restores the order when several runs give jobs back. Compared modulo 2^32: the jobs that
    /// one actor has queued and in flight are never that many.
    std::uint32_t order = 0;
    // What the submitter says, in one word that nobody else writes: a handle's thread may read it at any time.
    std::uint32_t cost : 20 = 1;    ///< What the job takes from its actor's deficit (E12): 1..max_job_cost.
    bool timed : 1 = false;         ///< It has a deadline (E24): see JobTimer.
    bool withdrawable : 1 = false;  ///< It may be taken out of the queue: `queued` is kept up to date.
    Lane lane : 2 = Lane::pure_read;
    JobClass job_class : 1 = JobClass::interactive;
    Step step : 2 = Step::whole;  ///< whole; heavy_init: build or fenced_build. The core leaves it alone.
    std::uint32_t : 0;            // what follows is another word
    // The scheduler's.
    bool queued : 1 = false;  ///< Withdrawable ones only: it stands in a FIFO.
    FailReason fail : 3 = FailReason::none;

    /// Whether this job stands before another of its actor and class.
    [[nodiscard]] bool before(const Job& other) const noexcept {
        return static_cast<std::int32_t>(order - other.order) < 0;
    }
};

static_assert(sizeof(Job) <= 48,
              "the engine keeps the header of a node in one cache line, and needs 23 bytes of it");

/// The part of a job that only those with a deadline use. It lies wherever the engine puts it; see Deadlines.
struct JobTimer {
    std::int64_t deadline = 0;  ///< On the clock that Scheduler::expire() is given.
    JobTimer* next = nullptr;
    JobTimer* previous = nullptr;
};

/// Where the timer of a job lies, and the other way round.
struct TimerPlace {
    JobTimer& (*of)(Job& job) noexcept = nullptr;
    Job& (*job)(JobTimer& timer) noexcept = nullptr;
};

/// Bounds the rounds that an expensive job can take, and with largest_deficit keeps deficits within 32 bits.
inline constexpr std::uint32_t max_job_cost = 1U << 16;
static_assert(max_job_cost < 1U << 20, "the bits of Job::cost");
inline constexpr std::int32_t largest_deficit = 1 << 30;

/// Jobs linked by `next`, in order.
struct JobChain {
    Job* first = nullptr;
    Job* last = nullptr;
    std::uint32_t count = 0;

    [[nodiscard]] constexpr bool empty() const noexcept {
        return first == nullptr;
    }

    constexpr void append(Job& job) noexcept {
        job.next = nullptr;
        (last == nullptr ? first : last->next) = &job;
        last = &job;
        ++count;
    }
};

}  // namespace sluice::core
