// A replay of turns through the gate, against a simulated provider, in simulated time.
#pragma once

#include <atomic>
#include <expected>

#include "options.hpp"
#include "replay.hpp"
#include "trace/trace.hpp"
#include "turns/turn_report.hpp"

namespace sluice::replay {

/// Plays the trace on this thread: an hour takes about a second. A row is a turn, its actor the session, its service time what the provider
/// takes for it, and a quarter of its bytes the tokens. Turns of a session come one after the other, whenever they were meant to
/// arrive. What the provider refuses is submitted again, behind whoever waits. The same trace, options and seed give the same report.
[[nodiscard]] std::expected<TurnReport, Failure> replay_turns(const LoadedTrace& loaded,
                                                              const Options& options,
                                                              const std::atomic<bool>& interrupted);

}  // namespace sluice::replay
