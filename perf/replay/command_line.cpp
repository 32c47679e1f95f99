#include "replay/command_line.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "numbers.hpp"
#include "trace/row.hpp"

namespace perf::replay {
namespace {

using sluice::replay::EarlyEnd;
using sluice::replay::ExitCode;
using sluice::replay::whole;
using sluice::replay::within;

constexpr std::string_view description =
    "Replays a trace of jobs through Sluice and through its peers, all at the same intended arrivals, and\n"
    "reports their delays from there side by side.";

std::string footer() {
    return fmt::format(
        "The trace is a CSV file as sluice-replay reads it; its first line is\n"
        "  {}\n"
        "\n"
        "Exit codes:\n"
        "  0    every peer ran every job once\n"
        "  1    the command line was not understood, or the report cannot be written\n"
        "  2    the trace is missing, unreadable, or has no valid row\n"
        "  3    a peer lost a job or ran one twice\n"
        "  4    a run ended without figures\n"
        "  130  a signal (Ctrl-C) ended the rounds early; the report has those that are whole",
        sluice::replay::trace_header);
}

std::string names() {
    std::string text;
    for (const Peer* peer : all_peers()) {
        text += text.empty() ? "" : ", ";
        text += peer->name;
    }
    return text;
}

std::string list() {
    std::string text;
    for (const Peer* peer : all_peers())
        text += fmt::format("{:<10} {:<5} {}\n", peer->name, peer->mark(Lanes::own), peer->what);
    return text;
}

// What the parser fills in; turned into a Request once all of it is known.
struct Raw {
    Request request;
    std::vector<std::string> peers;
    std::string work = "spin";
    std::string lanes = "own";
    std::string json;
    bool list = false;
};

void declare(CLI::App& app, Raw& raw) {
    Request& request = raw.request;
    app.add_option("--trace", request.trace, "The trace, a CSV file; - for standard input")
        ->type_name("FILE");
    app.add_option("--peers", raw.peers, fmt::format("Which, of {} (default: all but seed)", names()))
        ->delimiter(',')
        ->type_name("NAME,...");
    app.add_option("--utilisation,--utilization", request.utilisation,
                   "Choose the speed by the share U of all workers' time needed (default: 0.5)")
        ->check(within(0.01, 100))
        ->type_name("U");
    app.add_option("--service-scale", request.service_scale, "Multiply all service times by F (default: 1)")
        ->check(within(0.000001, 1000))
        ->type_name("F");
    app.add_option("--jobs", request.jobs, "Use only the first N valid rows")
        ->check(whole(1, sluice::replay::max_jobs))
        ->type_name("N");
    app.add_option("--rounds", request.rounds, "Each runs every peer once, in random order (default: 5)")
        ->check(whole(1, 1000))
        ->type_name("R");
    app.add_option("--workers", request.workers, "Worker threads of each peer (default: 2)")
        ->check(whole(1, 128))
        ->type_name("N");
    app.add_option("--seed", request.seed, "Seed of the order of the peers (default: 1)")
        ->check(whole(0, ~std::uint64_t{0}))
        ->type_name("S");
    app.add_option("--work", raw.work, "What a job does for its service time: spin or sleep (default: spin)")
        ->check(CLI::IsMember({"spin", "sleep"}))
        ->type_name("KIND");
    app.add_option(
           "--lanes", raw.lanes,
           "own: those that each peer has; rw: reads and writes only; ser: writes only (default: own)")
        ->check(CLI::IsMember({"own", "rw", "ser"}))
        ->type_name("KIND");
    app.add_option("--patience", request.patience_s,
                   "Take a run as stuck when no job ends for S seconds (default: 60)")
        ->check(whole(1, 86'400))
        ->type_name("S");
    app.add_option("--json", raw.json,
                   "Write everything as JSON; - for standard output (text to standard error)")
        ->type_name("FILE");
    app.add_flag("--quiet", request.quiet, "No progress and no text report; errors and --json only");
    app.add_flag("--list", raw.list, "Print the peers that this build has, and exit");
    app.set_help_flag("-h,--help", "Print this and exit");
}

std::unexpected<EarlyEnd> usage_error(std::string_view message) {
    return std::unexpected(
        EarlyEnd{ExitCode::usage, fmt::format("replay-peers: {}\nTry replay-peers --help.\n", message)});
}

std::expected<std::vector<const Peer*>, std::string> peers_called(const std::vector<std::string>& wanted) {
    std::vector<const Peer*> peers;
    for (const std::string& name : wanted) {
        const auto found = std::ranges::find(all_peers(), std::string_view(name), &Peer::name);
        if (found == all_peers().end())
            return std::unexpected(fmt::format("--peers: {} is unknown; this build has {}", name, names()));
        if (std::ranges::find(peers, *found) != peers.end())
            return std::unexpected(fmt::format("--peers: {} is named twice", name));
        peers.push_back(*found);
    }
    if (wanted.empty())
        std::ranges::copy_if(all_peers(), std::back_inserter(peers),
                             [](const Peer* peer) { return peer != &peer_seed; });
    return peers;
}

}  // namespace

std::string_view lanes_word(Lanes lanes) noexcept {
    return lanes == Lanes::own ? "own" : lanes == Lanes::rw ? "rw" : "ser";
}

std::expected<Request, EarlyEnd> parse_command_line(int argc, const char* const* argv) {
    CLI::App app{std::string(description), "replay-peers"};
    app.footer(footer());
    app.get_formatter()->column_width(30);
    Raw raw;
    declare(app, raw);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) {  // --help
        std::ostringstream out;
        std::ostringstream err;
        app.exit(wanted, out, err);
        return std::unexpected(EarlyEnd{ExitCode::ok, out.str()});
    } catch (const CLI::ParseError& error) {
        return usage_error(error.what());
    }
    if (raw.list)
        return std::unexpected(EarlyEnd{ExitCode::ok, list()});
    Request request = std::move(raw.request);
    if (request.trace.empty())
        return usage_error("--trace is required");
    if (app.count("--json") > 0 && raw.json.empty())
        return usage_error("--json wants a file name, or -");
    auto peers = peers_called(raw.peers);
    if (!peers)
        return usage_error(peers.error());
    request.peers = *std::move(peers);
    if (!raw.json.empty())
        request.json = std::move(raw.json);
    request.work = raw.work == "sleep" ? sluice::replay::WorkKind::sleep : sluice::replay::WorkKind::spin;
    request.lanes = raw.lanes == "rw" ? Lanes::rw : raw.lanes == "ser" ? Lanes::ser : Lanes::own;
    return request;
}

}  // namespace perf::replay
