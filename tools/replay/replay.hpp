// One run from start to end: executor, submitter, progress, report.
#pragma once

#include <atomic>
#include <expected>
#include <string>

#include "exit_code.hpp"
#include "options.hpp"
#include "report.hpp"
#include "trace/trace.hpp"

namespace sluice::replay {

/// Why there is no report.
struct Failure {
    ExitCode code;
    std::string text;
};

/// Replays a trace and waits for it to end, or for `interrupted`. If the report says `stuck`, threads of the run are
/// still there and use what was given: the caller must end the process without destroying anything.
[[nodiscard]] std::expected<Report, Failure> replay(const LoadedTrace& loaded, const Options& options,
                                                    const std::atomic<bool>& interrupted);

}  // namespace sluice::replay
