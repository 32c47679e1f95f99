// How evenly the waiting was spread over the actors. PURE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pacer.hpp"
#include "recorder.hpp"
#include "trace/trace.hpp"

namespace sluice::replay {

/// A job's slowdown is its latency over its service time, at least 1, with service times below 10 us taken as 10 us
/// ("bounded slowdown": else a job of 1 us that waits for 100 us would count as a hundred times one of 100 us). An
/// actor's is the mean over its jobs. Actors with fewer than `fairness_min_jobs` jobs are left out: one job is luck.
inline constexpr std::uint64_t fairness_min_jobs = 10;
inline constexpr std::uint64_t slowdown_floor_ns = 10'000;

struct Fairness {
    std::uint64_t actors = 0;  ///< with enough jobs; all else is 0 or empty when there is none
    /// Jain's index of the actors' slowdowns: 1 when all are alike, 1/actors when one bears it all.
    double jain = 0;
    double median_slowdown = 0;
    std::string worst_actor;
    double worst_slowdown = 0;
    std::uint64_t worst_jobs = 0;
};

/// Jain's index of some non-negative numbers; 1 for none, and for all zero.
[[nodiscard]] double jain_index(const std::vector<double>& values) noexcept;

/// Over all jobs that ran to their end.
[[nodiscard]] Fairness make_fairness(const Trace& trace, const Plan& plan, const Recorder& recorder);

}  // namespace sluice::replay
