#pragma once

// How much may be handed out at once (E28): estimates of service time, and the sizes that follow from them.

#include <algorithm>
#include <cstdint>

#include "core/limits.hpp"

namespace sluice::core {

/// Exponentially weighted mean of the time of one job, weight 1/8, kept as eight times the value in 32 bits: enough for
/// 0.5 s, and anything above is just long. The value 0 means: never measured.
namespace service {

inline constexpr std::uint32_t scale = 8;
inline constexpr std::uint32_t longest_ns = 0xffff'ffffU / scale;

[[nodiscard]] constexpr std::uint32_t nanos(std::uint32_t estimate) noexcept {
    return estimate / scale;
}

/// The time of one job as a run shows it, clipped: one preempted run must not make all jobs look long, and a job that
/// takes no measurable time still takes one nanosecond, so that an estimate is never 0 again.
[[nodiscard]] constexpr std::uint32_t sample(Nanos elapsed_ns, std::uint32_t executed,
                                             std::uint32_t before_ns) noexcept {
    const Nanos per_job = executed <= 1 ? elapsed_ns : elapsed_ns / executed;
    const Nanos most = std::min<Nanos>(Nanos{4} * before_ns + 1'000, longest_ns);
    return static_cast<std::uint32_t>(std::clamp<Nanos>(per_job, 1, most));
}

/// The estimate after a run. `prior` is an estimate too, used for an actor that was never measured: it clips the first
/// sample, which is then taken as it is.
[[nodiscard]] constexpr std::uint32_t updated(std::uint32_t estimate, std::uint32_t prior, Nanos elapsed_ns,
                                              std::uint32_t executed) noexcept {
    const std::uint32_t before = estimate != 0 ? estimate : prior;
    const std::uint32_t seen = sample(elapsed_ns, executed, nanos(before));
    if (estimate == 0)
        return seen * scale;
    return estimate - estimate / scale + seen;
}

}  // namespace service

/// Jobs of `job_ns` each that fit into `budget_ns`; at least one. The two common answers need no division.
[[nodiscard]] constexpr std::uint32_t jobs_within(std::uint32_t budget_ns, std::uint32_t job_ns,
                                                  std::uint32_t jobs_max) noexcept {
    if (jobs_max <= 1 || job_ns > budget_ns / 2)
        return 1;
    if (std::uint64_t{job_ns} * jobs_max <= budget_ns)
        return jobs_max;
    return budget_ns / job_ns;
}

/// What is handed out already, and whether more may follow while no worker is idle.
struct Backlog {
    std::uint64_t expected_ns = 0;  ///< Sum over the runs in flight.
    std::uint32_t jobs = 0;         ///< Jobs in flight.

    /// Jobs of `job_ns` each that may still be handed out beyond the workers; 0: none.
    [[nodiscard]] constexpr std::uint32_t room(const Limits& limits, std::uint32_t job_ns) const noexcept {
        if (job_ns >= limits.long_job_ns || jobs >= limits.backlog_jobs_max)
            return 0;
        if (expected_ns >= limits.backlog_ns)
            return 0;
        const auto left_ns = static_cast<std::uint32_t>(limits.backlog_ns - expected_ns);
        return std::min(left_ns / std::max<std::uint32_t>(job_ns, 1), limits.backlog_jobs_max - jobs);
    }
};

}  // namespace sluice::core
