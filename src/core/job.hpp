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
enum class FailReason : std::uint8_t { none, actor_removed, actor_fatal, shut_down };

struct Job {
    Job* next = nullptr;
    Actor* actor = nullptr;
    std::uint64_t number = 0;  ///< The engine's; the core does not look at it.
    std::uint64_t order = 0;   ///< Stamped by enqueue(): restores the order when several runs give jobs back.
    std::uint32_t cost =
        1;  ///< What the job takes from its actor's deficit (E12); enqueue() keeps it in 1..max_job_cost.
    Lane lane = Lane::pure_read;
    JobClass job_class = JobClass::interactive;
    Step step = Step::whole;  ///< whole; heavy_init: build or fenced_build. The core leaves it alone.
    FailReason fail = FailReason::none;
};

static_assert(sizeof(Job) <= 48,
              "the engine keeps the header of a node in one cache line, and needs 16 bytes of it");

/// Bounds the rounds that an expensive job can take, and with largest_deficit keeps deficits within 32 bits.
inline constexpr std::uint32_t max_job_cost = 1U << 16;
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
