// The command line.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "exit_code.hpp"
#include "items/pool_options.hpp"
#include "pacer.hpp"
#include "turns/turn_options.hpp"

namespace sluice::replay {

enum class EngineKind : std::uint8_t { executor, pool, gate };
enum class Policy : std::uint8_t { lent, dedicated };
enum class WorkKind : std::uint8_t { spin, sleep };
enum class ProgressMode : std::uint8_t { automatic, always, never };

struct Options {
    std::string trace;
    EngineKind engine = EngineKind::executor;
    Pace pace;
    unsigned workers = 0;  ///< 0: as many as the executor chooses
    Policy policy = Policy::lent;
    WorkKind work = WorkKind::spin;
    double service_scale = 1;
    std::uint64_t limit = ~std::uint64_t{0};
    std::uint64_t repeat = 1;
    double jitter = 0;
    std::uint64_t seed = 1;
    std::uint64_t max_queued = 0;  ///< 0: the executor's default
    unsigned patience_s = 60;  ///< without any job ending while some should, before the run counts as stuck
    bool strict = false;
    std::optional<std::string> json;  ///< a path, or "-" for standard output
    PoolOptions pool;                 ///< for EngineKind::pool
    TurnOptions turns;                ///< for EngineKind::gate
    bool quiet = false;
    ProgressMode progress = ProgressMode::automatic;
};

/// Why there are no options: what to print (help and version on standard output, the rest on standard error), and how
/// to end.
struct EarlyEnd {
    ExitCode code = ExitCode::usage;
    std::string text;
};

[[nodiscard]] std::expected<Options, EarlyEnd> parse_options(int argc, const char* const* argv);

}  // namespace sluice::replay
