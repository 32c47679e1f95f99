// One run of a trace through the pool, from start to end.
#pragma once

#include <atomic>
#include <expected>

#include "items/pool_report.hpp"
#include "options.hpp"
#include "replay.hpp"
#include "trace/trace.hpp"

namespace sluice::replay {

/// Replays a trace through a BoundedPool and waits for it to end, or for `interrupted`. If the report says `stuck`, threads
/// of the run are still there: the caller must end the process without destroying anything.
[[nodiscard]] std::expected<PoolReport, Failure> replay_pool(const LoadedTrace& loaded,
                                                             const Options& options,
                                                             const std::atomic<bool>& interrupted);

}  // namespace sluice::replay
