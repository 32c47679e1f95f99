#pragma once

#include <cstdint>

namespace sluice::core {

using Nanos = std::int64_t;

/// What the scheduler is bound by, in the form it uses. Comes from limits_of(EffectiveConfig); tests write it by hand.
struct Limits {
    std::uint32_t pool_size = 2;            ///< Workers, 1..256.
    std::uint32_t actor_cap = 1;            ///< Units of one actor in flight, 1..255.
    std::uint32_t read_cap = 1;             ///< pure_read units of one actor in flight, 1..actor_cap.
    std::uint32_t interactive_reserve = 1;  ///< Maintenance needs more idle workers than this (E11).
    std::uint32_t maintenance_cap = 1;      ///< Maintenance units in flight (E11).
    std::uint32_t drr_quantum = 1;          ///< Added to a deficit by a visit, times weight and batch (E12).
    std::uint32_t deficit_cap = 4;          ///< A deficit stays below this, times weight and batch.

    // Run-ahead (E28).
    std::uint32_t run_jobs_max = 64;       ///< Jobs in a run. 1: no runs.
    std::uint32_t run_budget_ns = 30'000;  ///< Estimated time of a run.
    std::uint32_t backlog_ns = 30'000;  ///< Estimated time handed out while no worker is idle. 0: no backlog.
    std::uint32_t backlog_jobs_max = 512;  ///< Jobs handed out while no worker is idle.
    std::uint32_t long_job_ns = 20'000;    ///< From here on a job counts as long: never in the backlog.

    /// One job a run and no backlog: the decisions of the rules without E28.
    [[nodiscard]] constexpr Limits without_run_ahead() const noexcept {
        Limits plain = *this;
        plain.run_jobs_max = 1;
        plain.backlog_ns = 0;
        return plain;
    }
};

}  // namespace sluice::core
