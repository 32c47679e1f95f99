// What a run has shown, as data: made from the records once, then written as text and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/snapshot.hpp>

#include "audit.hpp"
#include "durations.hpp"
#include "fairness.hpp"
#include "options.hpp"
#include "pacer.hpp"
#include "recorder.hpp"
#include "trace/trace.hpp"

namespace sluice::replay {

/// Jobs by what became of them. planned = not_submitted + refused + accepted; accepted = ran + dropped + lost.
struct Counts {
    std::uint64_t planned = 0;
    std::uint64_t not_submitted = 0;  ///< an interrupt came first
    std::uint64_t refused_queue_full = 0;
    std::uint64_t refused_otherwise = 0;
    std::uint64_t accepted = 0;
    std::uint64_t ran = 0;
    std::uint64_t dropped = 0;  ///< accepted, then completed with an error without having run
    std::uint64_t lost = 0;     ///< accepted, and neither ran nor dropped
    std::uint64_t cut_short =
        0;  ///< of those that ran: their work was ended by an interrupt; not in the durations

    [[nodiscard]] std::uint64_t refused() const noexcept {
        return refused_queue_full + refused_otherwise;
    }
};

/// One lane and class, or all of them together.
struct Group {
    Lane lane = Lane::pure_read;
    JobClass job_class = JobClass::interactive;
    Counts jobs;
    Durations queue_delay;  ///< start minus intended arrival
    Durations latency;      ///< end minus intended arrival
};

/// What the machine was asked for while the run lasted: measured around it, by the driver.
struct Usage {
    std::uint64_t cpu_user_ns = 0;  ///< of the whole process
    std::uint64_t cpu_system_ns = 0;
    std::uint64_t submitter_cpu_ns = 0;  ///< the submitter's part of it
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;
    std::uint64_t allocations = 0;              ///< calls of the executor's memory resource
    std::uint64_t allocations_second_half = 0;  ///< of them, after half of the jobs had been submitted
    std::uint64_t peak_memory_bytes = 0;        ///< most that the executor held at one time
};

/// How the run was set up and how it ended: what the records cannot tell.
struct RunFacts {
    bool interrupted = false;
    bool stuck = false;  ///< no job ended for longer than the patience
    std::uint64_t workers = 0;
    std::uint64_t max_queued = 0;  ///< in force; the largest value stands for no limit
    Usage usage;
    Snapshot last;                       ///< taken when all jobs had ended
    std::uint64_t snapshots = 0;         ///< taken while the run lasted
    std::uint64_t snapshots_uneven = 0;  ///< of them, with accepted != queued + running + completed
    std::uint64_t context_changes = 0;   ///< exclusive steps that the actors' contexts have counted
    std::vector<std::string> executor_errors;
};

struct Report {
    Options options;
    RunFacts facts;
    std::string trace_name;
    std::uint64_t rows = 0;
    std::uint64_t actors = 0;
    std::uint64_t span_us = 0;
    std::uint64_t malformed = 0;
    std::uint64_t out_of_order = 0;
    std::vector<std::string> complaints;
    double speed = 1;
    double offered_workers = 0;
    double utilisation = 0;
    std::uint64_t work_ns = 0;

    std::uint64_t wall_ns = 0;  ///< from the start of the run to the end of its last job
    double jobs_per_second = 0;
    std::uint64_t peak_queued = 0;  ///< most jobs accepted and not started at one time
    Group total;
    std::vector<Group> groups;  ///< those that have jobs, by lane, then class
    Durations submitter_lag;    ///< call minus intended arrival
    Durations submit_call;      ///< duration of the call
    Fairness fairness;
    std::vector<Check> checks;
    OrderAudit order;

    /// Whether no job was lost and no promise broken.
    [[nodiscard]] bool sound() const noexcept;
    [[nodiscard]] ExitCode exit_code() const noexcept;
};

/// Everything about a run that has ended. Reads the records: call it when nobody writes them any more.
[[nodiscard]] Report make_report(const LoadedTrace& loaded, const Plan& plan, const Recorder& recorder,
                                 const Options& options, RunFacts facts);

}  // namespace sluice::replay
