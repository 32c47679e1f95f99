#include "options.hpp"

#include <sstream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sluice/version.hpp>

#include "numbers.hpp"
#include "trace/row.hpp"

namespace sluice::replay {
namespace {

constexpr std::string_view description =
    "Replays a trace of jobs through Sluice's actor executor and reports how long they waited and took, "
    "measured from\n"
    "the moment each was meant to arrive.";

std::string footer() {
    return fmt::format(
        "The trace is a CSV file; its first line is\n"
        "  {}\n"
        "with lane one of read, serial, heavy, mutating, and class interactive or maintenance.\n"
        "\n"
        "Exit codes:\n"
        "  0    all rows were replayed, and no job was lost\n"
        "  1    the command line was not understood, or the report cannot be written\n"
        "  2    the trace is missing, unreadable, empty, or (with --strict) malformed\n"
        "  3    a job was lost, ran twice, or ran out of its order: a bug of the executor\n"
        "  4    the executor could not be started, or failed jobs for a reason of its own\n"
        "  130  a signal (Ctrl-C) ended the run early; the report says what ran\n"
        "\n"
        "docs/guide/replay.md explains the report.",
        trace_header);
}

// What the parser fills in; turned into Options once all of it is known.
struct Raw {
    Options options;
    double speed = 1;
    double utilisation = Pace{}.value;
    bool asap = false;
    std::string engine = "executor";
    std::string policy = "lent";
    std::string work = "spin";
    std::string progress = "auto";
    std::string json;
};

struct Handles {
    const CLI::Option* speed;
    const CLI::Option* utilisation;
    const CLI::Option* asap;
    const CLI::Option* json;
};

Handles declare(CLI::App& app, Raw& raw) {
    Options& options = raw.options;
    Handles handles{};
    app.add_option("TRACE", options.trace, "The trace, a CSV file; - for standard input")->required();

    const char* const pace = "Pace (one of them)";
    auto* speed = app.add_option("--speed", raw.speed, "Divide all arrival times by X")
                      ->check(within(0.001, 1e6))
                      ->type_name("X")
                      ->group(pace);
    auto* utilisation =
        app.add_option("--utilisation,--utilization", raw.utilisation,
                       "Choose the speed by the share U of all workers' time needed (default: 0.5)")
            ->check(within(0.01, 100))
            ->type_name("U")
            ->group(pace);
    auto* asap = app.add_flag("--asap", raw.asap,
                              "All jobs arrive at once: for throughput; delays are those of a backlog")
                     ->group(pace);
    speed->excludes(utilisation)->excludes(asap);
    utilisation->excludes(asap);

    const char* const load = "Load";
    app.add_option("--work", raw.work, "What a job does for its service time: spin or sleep (default: spin)")
        ->check(CLI::IsMember({"spin", "sleep"}))
        ->type_name("KIND")
        ->group(load);
    app.add_option("--service-scale", options.service_scale,
                   "Multiply all service times by F (default: 1; 0 leaves empty jobs)")
        ->check(within(0, 1000))
        ->type_name("F")
        ->group(load);
    app.add_option("--limit", options.limit, "Use only the first N valid rows")
        ->check(whole(1, max_jobs))
        ->type_name("N")
        ->group(load);
    app.add_option("--repeat", options.repeat,
                   "Replay the rows N times, one lap after the other (default: 1)")
        ->check(whole(1, max_jobs))
        ->type_name("N")
        ->group(load);
    app.add_option("--jitter", options.jitter,
                   "Delay each arrival by a random part of up to J mean gaps (default: 0)")
        ->check(within(0, 1000))
        ->type_name("J")
        ->group(load);
    app.add_option("--seed", options.seed, "Seed of the jitter (default: 1)")
        ->check(whole(0, ~std::uint64_t{0}))
        ->type_name("N")
        ->group(load);
    app.add_flag("--strict", options.strict, "Stop at the first malformed line instead of skipping it")
        ->group(load);

    const char* const engine = "Executor";
    app.add_option("--engine", raw.engine, "What runs the jobs: executor, pool or gate (default: executor)")
        ->check(CLI::IsMember({"executor", "pool", "gate"}))
        ->type_name("NAME")
        ->group(engine);
    app.add_option("--workers", options.workers, "Worker threads (default: as many as the executor chooses)")
        ->check(whole(1, 256))
        ->type_name("N")
        ->group(engine);
    app.add_option("--policy", raw.policy, "Who may schedule: lent or dedicated (default: lent)")
        ->check(CLI::IsMember({"lent", "dedicated"}))
        ->type_name("NAME")
        ->group(engine);
    app.add_option("--max-queued", options.max_queued,
                   "Refuse jobs over N queued ones (default: the executor's)")
        ->check(whole(1, max_jobs))
        ->type_name("N")
        ->group(engine);
    app.add_option("--patience", options.patience_s,
                   "Take the run as stuck when no job ends for S seconds (default: 60)")
        ->check(whole(1, 86'400))
        ->type_name("S")
        ->group(engine);

    declare_pool_options(app, options.pool);
    declare_turn_options(app, options.turns);

    const char* const output = "Output";
    handles.json = app.add_option("--json", raw.json,
                                  "Write the report as JSON; - for standard output (text to standard error)")
                       ->type_name("FILE")
                       ->group(output);
    app.add_option("--progress", raw.progress,
                   "Progress on standard error: auto (live on a terminal, else plain), always live, never")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->type_name("WHEN")
        ->group(output);
    app.add_flag("--quiet", options.quiet, "No progress and no text report; errors and --json only")
        ->group(output);

    app.set_help_flag("-h,--help", "Print this and exit")->group(output);
    app.set_version_flag("--version", fmt::format("sluice-replay {}", library_version_text()),
                         "Print the version and exit")
        ->group(output);
    handles.speed = speed;
    handles.utilisation = utilisation;
    handles.asap = asap;
    return handles;
}

Options finished(Raw raw, const Handles& given) {
    Options options = std::move(raw.options);
    if (given.asap->count() > 0) {
        options.pace = {PaceKind::asap, 0};
    } else if (given.speed->count() > 0) {
        options.pace = {PaceKind::speed, raw.speed};
    } else if (raw.engine == "gate" && given.utilisation->count() == 0) {
        options.pace = {PaceKind::speed, 1};  // simulated time costs nothing
    } else {
        options.pace = {PaceKind::utilisation, raw.utilisation};
    }
    options.engine = raw.engine == "gate"   ? EngineKind::gate
                     : raw.engine == "pool" ? EngineKind::pool
                                            : EngineKind::executor;
    options.policy = raw.policy == "dedicated" ? Policy::dedicated : Policy::lent;
    options.work = raw.work == "sleep" ? WorkKind::sleep : WorkKind::spin;
    options.progress = raw.progress == "always"  ? ProgressMode::always
                       : raw.progress == "never" ? ProgressMode::never
                                                 : ProgressMode::automatic;
    if (given.json->count() > 0)
        options.json = std::move(raw.json);
    return options;
}

std::unexpected<EarlyEnd> usage_error(std::string_view message) {
    return std::unexpected(
        EarlyEnd{ExitCode::usage, fmt::format("sluice-replay: {}\nTry sluice-replay --help.\n", message)});
}

}  // namespace

std::expected<Options, EarlyEnd> parse_options(int argc, const char* const* argv) {
    CLI::App app{std::string(description), "sluice-replay"};
    app.footer(footer());
    app.get_formatter()->column_width(30);
    Raw raw;
    const Handles given = declare(app, raw);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) {  // --help, --version
        std::ostringstream out;
        std::ostringstream err;
        app.exit(wanted, out, err);
        return std::unexpected(EarlyEnd{ExitCode::ok, out.str()});
    } catch (const CLI::ParseError& error) {
        return usage_error(error.what());
    }
    if (given.json->count() > 0 && raw.json.empty())
        return usage_error("--json wants a file name, or -");
    return finished(std::move(raw), given);
}

}  // namespace sluice::replay
