// sluice-replay: options, trace, run, report, in this order; each step knows how to end the program.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include <fmt/format.h>

#include "interrupt.hpp"
#include "items/pool_replay.hpp"
#include "items/pool_report.hpp"
#include "options.hpp"
#include "output.hpp"
#include "replay.hpp"
#include "report_json.hpp"
#include "report_text.hpp"
#include "trace/trace.hpp"
#include "turns/simulation.hpp"

namespace {

// This file is the program of that namespace. NOLINTNEXTLINE(google-build-using-namespace)
using namespace sluice::replay;

ExitCode complain(ExitCode code, const std::string& text) {
    fmt::print(stderr, "sluice-replay: {}\n", text);
    return code;
}

ExitCode write_report(const Options& options, const std::string& text, const std::string& json,
                      ExitCode code) {
    const bool json_on_stdout = options.json == "-";
    if (!options.quiet && !written(json_on_stdout ? stderr : stdout, text)) {
        return complain(ExitCode::usage, "the report cannot be written");
    }
    if (options.json && !write_json(*options.json, json)) {
        return complain(ExitCode::usage, fmt::format("{}: cannot be written", *options.json));
    }
    return code;
}

ExitCode run_turns(const LoadedTrace& loaded, const Options& options, const std::atomic<bool>& interrupted) {
    const auto report = replay_turns(loaded, options, interrupted);
    if (!report)
        return complain(report.error().code, report.error().text);
    const ExitCode code = report->interrupted ? ExitCode::interrupted
                          : report->sound()   ? ExitCode::ok
                                              : ExitCode::broken;
    return write_report(options, turn_report_text(*report), turn_report_json(*report), code);
}

ExitCode run_pool(const LoadedTrace& loaded, const Options& options, const std::atomic<bool>& interrupted) {
    const auto report = replay_pool(loaded, options, interrupted);
    if (!report)
        return complain(report.error().code, report.error().text);
    const ExitCode code =
        write_report(options, pool_report_text(*report), pool_report_json(*report), report->exit_code());
    if (report->stuck)
        std::_Exit(static_cast<int>(code));  // its threads still use what it was given
    return code;
}

ExitCode run(int argc, const char* const* argv) {
    const auto options = parse_options(argc, argv);
    if (!options) {
        const EarlyEnd& end = options.error();
        return written(end.code == ExitCode::ok ? stdout : stderr, end.text) ? end.code : ExitCode::usage;
    }
    if (options->json && !json_can_be_written(*options->json)) {
        return complain(ExitCode::usage, fmt::format("{}: cannot be written", *options->json));
    }
    const auto loaded =
        read_trace_file(options->trace, {.strict = options->strict, .max_rows = options->limit});
    if (!loaded)
        return complain(ExitCode::input, loaded.error());
    tell_about(*loaded);

    const Interrupt interrupt;
    if (options->engine == EngineKind::pool)
        return run_pool(*loaded, *options, interrupt.flag());
    if (options->engine == EngineKind::gate)
        return run_turns(*loaded, *options, interrupt.flag());
    const auto report = replay(*loaded, *options, interrupt.flag());
    if (!report)
        return complain(report.error().code, report.error().text);
    const ExitCode code =
        write_report(*options, report_text(*report), report_json(*report), report->exit_code());
    if (report->facts.stuck)
        std::_Exit(static_cast<int>(code));  // its threads still use all of the above
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return static_cast<int>(run(argc, argv));
    } catch (const std::exception& error) {
        return static_cast<int>(complain(ExitCode::executor, error.what()));
    }
}
