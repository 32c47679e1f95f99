#pragma once

// What a control test says: scenarios of a structure that hold under all schedules tried, and the mutants of the structure,
// each of which some scenario must refuse.

#include "control/explore.hpp"
#include "control/plain.hpp"
#include "control/scheduler.hpp"

#include "sync/atomic.hpp"

#include <functional>
#include <vector>

namespace sluice::control {

static_assert(sync::controlled, "tests/control must come before src on the include path");

struct Scenario {
    Plan plan;
    std::function<void(Run&)> body;
};
using Scenarios = std::vector<Scenario>;

/// Each scenario holds, and operations of each of `files` (src/sync/...) came through the seam.
void must_hold(const Scenarios& scenarios, const std::vector<const char*>& files);

/// One scenario at least fails. Adds a line to the table of mutants.
void must_die(const char* mutant, const char* change, const Scenarios& scenarios);

}  // namespace sluice::control
