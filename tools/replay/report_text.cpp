#include "report_text.hpp"

#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "text.hpp"
#include "trace/csv_fields.hpp"

namespace sluice::replay {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string pace_text(const Report& report) {
    if (report.options.pace.kind == PaceKind::asap)
        return "everything at once";
    return fmt::format("speed {:.3g}, {:.0f} % of {}", report.speed, 100 * report.utilisation,
                       counted(report.facts.workers, "worker"));
}

void setup(const Report& report, Out out) {
    const Options& options = report.options;
    fmt::format_to(out, "trace      {}: {}, {}, {} long", report.trace_name, counted(report.rows, "row"),
                   counted(report.actors, "actor"), duration(report.span_us * 1000));
    if (report.offered_workers > 0)
        fmt::format_to(out, "\n           offers {:.2f} workers at speed 1", report.offered_workers);
    fmt::format_to(out, "\n");
    fmt::format_to(out, "load       {}; jobs {} for {} in all", pace_text(report),
                   options.work == WorkKind::spin ? "spin" : "sleep", duration(report.work_ns));
    std::string changes;
    if (options.service_scale != 1)
        changes += fmt::format("; service times x {:g}", options.service_scale);
    if (options.repeat > 1)
        changes += fmt::format("; {} laps", grouped(options.repeat));
    if (options.jitter > 0)
        changes += fmt::format("; jitter {:g}, seed {}", options.jitter, options.seed);
    if (!changes.empty())
        fmt::format_to(out, "\n           {}", std::string_view(changes).substr(2));
    fmt::format_to(out, "\nexecutor   policy {}, {}", options.policy == Policy::lent ? "lent" : "dedicated",
                   counted(report.facts.workers, "worker"));
    if (options.max_queued > 0)
        fmt::format_to(out, ", at most {} queued", grouped(options.max_queued));
    fmt::format_to(out, "\n");
    if (report.malformed > 0) {
        fmt::format_to(out, "skipped    {}; the first:\n", counted(report.malformed, "malformed line"));
        for (const auto& complaint : report.complaints)
            fmt::format_to(out, "           {}\n", complaint);
    }
    if (report.out_of_order > 0) {
        fmt::format_to(out, "sorted     {} came before the row above\n", counted(report.out_of_order, "row"));
    }
}

// "jobs in = jobs out": the line that this tool exists for.
void verdict(const Report& report, Out out) {
    const Counts& jobs = report.total.jobs;
    fmt::format_to(out, "jobs       {} in = {} ran", grouped(jobs.accepted), grouped(jobs.ran));
    if (jobs.dropped > 0)
        fmt::format_to(out, " + {} cancelled", grouped(jobs.dropped));
    if (jobs.lost > 0)
        fmt::format_to(out, " + {} LOST", grouped(jobs.lost));
    if (jobs.refused() > 0) {
        fmt::format_to(out, "; {} refused ({})", grouped(jobs.refused()),
                       jobs.refused_otherwise == 0
                           ? std::string("queue full")
                           : fmt::format("{} queue full", grouped(jobs.refused_queue_full)));
    }
    if (jobs.not_submitted > 0)
        fmt::format_to(out, "; {} not submitted", grouped(jobs.not_submitted));
    if (jobs.cut_short > 0)
        fmt::format_to(out, "; {} cut short", grouped(jobs.cut_short));
    fmt::format_to(out, "\n");
    if (report.facts.interrupted)
        fmt::format_to(out, "           interrupted: this is what ran until then\n");
    if (report.facts.stuck) {
        fmt::format_to(out, "           STUCK: no job ended for {} s while some waited\n",
                       report.options.patience_s);
    }
    std::size_t broken = 0;
    for (const Check& check : report.checks) {
        if (check.holds())
            continue;
        ++broken;
        fmt::format_to(out, "           BROKEN: {}: {} and {}\n", check.name, grouped(check.left),
                       grouped(check.right));
    }
    if (report.order.violations > 0) {
        fmt::format_to(out, "           BROKEN: order or exclusion, {}; the first:\n",
                       counted(report.order.violations, "time"));
        for (const auto& example : report.order.examples)
            fmt::format_to(out, "           {}\n", example);
    }
    fmt::format_to(out, "checks     {} of {} counts agree; {} looked at for order and exclusion\n",
                   report.checks.size() - broken, report.checks.size(), counted(report.order.jobs, "job"));
    fmt::format_to(out, "           {}\n",
                   report.sound() ? "no job is lost, no rule is broken" : "BROKEN: see above");
    for (const auto& error : report.facts.executor_errors)
        fmt::format_to(out, "error      {}\n", error);
}

std::string group_name(const Group& group) {
    return fmt::format("{:<9}{:<11}", lane_word(group.lane), class_word(group.job_class));
}

void duration_row(Out out, std::string_view name, const Durations& d) {
    if (d.count == 0) {
        fmt::format_to(out, "{:<20}{:>10}\n", name, 0);
        return;
    }
    fmt::format_to(out, "{:<20}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", name, grouped(d.count),
                   duration(d.p50), duration(d.p90), duration(d.p99), duration(d.p999), duration(d.max));
}

void duration_table(const Report& report, Out out, std::string_view title, Durations Group::* part) {
    fmt::format_to(out, "\n{}\n{:<20}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", title, "lane     class", "jobs",
                   "p50", "p90", "p99", "p99.9", "max");
    for (const Group& group : report.groups)
        duration_row(out, group_name(group), group.*part);
    if (report.groups.size() > 1)
        duration_row(out, "all", report.total.*part);
}

// Only where there is something to tell: in most runs every job of every group ran.
void counts_table(const Report& report, Out out) {
    const Counts& all = report.total.jobs;
    if (all.ran == all.planned)
        return;
    fmt::format_to(out, "\njobs by what became of them\n{:<20}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
                   "lane     class", "planned", "ran", "refused", "cancelled", "lost", "not sent");
    const auto row = [&](std::string_view name, const Counts& jobs) {
        fmt::format_to(out, "{:<20}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", name, grouped(jobs.planned),
                       grouped(jobs.ran), grouped(jobs.refused()), grouped(jobs.dropped), grouped(jobs.lost),
                       grouped(jobs.not_submitted));
    };
    for (const Group& group : report.groups)
        row(group_name(group), group.jobs);
    if (report.groups.size() > 1)
        row("all", all);
}

void cost(const Report& report, Out out) {
    const Usage& usage = report.facts.usage;
    const auto jobs = static_cast<double>(report.total.jobs.ran);
    const auto cpu = static_cast<double>(usage.cpu_user_ns + usage.cpu_system_ns);
    const auto per_job = [&](double amount) { return jobs > 0 ? amount / jobs : 0; };
    fmt::format_to(out, "\ntime       {}, {} jobs/s; at most {} queued\n", duration(report.wall_ns),
                   ratio(report.jobs_per_second), grouped(report.peak_queued));
    fmt::format_to(
        out,
        "submitter  late by {} at p50, {} at p99, {} at most\n           a call takes {} at p50, {} at p99\n",
        duration(report.submitter_lag.p50), duration(report.submitter_lag.p99),
        duration(report.submitter_lag.max), duration(report.submit_call.p50),
        duration(report.submit_call.p99));
    fmt::format_to(out, "cpu        {} user + {} system, {} a job\n           the submitter's part is {}\n",
                   duration(usage.cpu_user_ns), duration(usage.cpu_system_ns),
                   duration(static_cast<std::uint64_t>(per_job(cpu))), duration(usage.submitter_cpu_ns));
    fmt::format_to(out,
                   "memory     {:.4f} allocations a job ({}; {} in the second half)\n           at most {}\n",
                   per_job(static_cast<double>(usage.allocations)), grouped(usage.allocations),
                   grouped(usage.allocations_second_half), bytes_text(usage.peak_memory_bytes));
    const Fairness& fairness = report.fairness;
    if (fairness.actors > 0) {
        fmt::format_to(out, "fairness   Jain {:.3f} over {} with {} jobs or more\n", fairness.jain,
                       counted(fairness.actors, "actor"), fairness_min_jobs);
        fmt::format_to(out, "           slowdown {} at the median, {} for the worst ({}, {})\n",
                       ratio(fairness.median_slowdown), ratio(fairness.worst_slowdown),
                       shown(fairness.worst_actor), counted(fairness.worst_jobs, "job"));
    }
}

}  // namespace

std::string report_text(const Report& report) {
    std::string text;
    const Out out(text);
    setup(report, out);
    verdict(report, out);
    counts_table(report, out);
    duration_table(report, out, "queue delay: start minus intended arrival", &Group::queue_delay);
    duration_table(report, out, "total latency: end minus intended arrival", &Group::latency);
    cost(report, out);
    return text;
}

}  // namespace sluice::replay
