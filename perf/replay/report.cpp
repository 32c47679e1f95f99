#include "replay/report.hpp"

#include "replay/rounds.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "text.hpp"

namespace perf::replay {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;
using sluice::replay::ExitCode;

constexpr std::string_view schema = "sluice-replay-peers/1";

std::size_t jobs_that(std::size_t RunFigures::* fate, std::span<const RunFigures> runs) {
    std::size_t jobs = 0;
    for (const RunFigures& run : runs)
        jobs += run.*fate;
    return jobs;
}

// The runs that others are compared with: lent's.
std::optional<std::size_t> lent_among(const Comparison& comparison) {
    const auto& peers = comparison.request.peers;
    const auto found = std::ranges::find(peers, &peer_lent);
    if (found == peers.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - peers.begin());
}

std::string cell(const std::optional<Spread>& spread) {
    using sluice::replay::ratio;
    if (!spread)
        return "-";
    return fmt::format("{} [{}..{}]", ratio(spread->median), ratio(spread->least), ratio(spread->most));
}

// Columns as wide as what is in them, the first two to the left.
std::string table(std::string_view title, const std::vector<Row>& rows) {
    std::vector<std::size_t> widths(rows.front().size());
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text = fmt::format("\n{}\n", title);
    for (const Row& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += i < 2 ? fmt::format("{:<{}}  ", row[i], widths[i])
                          : fmt::format("{:>{}}  ", row[i], widths[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

Row heading(std::span<const Figure> figures) {
    Row row{"peer", "lanes"};
    for (const Figure& figure : figures)
        row.emplace_back(figure.title);
    return row;
}

std::string values_table(const Comparison& comparison, std::string_view title,
                         std::span<const Figure> figures) {
    std::vector<Row> rows{heading(figures)};
    for (std::size_t peer = 0; peer < comparison.runs.size(); ++peer) {
        const Peer& named = *comparison.request.peers[peer];
        Row row{std::string(named.name), std::string(named.mark(comparison.request.lanes))};
        for (const Figure& figure : figures)
            row.push_back(cell(spread_of(values_of(figure, comparison.runs[peer]))));
        rows.push_back(std::move(row));
    }
    return table(title, rows);
}

std::string ratios_table(const Comparison& comparison, std::size_t lent, std::string_view title,
                         std::span<const Figure> figures) {
    std::vector<Row> rows{heading(figures)};
    for (std::size_t peer = 0; peer < comparison.runs.size(); ++peer) {
        if (peer == lent)
            continue;
        const Peer& named = *comparison.request.peers[peer];
        Row row{std::string(named.name), std::string(named.mark(comparison.request.lanes))};
        for (const Figure& figure : figures)
            row.push_back(cell(spread_of(ratios_of(figure, comparison.runs[lent], comparison.runs[peer]))));
        rows.push_back(std::move(row));
    }
    return rows.size() == 1 ? std::string{} : table(title, rows);
}

std::string what_lanes_mean(Lanes lanes) {
    switch (lanes) {
        case Lanes::own:
            return "own. four: reads together, status jobs beside them, builds beside all; rw: reads "
                   "together, the rest "
                   "alone; ser: one at a time";
        case Lanes::rw:
            return "rw. Status jobs and builds are writes for all; ser: the peer runs reads of an actor one "
                   "at a "
                   "time too";
        case Lanes::ser:
            break;
    }
    return "ser. Everything of an actor runs one at a time, for all";
}

std::string heading_text(const Comparison& c) {
    const Request& request = c.request;
    using sluice::replay::counted;
    const auto work = static_cast<double>(c.plan.work_ns) / 1e3 / static_cast<double>(c.plan.jobs.size());
    return fmt::format(
        "trace      {}: {} of {}, {:.3g} us of work each\n"
        "load       {} times {}, utilisation {:.3g} of {} (speed {:.3g}); {}, seed {}\n"
        "lanes      {}\n",
        request.trace, counted(c.plan.jobs.size(), "job"), counted(c.loaded.trace.actors.size(), "actor"),
        work, request.work == sluice::replay::WorkKind::spin ? "spin" : "sleep", request.service_scale,
        c.plan.utilisation, counted(request.workers, "worker"), c.plan.speed,
        counted(c.orders.size(), "round"), request.seed, what_lanes_mean(request.lanes));
}

Json spread_json(const std::vector<double>& values) {
    const auto spread = spread_of(values);
    if (!spread)
        return nullptr;
    return {{"median", spread->median}, {"min", spread->least}, {"max", spread->most}, {"rounds", values}};
}

constexpr std::array all_figures{&start_figures, &end_figures, &cost_figures};

Json peer_json(const Comparison& comparison, std::size_t peer, std::optional<std::size_t> lent) {
    const Peer& named = *comparison.request.peers[peer];
    const auto& runs = comparison.runs[peer];
    Json figures = Json::object();
    Json ratios = Json::object();
    for (const auto group : all_figures) {
        for (const Figure& figure : group()) {
            figures[std::string(figure.name)] = spread_json(values_of(figure, runs));
            if (lent)
                ratios[std::string(figure.name)] =
                    spread_json(ratios_of(figure, comparison.runs[*lent], runs));
        }
    }
    return {{"name", named.name},
            {"what", named.what},
            {"lanes", named.mark(comparison.request.lanes)},
            {"reads_together", named.mark(comparison.request.lanes) != "ser"},
            {"jobs",
             {{"planned", runs.size() * comparison.plan.jobs.size()},
              {"ran", jobs_that(&RunFigures::ran, runs)},
              {"lost", jobs_that(&RunFigures::lost, runs)},
              {"twice", jobs_that(&RunFigures::twice, runs)}}},
            {"figures", std::move(figures)},
            {"lent_over_it", lent ? std::move(ratios) : Json(nullptr)}};
}

}  // namespace

ExitCode Comparison::exit_code() const {
    for (const auto& of_peer : runs) {
        if (jobs_that(&RunFigures::lost, of_peer) + jobs_that(&RunFigures::twice, of_peer) != 0)
            return ExitCode::broken;
    }
    return interrupted ? ExitCode::interrupted : ExitCode::ok;
}

std::string report_text(const Comparison& comparison) {
    std::string text = heading_text(comparison);
    text += values_table(comparison, "Intended arrival to start, us: median of the rounds [least..most]",
                         start_figures());
    text += values_table(comparison, "Intended arrival to end, us", end_figures());
    text +=
        values_table(comparison,
                     "A job costs: CPU of the process (work and the submitter's waiting included), of it the "
                     "peer's threads, switches; the submitter's lateness",
                     cost_figures());
    if (const auto lent = lent_among(comparison)) {
        text += ratios_table(comparison, *lent, "To start, lent / it within a round: below 1, lent is sooner",
                             start_figures());
        text += ratios_table(comparison, *lent, "To end, lent / it", end_figures());
        text += ratios_table(comparison, *lent, "Cost, lent / it", cost_figures());
    }
    for (std::size_t peer = 0; peer < comparison.runs.size(); ++peer) {
        const auto lost = jobs_that(&RunFigures::lost, comparison.runs[peer]);
        const auto twice = jobs_that(&RunFigures::twice, comparison.runs[peer]);
        if (lost + twice != 0)
            text +=
                fmt::format("\n{}: {} lost, {} twice\n", comparison.request.peers[peer]->name, lost, twice);
    }
    return text;
}

std::string report_json(const Comparison& c) {
    const Request& request = c.request;
    Json orders = Json::array();
    for (const auto& order : c.orders) {
        Json names = Json::array();
        for (const std::size_t peer : order)
            names.push_back(request.peers[peer]->name);
        orders.push_back(std::move(names));
    }
    Json peers = Json::array();
    const auto lent = lent_among(c);
    for (std::size_t peer = 0; peer < c.runs.size(); ++peer)
        peers.push_back(peer_json(c, peer, lent));
    const Json json = {{"schema", schema},
                       {"exit_code", static_cast<int>(c.exit_code())},
                       {"trace",
                        {{"name", request.trace},
                         {"rows", c.loaded.trace.rows.size()},
                         {"actors", c.loaded.trace.actors.size()},
                         {"malformed", c.loaded.malformed}}},
                       {"run",
                        {{"jobs", c.plan.jobs.size()},
                         {"work", request.work == sluice::replay::WorkKind::spin ? "spin" : "sleep"},
                         {"work_ns", c.plan.work_ns},
                         {"service_scale", request.service_scale},
                         {"utilisation", c.plan.utilisation},
                         {"speed", c.plan.speed},
                         {"workers", request.workers},
                         {"lanes", lanes_word(request.lanes)},
                         {"rounds", c.orders.size()},
                         {"seed", request.seed},
                         {"interrupted", c.interrupted}}},
                       {"orders", std::move(orders)},
                       {"peers", std::move(peers)}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace perf::replay
