#pragma once

// What belongs to whoever holds the scheduler's role, and the small conversions between runs as the core knows them and
// entries as they travel.

#include "core/scheduler.hpp"
#include "executor/engine.hpp"
#include "executor/job_node.hpp"
#include "executor/worker.hpp"
#include "sync/claim.hpp"
#include "sync/run_entry.hpp"
#include "sync/run_queue.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace sluice::detail {

/// Jobs drained, and jobs handed out, in one turn: a turn is a few microseconds.
inline constexpr std::uint32_t turn_jobs_max = 128;

struct Engine::Owned {
    Owned(const core::Limits& limits, core::HeavyPermits& permits) noexcept
        : core(limits, permits, {.of = timer_of, .job = job_of}) {}

    core::Scheduler core;
    std::array<core::Job*, turn_jobs_max> arrivals{};
    std::array<sync::RunEntry, sync::RunQueue::longest_run> entries{};  ///< what was just taken back
    core::JobChain stopped;             ///< jobs that were met before their requests were taken, as abandoned
    core::JobChain abandoned;           ///< numbers that arrived without a job, until the turn's end
    ActorCell* retired = nullptr;       ///< linked by ActorCell::link
    sync::atomic<bool> reading{false};  ///< the registry's mark for the role holder
};

/// Cuts entries into runs and calls `tell(RunReport)` with each. `continues_run`: the first part belongs to a run that
/// is in progress.
template <class Tell>
void for_each_run(std::span<const sync::RunEntry> entries, bool continues_run, Tell&& tell) {
    core::JobChain part;
    for (const auto& entry : entries) {
        part.append(*entry.job);
        if (!entry.ends_run)
            continue;
        const auto& first = static_cast<const JobNode&>(*part.first);
        RunReport report;
        report.kind = continues_run ? RunReport::Kind::given_back : RunReport::Kind::returned;
        report.end.actor = first.actor;
        report.end.lane = first.lane;
        report.end.job_class = first.job_class;
        report.end.step = first.built ? core::Step::install : first.step;
        report.end.expected_ns = first.run_expected_ns;
        report.end.rest = part;
        tell(report);
        part = {};
        continues_run = false;
    }
}

/// The whole run that a `returned` report brings back.
[[nodiscard]] inline core::Run run_of(const RunReport& report) noexcept {
    core::Run run;
    run.actor = report.end.actor;
    run.jobs = report.end.rest;
    run.expected_ns = report.end.expected_ns;
    run.lane = report.end.lane;
    run.job_class = report.end.job_class;
    run.step = report.end.step;
    // A run has a first job. NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
    run.long_running = static_cast<const JobNode&>(*report.end.rest.first).run_is_long;
    return run;
}

}  // namespace sluice::detail
