// A trace through Sluice and its peers by the same arrivals: options, trace, plan, rounds, report, in this order.
//
//     replay-peers --trace FILE [--peers lent,tbb] [--utilisation U] [--rounds R] [--json FILE]
//
// --help has all options and the exit codes; perf/README.md says what it is for.

#include "replay/child.hpp"
#include "replay/command_line.hpp"
#include "replay/report.hpp"
#include "replay/rounds.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <expected>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "interrupt.hpp"
#include "output.hpp"

namespace {

// This file is the program of that namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace perf::replay;
using sluice::replay::ExitCode;

ExitCode complain(ExitCode code, const std::string& text) {
    fmt::print(stderr, "replay-peers: {}\n", text);
    return code;
}

std::uint64_t patience_ns(const Request& request, const sluice::replay::LoadedTrace& loaded,
                          const sluice::replay::Plan& plan) {
    std::uint64_t longest = 0;
    for (const auto& row : loaded.trace.rows)
        longest = std::max(longest, plan.service_ns(row));
    return std::uint64_t{request.patience_s} * 1'000'000'000 + longest;
}

// Runs every peer once. A round that was interrupted leaves nothing.
std::expected<void, std::string> run_round(Comparison& comparison, const Setting& setting,
                                           const std::atomic<bool>& interrupted) {
    const Request& request = comparison.request;
    const auto order = order_of_round(request.peers.size(), request.seed, comparison.orders.size());
    std::vector<RunFigures> figures(request.peers.size());
    std::string told = fmt::format("round {} of {}:", comparison.orders.size() + 1, request.rounds);
    for (const std::size_t peer : order) {
        const Peer& named = *request.peers[peer];
        const auto run = in_child([&] { return replay_once(named, setting, interrupted); }, interrupted);
        if (interrupted.load(std::memory_order_relaxed)) {
            comparison.interrupted = true;
            return {};
        }
        if (!run)
            return std::unexpected(fmt::format("{}: {}", named.name, run.error()));
        figures[peer] = *run;
        told += fmt::format(" {}", named.name);
    }
    comparison.orders.push_back(order);
    for (std::size_t peer = 0; peer < figures.size(); ++peer)
        comparison.runs[peer].push_back(figures[peer]);
    if (!request.quiet)
        fmt::print(stderr, "{}\n", told);
    return {};
}

ExitCode write_report(const Comparison& comparison) {
    const Request& request = comparison.request;
    std::FILE* const out = request.json == "-" ? stderr : stdout;
    if (!request.quiet && !sluice::replay::written(out, report_text(comparison)))
        return complain(ExitCode::usage, "the report cannot be written");
    if (request.json && !sluice::replay::write_json(*request.json, report_json(comparison)))
        return complain(ExitCode::usage, fmt::format("{}: cannot be written", *request.json));
    return comparison.exit_code();
}

ExitCode run(int argc, const char* const* argv) {
    namespace trace = sluice::replay;
    const auto request = parse_command_line(argc, argv);
    if (!request) {
        const trace::EarlyEnd& end = request.error();
        return trace::written(end.code == ExitCode::ok ? stdout : stderr, end.text) ? end.code
                                                                                    : ExitCode::usage;
    }
    if (request->json && !trace::json_can_be_written(*request->json))
        return complain(ExitCode::usage, fmt::format("{}: cannot be written", *request->json));
    const auto loaded = trace::read_trace_file(request->trace, {.strict = false, .max_rows = request->jobs});
    if (!loaded)
        return complain(ExitCode::input, loaded.error());
    trace::tell_about(*loaded);
    const auto plan =
        trace::make_plan(loaded->trace.rows, {.pace = {trace::PaceKind::utilisation, request->utilisation},
                                              .workers = request->workers,
                                              .service_scale = request->service_scale});
    if (!plan)
        return complain(ExitCode::input, plan.error());

    const trace::Interrupt interrupt;
    const Setting setting{.trace = loaded->trace,
                          .plan = *plan,
                          .work = request->work,
                          .lanes = request->lanes,
                          .workers = request->workers,
                          .patience_ns = patience_ns(*request, *loaded, *plan)};
    Comparison comparison{*request, *loaded, *plan, {}, {}, false};
    comparison.runs.resize(request->peers.size());
    while (comparison.orders.size() < request->rounds && !comparison.interrupted) {
        const auto whole = run_round(comparison, setting, interrupt.flag());
        if (!whole)
            return complain(ExitCode::executor, whole.error());
    }
    return write_report(comparison);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return static_cast<int>(run(argc, argv));
    } catch (const std::exception& error) {
        return static_cast<int>(complain(ExitCode::executor, error.what()));
    }
}
