// One episode on paper: what is built, how it is loaded, what goes wrong and how it ends. Drawn from the seed and the
// episode's number and from nothing else, so the same two give the same plan on every machine. What the plan does not say is who
// runs when: two runs of one plan interleave differently.
#pragma once

#include "faults.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sluice/config.hpp>
#include <sluice/pool_config.hpp>
#include <sluice/turn_config.hpp>

namespace sluice::soak {

/// A fault that comes from outside, at a moment of the episode.
struct Event {
    std::chrono::microseconds at{0};
    Fault fault{};
    std::uint64_t choice = 0;  ///< seeds what is chosen further: which actor, which part, how far
};

/// What submitters draw from: each chance is one in so many, 0: never.
struct Load {
    unsigned submitters = 2;
    unsigned actors = 4;
    std::uint64_t rest = 0;  ///< a submitter sleeps 50 us after one submission in so many
    std::uint64_t executor_share = 1, pool_share = 1, gate_share = 1;
    std::uint64_t job_throws = 0, mutation_throws = 0, callback_throws = 0, slow_job = 0, nested = 0;
    std::uint64_t deadline = 0, stop = 0, stop_of_all = 0, maintenance = 3;
    std::uint64_t removal = 0, cancellation = 0;
    std::chrono::microseconds slow{500};
    std::chrono::microseconds longest_deadline{1000};
};

/// How a part comes to its end.
enum class End : std::uint8_t {
    drain,
    cancel,
    destructor,  ///< without a shutdown, with work queued; one part of an episode at most
    own_job,     ///< likewise, by a job of its own that holds it
};

enum class Part : std::uint8_t { executor, pool, gate };
inline constexpr std::size_t part_count = 3;

struct Plan {
    std::uint64_t seed = 0;
    std::uint64_t number = 0;
    std::chrono::milliseconds duration{50};
    Config executor;
    PoolConfig pool;
    TurnGateConfig gate;
    bool hooks_throw = false;
    Load load;
    std::vector<Event> events;             ///< by time
    std::uint32_t failing_thread = 0;      ///< of the first attempt to start the part below; 0: none
    std::uint64_t failing_allocation = 0;  ///< likewise
    Part fails_to_start = Part::executor;
    End executor_end = End::drain;
    End pool_end = End::drain;
    bool settles_late = false;  ///< handles are looked at after their executor has gone
};

[[nodiscard]] Plan draw_plan(std::uint64_t seed, std::uint64_t number);

/// The plan in a few lines, for whoever has to look into an episode that went wrong.
[[nodiscard]] std::string describe(const Plan& plan);

}  // namespace sluice::soak
