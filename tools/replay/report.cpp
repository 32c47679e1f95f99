#include "report.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "observe/histogram.hpp"

namespace sluice::replay {
namespace {

using observe::Histogram;

// Collects one group's jobs.
struct Collector {
    Counts jobs;
    Histogram queue_delay;
    Histogram latency;

    void see(const PlannedJob& planned, const Submission& submission, const JobRecord& record) {
        ++jobs.planned;
        switch (submission.fate) {
            case Fate::not_submitted:
                ++jobs.not_submitted;
                return;
            case Fate::refused_queue_full:
                ++jobs.refused_queue_full;
                return;
            case Fate::refused_otherwise:
                ++jobs.refused_otherwise;
                return;
            case Fate::accepted:
                ++jobs.accepted;
                break;
        }
        const std::uint64_t ended = record.ended();
        if (ended == 0) {
            ++(record.dropped.load(std::memory_order_relaxed) ? jobs.dropped : jobs.lost);
            return;
        }
        ++jobs.ran;
        if (record.cut_short.load(std::memory_order_relaxed)) {
            ++jobs.cut_short;
            return;
        }
        queue_delay.record(since(record.started, planned.arrival_ns));
        latency.record(since(ended, planned.arrival_ns));
    }

    void add_to(Collector& total) const {
        total.jobs.planned += jobs.planned;
        total.jobs.not_submitted += jobs.not_submitted;
        total.jobs.refused_queue_full += jobs.refused_queue_full;
        total.jobs.refused_otherwise += jobs.refused_otherwise;
        total.jobs.accepted += jobs.accepted;
        total.jobs.ran += jobs.ran;
        total.jobs.dropped += jobs.dropped;
        total.jobs.lost += jobs.lost;
        total.jobs.cut_short += jobs.cut_short;
        total.queue_delay.merge(queue_delay);
        total.latency.merge(latency);
    }

    [[nodiscard]] Group group(Lane lane, JobClass job_class) const {
        return {lane, job_class, jobs, durations(queue_delay), durations(latency)};
    }
};

void fill_groups(Report& report, const Trace& trace, const Plan& plan, const Recorder& recorder) {
    std::array<Collector, std::size_t{lane_count} * job_class_count> collectors;
    for (std::size_t job = 0; job < plan.jobs.size(); ++job) {
        const Row& row = trace.rows[plan.jobs[job].row];
        const std::size_t at =
            static_cast<std::size_t>(row.lane) * job_class_count + static_cast<std::size_t>(row.job_class);
        collectors[at].see(plan.jobs[job], recorder.submissions()[job], recorder.records()[job]);
    }
    Collector total;
    for (std::size_t at = 0; at < collectors.size(); ++at) {
        if (collectors[at].jobs.planned == 0)
            continue;
        collectors[at].add_to(total);
        report.groups.push_back(collectors[at].group(static_cast<Lane>(at / job_class_count),
                                                     static_cast<JobClass>(at % job_class_count)));
    }
    report.total = total.group({}, {});
}

void fill_submitter(Report& report, const Plan& plan, const Recorder& recorder) {
    Histogram lag, call;
    for (std::size_t job = 0; job < plan.jobs.size(); ++job) {
        const Submission& submission = recorder.submissions()[job];
        if (submission.fate == Fate::not_submitted)
            continue;
        lag.record(since(submission.called, plan.jobs[job].arrival_ns));
        call.record(submission.call_ns);
    }
    report.submitter_lag = durations(lag);
    report.submit_call = durations(call);
}

// Walks submissions and starts in the order of time. A job that never started is taken as waiting to the end.
std::uint64_t peak_queued(const Recorder& recorder) {
    std::vector<std::uint64_t> submitted, started;
    for (std::size_t job = 0; job < recorder.size(); ++job) {
        if (recorder.submissions()[job].fate != Fate::accepted)
            continue;
        submitted.push_back(recorder.submissions()[job].called);
        if (recorder.records()[job].ended() != 0)
            started.push_back(recorder.records()[job].started);
    }
    std::ranges::sort(started);  // submissions are in order already: one thread made them
    std::uint64_t peak = 0;
    std::size_t gone = 0;
    for (std::size_t in = 0; in < submitted.size(); ++in) {
        while (gone < started.size() && started[gone] <= submitted[in])
            ++gone;
        peak = std::max<std::uint64_t>(peak, in + 1 - std::min(gone, in + 1));
    }
    return peak;
}

std::uint64_t last_end(const Recorder& recorder) {
    std::uint64_t last = 0;
    for (const JobRecord& record : recorder.records())
        last = std::max(last, record.ended());
    return last;
}

}  // namespace

bool Report::sound() const noexcept {
    return total.jobs.lost == 0 && order.violations == 0 && !facts.stuck &&
           std::ranges::all_of(checks, &Check::holds);
}

ExitCode Report::exit_code() const noexcept {
    if (!sound())
        return ExitCode::broken;
    if (facts.interrupted)
        return ExitCode::interrupted;
    const bool failed_by_executor = total.jobs.refused_otherwise > 0 || total.jobs.dropped > 0;
    return failed_by_executor || !facts.executor_errors.empty() ? ExitCode::executor : ExitCode::ok;
}

Report make_report(const LoadedTrace& loaded, const Plan& plan, const Recorder& recorder,
                   const Options& options, RunFacts facts) {
    const Trace& trace = loaded.trace;
    Report report;
    report.options = options;
    report.facts = std::move(facts);
    report.trace_name = options.trace;
    report.rows = trace.rows.size();
    report.actors = trace.actors.size();
    report.span_us = trace.rows.back().arrival_us;
    report.malformed = loaded.malformed;
    report.out_of_order = loaded.out_of_order;
    report.complaints = loaded.complaints;
    report.speed = plan.speed;
    report.offered_workers = plan.offered_workers;
    report.utilisation = plan.utilisation;
    report.work_ns = plan.work_ns;

    fill_groups(report, trace, plan, recorder);
    fill_submitter(report, plan, recorder);
    report.wall_ns = last_end(recorder);
    report.jobs_per_second = report.wall_ns > 0 ? static_cast<double>(report.total.jobs.ran) * 1e9 /
                                                      static_cast<double>(report.wall_ns)
                                                : 0;
    report.peak_queued = peak_queued(recorder);
    report.fairness = make_fairness(trace, plan, recorder);
    report.checks = check_conservation(report.total.jobs, trace, plan, recorder, report.facts);
    report.order = audit_order(trace, plan, recorder);
    return report;
}

}  // namespace sluice::replay
