#include "items/pool_report.hpp"

#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sluice/version.hpp>

#include "text.hpp"

namespace sluice::replay {
namespace {

using Json = nlohmann::ordered_json;
using observe::Histogram;
using Out = std::back_insert_iterator<std::string>;

constexpr std::string_view pool_schema = "sluice-replay-pool/1";

Json distribution(const Histogram& values) {
    return {{"count", values.count()},     {"mean", values.mean()},        {"p50", values.quantile(0.5)},
            {"p90", values.quantile(0.9)}, {"p99", values.quantile(0.99)}, {"p999", values.quantile(0.999)},
            {"max", values.max()}};
}

Json lane_json(const PoolLaneReport& lane) {
    return {{"lane", lane.name},
            {"limit", lane.limit},
            {"jobs",
             {{"planned", lane.planned},
              {"not_submitted", lane.not_submitted},
              {"refused", lane.refused()},
              {"refused_total", lane.refused_total},
              {"refused_lane", lane.refused_lane},
              {"refused_bytes", lane.refused_bytes},
              {"refused_never_fits", lane.refused_never_fits},
              {"refused_otherwise", lane.refused_otherwise},
              {"accepted", lane.accepted},
              {"ran", lane.ran},
              {"dropped", lane.dropped},
              {"lost", lane.lost},
              {"cut_short", lane.cut_short}}},
            {"queue_delay_ns", distribution(lane.queue_delay)},
            {"latency_ns", distribution(lane.latency)}};
}

void table(const PoolReport& report, Out out, std::string_view title, Histogram PoolLaneReport::* part) {
    fmt::format_to(out, "\n{}\n{:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", title, "lane", "jobs", "p50",
                   "p90", "p99", "p99.9", "max");
    const auto row = [&](const PoolLaneReport& lane) {
        const Histogram& values = lane.*part;
        fmt::format_to(out, "{:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}\n", lane.name,
                       grouped(values.count()), duration(values.quantile(0.5)),
                       duration(values.quantile(0.9)), duration(values.quantile(0.99)),
                       duration(values.quantile(0.999)), duration(values.max()));
    };
    for (const PoolLaneReport& lane : report.lanes) {
        if ((lane.*part).count() != 0)
            row(lane);
    }
    row(report.total);
}

}  // namespace

void PoolLaneReport::add(const PoolLaneReport& other) {
    planned += other.planned;
    not_submitted += other.not_submitted;
    refused_total += other.refused_total;
    refused_lane += other.refused_lane;
    refused_bytes += other.refused_bytes;
    refused_never_fits += other.refused_never_fits;
    refused_otherwise += other.refused_otherwise;
    accepted += other.accepted;
    ran += other.ran;
    dropped += other.dropped;
    lost += other.lost;
    cut_short += other.cut_short;
    started_again += other.started_again;
    queue_delay.merge(other.queue_delay);
    latency.merge(other.latency);
}

bool PoolReport::sound() const {
    const PoolTotals& theirs = last.items;
    const PoolRefused& refused = last.refused;
    return !stuck && snapshots_uneven == 0 && total.lost == 0 && total.started_again == 0 &&
           total.planned == total.not_submitted + total.refused() + total.accepted &&
           total.accepted == total.ran + total.dropped && theirs.accepted == total.accepted &&
           theirs.ran == total.ran && theirs.discarded == total.dropped &&
           theirs.queued + theirs.running == 0 && last.queued_bytes == 0 &&
           refused.total == total.refused_total && refused.lane == total.refused_lane &&
           refused.bytes == total.refused_bytes && refused.never_fits == total.refused_never_fits;
}

ExitCode PoolReport::exit_code() const {
    if (!sound())
        return ExitCode::broken;
    if (interrupted)
        return ExitCode::interrupted;
    return total.refused_otherwise > 0 || total.dropped > 0 ? ExitCode::executor : ExitCode::ok;
}

std::string pool_report_text(const PoolReport& r) {
    std::string text;
    const Out out(text);
    fmt::format_to(out, "trace      {}: {}\n", r.trace_name, counted(r.rows, "row"));
    fmt::format_to(out, "load       {}\n",
                   r.pace.kind == PaceKind::asap
                       ? std::string("everything at once")
                       : fmt::format("speed {:.3g}, {:.0f} % of {}", r.speed, 100 * r.utilisation,
                                     counted(r.workers, "worker")));
    fmt::format_to(out, "pool       {}; at most {} and {} queued\n", counted(r.workers, "worker"),
                   counted(r.max_queued, "item"), bytes_text(r.max_queued_bytes));
    const PoolLaneReport& all = r.total;
    fmt::format_to(out, "jobs       {} in = {} ran", grouped(all.accepted), grouped(all.ran));
    if (all.dropped > 0)
        fmt::format_to(out, " + {} discarded", grouped(all.dropped));
    if (all.lost > 0)
        fmt::format_to(out, " + {} LOST", grouped(all.lost));
    if (all.not_submitted > 0)
        fmt::format_to(out, "; {} not submitted", grouped(all.not_submitted));
    fmt::format_to(
        out, "\n           {}\n",
        r.sound() ? "no job is lost, and the pool counts as many" : "BROKEN: the numbers do not add up");
    if (r.interrupted)
        fmt::format_to(out, "           interrupted: this is what ran until then\n");
    if (r.stuck)
        fmt::format_to(out, "           STUCK: no job ended for {} s while some waited\n", r.patience_s);
    fmt::format_to(
        out,
        "\nby lane, with refusals by the bound that was hit\n{:<12}{:>7}{:>10}{:>10}{:>9}{:>9}{:>9}{:>12}\n",
        "lane", "limit", "planned", "ran", "total", "lane", "bytes", "never fits");
    for (const PoolLaneReport& lane : r.lanes) {
        fmt::format_to(out, "{:<12}{:>7}{:>10}{:>10}{:>9}{:>9}{:>9}{:>12}\n", lane.name, grouped(lane.limit),
                       grouped(lane.planned), grouped(lane.ran), grouped(lane.refused_total),
                       grouped(lane.refused_lane), grouped(lane.refused_bytes),
                       grouped(lane.refused_never_fits));
    }
    fmt::format_to(out, "{:<12}{:>7}{:>10}{:>10}{:>9}{:>9}{:>9}{:>12}\n", "all", grouped(r.max_queued),
                   grouped(all.planned), grouped(all.ran), grouped(all.refused_total),
                   grouped(all.refused_lane), grouped(all.refused_bytes), grouped(all.refused_never_fits));
    table(r, out, "queue delay: start minus intended arrival", &PoolLaneReport::queue_delay);
    table(r, out, "total latency: end minus intended arrival", &PoolLaneReport::latency);
    const double ran = all.ran > 0 ? static_cast<double>(all.ran) : 1;
    fmt::format_to(
        out, "\ntime       {}, {} jobs/s\n", duration(r.wall_ns),
        ratio(r.wall_ns > 0 ? static_cast<double>(all.ran) * 1e9 / static_cast<double>(r.wall_ns) : 0));
    fmt::format_to(
        out, "cpu        {}, {} a job\nmemory     {} while it ran; {} of slots; {} woken\n",
        duration(r.cpu_ns), duration(static_cast<std::uint64_t>(static_cast<double>(r.cpu_ns) / ran)),
        counted(r.allocations, "allocation"), grouped(r.last.slots), counted(r.last.wakeups, "worker"));
    return text;
}

std::string pool_report_json(const PoolReport& r) {
    Json lanes = Json::array();
    for (const PoolLaneReport& lane : r.lanes)
        lanes.push_back(lane_json(lane));
    const bool paced = r.pace.kind != PaceKind::asap;
    const Json json = {{"schema", pool_schema},
                       {"version", library_version_text()},
                       {"exit_code", static_cast<int>(r.exit_code())},
                       {"trace", {{"name", r.trace_name}, {"rows", r.rows}}},
                       {"run",
                        {{"engine", "pool"},
                         {"workers", r.workers},
                         {"max_queued", r.max_queued},
                         {"max_queued_bytes", r.max_queued_bytes},
                         {"speed", paced ? Json(r.speed) : Json(nullptr)},
                         {"utilisation", paced ? Json(r.utilisation) : Json(nullptr)},
                         {"interrupted", r.interrupted},
                         {"stuck", r.stuck}}},
                       {"wall_ns", r.wall_ns},
                       {"cpu_ns", r.cpu_ns},
                       {"allocations", r.allocations},
                       {"total", lane_json(r.total)},
                       {"lanes", std::move(lanes)},
                       {"pool",
                        {{"accepted", r.last.items.accepted},
                         {"ran", r.last.items.ran},
                         {"discarded", r.last.items.discarded},
                         {"refused", r.last.refused.all()},
                         {"wakeups", r.last.wakeups},
                         {"slots", r.last.slots},
                         {"compactions", r.last.compactions},
                         {"snapshots", r.snapshots},
                         {"snapshots_uneven", r.snapshots_uneven}}},
                       {"sound", r.sound()}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace sluice::replay
