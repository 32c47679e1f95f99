// What a comparison has shown, as text and as JSON.
#pragma once

#include "replay/command_line.hpp"
#include "replay/one_run.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "exit_code.hpp"
#include "pacer.hpp"
#include "trace/trace.hpp"

namespace perf::replay {

struct Comparison {
    const Request& request;
    const sluice::replay::LoadedTrace& loaded;
    const sluice::replay::Plan& plan;
    std::vector<std::vector<std::size_t>> orders;  ///< of each round: places in Request::peers
    std::vector<std::vector<RunFigures>> runs;     ///< by peer, then by round; only rounds that are whole
    bool interrupted = false;

    [[nodiscard]] sluice::replay::ExitCode exit_code() const;
};

[[nodiscard]] std::string report_text(const Comparison& comparison);
[[nodiscard]] std::string report_json(const Comparison& comparison);

}  // namespace perf::replay
