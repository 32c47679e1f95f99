// A run in a process of its own: nothing of one peer is left for the next, and one that hangs or dies takes nobody along.
#pragma once

#include "replay/one_run.hpp"

#include <atomic>
#include <expected>
#include <functional>
#include <string>

namespace perf::replay {

/// Forks, runs there and hands back what came out. The child is killed when `interrupted` is set. **Thread**: the only one of
/// its process, as fork() leaves all others behind. **Errors**: a sentence, when there is no child or it ended without figures.
[[nodiscard]] std::expected<RunFigures, std::string> in_child(const std::function<RunFigures()>& run,
                                                              const std::atomic<bool>& interrupted);

}  // namespace perf::replay
