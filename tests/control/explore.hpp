#pragma once

// Which schedules are tried: all with few preemptions first, then random ones.
//
// Exhaustive: depth first over all decisions, with a bound on *preemptions* (a thread that could go on is set aside) and one on
// *oddities* (a load returns a value that is not the newest, a weak CAS fails for nothing, a wait returns early). Each bound of
// a plan is gone through to its end, or to `most` schedules; the outcome says which.
// Random: half by priorities that change at a few random points (PCT), half by tossing a coin, with oddities at a random
// rate.
//
// A failure comes with a line SLUICE_CONTROL_REPLAY='name=schedule'; with that in the environment the same program executes
// the one schedule only and prints each step. SLUICE_CONTROL_ROUNDS=n does n times as much; SLUICE_TEST_SEED gives the seed
// (otherwise it is 1: a run in CI is repeatable; the long form takes another seed each time).

#include "control/scheduler.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice::control {

struct Bound {
    unsigned preemptions = 0;
    unsigned oddities = 0;
    std::uint64_t most = 20'000;  ///< schedules
};

struct Plan {
    std::string name;
    std::vector<Bound> bounds = {{0, 0}, {1, 0}, {2, 0}, {1, 1}, {0, 2}, {2, 1}};
    std::uint64_t random = 6'000;
    std::uint64_t most_steps = 3'000;  ///< of one execution; beyond that a thread turns in a circle
};

struct Outcome {
    bool failed = false;
    std::string what;    ///< the failure, in words
    std::string how;     ///< which search found it
    std::string replay;  ///< name=schedule
    std::string trace;
    std::uint64_t schedules = 0;
    double seconds = 0;
    std::vector<Bound> cut;          ///< bounds that were not gone through to the end
    std::vector<std::string> files;  ///< where the operations came from
    std::uint64_t longest = 0;       ///< steps
};

[[nodiscard]] Outcome explore(const Plan& plan, const std::function<void(Run&)>& body);

}  // namespace sluice::control
