// What `--engine gate` can be told.
#pragma once

#include <cstdint>

#include <CLI/CLI.hpp>

namespace sluice::replay {

enum class AdaptiveKind : std::uint8_t { fixed, aimd, gradient };

struct TurnOptions {
    std::uint64_t max_turns = 32;
    std::uint64_t queue = 256;
    double max_wait_s = 60;
    std::uint64_t max_sessions = 1'000'000;
    double start_interval_s = 0;
    std::uint64_t requests_per_minute = 240;
    std::uint64_t tokens_per_minute = 2'800'000;
    double backoff_s = 1;
    double backoff_jitter = 0;
    std::uint64_t attempts = 8;
    AdaptiveKind adaptive = AdaptiveKind::fixed;
    bool round_robin = false;
};

/// Adds the options of the group "Gate" to a command line.
void declare_turn_options(CLI::App& app, TurnOptions& options);

}  // namespace sluice::replay
