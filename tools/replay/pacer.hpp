// When each job is meant to arrive. PURE: a plan is a function of the trace and the options.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "trace/row.hpp"

namespace sluice::replay {

enum class PaceKind : std::uint8_t {
    speed,        ///< arrivals are divided by `value`
    utilisation,  ///< the speed is chosen so that `value` is the share of all workers' time that the jobs ask for
    asap          ///< everything arrives at once, at 0
};

struct Pace {
    PaceKind kind = PaceKind::utilisation;
    double value = 0.5;
};

struct PlanOptions {
    Pace pace;
    unsigned workers = 1;
    double service_scale = 1;  ///< service times are multiplied by this
    std::uint64_t repeat = 1;  ///< laps over the trace, each a mean gap behind the one before
    double jitter = 0;         ///< each arrival is late by a random share, up to this, of the mean gap
    std::uint64_t seed = 1;    ///< of the jitter
};

/// Rows times laps that one run may have. A job costs about 64 bytes of plan and records: 1.3 GB.
inline constexpr std::uint64_t max_jobs = 20'000'000;

/// One job of the run; its place in Plan::jobs is its number everywhere in this tool.
struct PlannedJob {
    std::uint64_t arrival_ns = 0;  ///< intended, since the start of the run
    std::uint32_t row = 0;
};

struct Plan {
    std::vector<PlannedJob> jobs;  ///< by arrival; ties in the order of the trace
    Pace pace;
    double service_scale = 1;
    double speed = 1;            ///< that arrivals were divided by; meaningless under asap
    double offered_workers = 0;  ///< sum of scaled service / span, at speed 1; 0 when the span is 0
    double utilisation = 0;      ///< offered_workers * speed / workers; 0 under asap or when the span is 0
    std::uint64_t work_ns = 0;   ///< sum of scaled service over all jobs

    /// Scaled service of a row.
    [[nodiscard]] std::uint64_t service_ns(const Row& row) const noexcept {
        return static_cast<std::uint64_t>(static_cast<double>(row.service_us) * 1000.0 * service_scale);
    }
};

/// `rows` by arrival, the first at 0, not empty. **Errors**: a sentence, when there are too many jobs, or no speed
/// gives the utilisation asked for (no service time, or all rows arrive at once).
[[nodiscard]] std::expected<Plan, std::string> make_plan(std::span<const Row> rows,
                                                         const PlanOptions& options);

}  // namespace sluice::replay
