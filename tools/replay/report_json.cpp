#include "report_json.hpp"

#include <nlohmann/json.hpp>
#include <sluice/version.hpp>

namespace sluice::replay {
namespace {

// Members in the order in which they are written here, which is the order of the guide.
using Json = nlohmann::ordered_json;

Json durations(const Durations& d) {
    return {{"count", d.count}, {"mean", d.mean}, {"p50", d.p50}, {"p90", d.p90},
            {"p99", d.p99},     {"p999", d.p999}, {"max", d.max}};
}

Json counts(const Counts& jobs) {
    return {{"planned", jobs.planned},    {"not_submitted", jobs.not_submitted},
            {"refused", jobs.refused()},  {"refused_queue_full", jobs.refused_queue_full},
            {"accepted", jobs.accepted},  {"ran", jobs.ran},
            {"dropped", jobs.dropped},    {"lost", jobs.lost},
            {"cut_short", jobs.cut_short}};
}

Json group(const Group& g, double seconds) {
    const double per_second = seconds > 0 ? static_cast<double>(g.jobs.ran) / seconds : 0;
    return {{"jobs", counts(g.jobs)},
            {"jobs_per_second", per_second},
            {"queue_delay_ns", durations(g.queue_delay)},
            {"latency_ns", durations(g.latency)}};
}

Json trace(const Report& report) {
    return {{"name", report.trace_name},
            {"rows", report.rows},
            {"actors", report.actors},
            {"span_us", report.span_us},
            {"malformed", report.malformed},
            {"complaints", report.complaints},
            {"out_of_order", report.out_of_order}};
}

std::string_view pace_name(PaceKind kind) {
    switch (kind) {
        case PaceKind::speed:
            return "speed";
        case PaceKind::utilisation:
            return "utilisation";
        case PaceKind::asap:
            break;
    }
    return "asap";
}

// A number, or null where it has no meaning.
template <class Number>
Json known(bool is_known, Number value) {
    return is_known ? Json(value) : Json(nullptr);
}

Json run(const Report& report) {
    const Options& options = report.options;
    const bool paced = options.pace.kind != PaceKind::asap;
    const bool loaded = paced && report.offered_workers > 0;
    return {{"engine", "executor"},
            {"policy", options.policy == Policy::lent ? "lent" : "dedicated"},
            {"workers", report.facts.workers},
            {"max_queued", report.facts.max_queued},
            {"work", options.work == WorkKind::spin ? "spin" : "sleep"},
            {"work_ns", report.work_ns},
            {"service_scale", options.service_scale},
            {"pace", pace_name(options.pace.kind)},
            {"speed", known(paced, report.speed)},
            {"utilisation", known(loaded, report.utilisation)},
            {"offered_workers", known(report.offered_workers > 0, report.offered_workers)},
            {"repeat", options.repeat},
            {"jitter", options.jitter},
            {"seed", options.seed},
            {"interrupted", report.facts.interrupted},
            {"stuck", report.facts.stuck}};
}

Json groups(const Report& report, double seconds) {
    Json list = Json::array();
    for (const Group& g : report.groups) {
        Json entry = {{"lane", lane_word(g.lane)}, {"class", class_word(g.job_class)}};
        entry.update(group(g, seconds));
        list.push_back(std::move(entry));
    }
    return list;
}

Json checks(const Report& report) {
    Json list = Json::array();
    for (const Check& check : report.checks) {
        list.push_back(
            {{"name", check.name}, {"holds", check.holds()}, {"left", check.left}, {"right", check.right}});
    }
    return {{"sound", report.sound()},
            {"counts", std::move(list)},
            {"order",
             {{"jobs", report.order.jobs},
              {"violations", report.order.violations},
              {"examples", report.order.examples}}},
            {"errors", report.facts.executor_errors}};
}

Json cpu(const Report& report) {
    const Usage& usage = report.facts.usage;
    const auto total = static_cast<double>(usage.cpu_user_ns + usage.cpu_system_ns);
    const auto ran = static_cast<double>(report.total.jobs.ran);
    return {{"user_ns", usage.cpu_user_ns},
            {"system_ns", usage.cpu_system_ns},
            {"per_job_ns", ran > 0 ? total / ran : 0},
            {"submitter_ns", usage.submitter_cpu_ns},
            {"voluntary_switches", usage.voluntary_switches},
            {"involuntary_switches", usage.involuntary_switches}};
}

Json memory(const Report& report) {
    const Usage& usage = report.facts.usage;
    const auto ran = static_cast<double>(report.total.jobs.ran);
    return {{"allocations", usage.allocations},
            {"allocations_per_job", ran > 0 ? static_cast<double>(usage.allocations) / ran : 0},
            {"allocations_second_half", usage.allocations_second_half},
            {"peak_bytes", usage.peak_memory_bytes}};
}

Json fairness(const Fairness& f) {
    return {{"actors", f.actors},
            {"min_jobs", fairness_min_jobs},
            {"jain", known(f.actors > 0, f.jain)},
            {"median_slowdown", known(f.actors > 0, f.median_slowdown)},
            {"worst_actor", f.worst_actor},
            {"worst_slowdown", known(f.actors > 0, f.worst_slowdown)},
            {"worst_jobs", f.worst_jobs}};
}

Json executor(const RunFacts& facts) {
    const Snapshot& last = facts.last;
    return {{"accepted", last.jobs.accepted},
            {"completed", last.jobs.completed()},
            {"succeeded", last.jobs.succeeded},
            {"refused", last.refused.total()},
            {"turns", last.turn.turns},
            {"wakeups", last.wakeups},
            {"nodes", last.nodes},
            {"oversized", last.oversized},
            {"undispatched", last.undispatched},
            {"snapshots", facts.snapshots}};
}

}  // namespace

std::string report_json(const Report& report) {
    const double seconds = static_cast<double>(report.wall_ns) * 1e-9;
    const Json json = {
        {"schema", report_schema},
        {"version", library_version_text()},
        {"exit_code", static_cast<int>(report.exit_code())},
        {"trace", trace(report)},
        {"run", run(report)},
        {"wall_ns", report.wall_ns},
        {"peak_queued", report.peak_queued},
        {"total", group(report.total, seconds)},
        {"groups", groups(report, seconds)},
        {"submitter",
         {{"lag_ns", durations(report.submitter_lag)}, {"call_ns", durations(report.submit_call)}}},
        {"fairness", fairness(report.fairness)},
        {"memory", memory(report)},
        {"cpu", cpu(report)},
        {"executor", executor(report.facts)},
        {"checks", checks(report)}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace sluice::replay
