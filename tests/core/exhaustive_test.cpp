// Goal:   the scheduler keeps E4, E8-E11, E13, E15, E16 and E18 in every situation that a few jobs can make.
// Method: all sequences of a few submissions over two actors, four lanes and two classes, with every interleaving of ends
//         (good and failed), removals and a shutdown between them. After each step everything that may be handed out is,
//         and RuleChecker judges each decision; at the end every job must have had exactly one outcome.

#include "checked_world.hpp"
#include "every_choice.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace sluice::core::test;

namespace {

struct Size {
    std::size_t actors = 2;
    std::size_t submissions = 3;
    bool failures = true;  // jobs may throw
    bool endings = false;  // one removal of the first actor, one shutdown
};

/// One path through the tree. Returns the first broken rule, or nothing.
std::string walk(EveryChoice& tree, const Limits& limits, unsigned permits, const Size& size) {
    CheckedWorld checked(limits, permits, size.actors);
    std::size_t submitted = 0;
    bool removed = false, cancelled = false;
    for (;;) {
        while (!checked.rules.violation() && checked.start()) {}
        if (checked.rules.violation())
            return *checked.rules.violation();
        if (!checked.counters_agree(permits))
            return "E33: counters or permits are off";

        const std::size_t runs = checked.world.running.size();
        std::vector<std::size_t>
            may_fail;  // elsewhere a job that throws is, to the scheduler, one that ended
        for (std::size_t i = 0; size.failures && i < runs; ++i)
            if (checked.world.running[i].lane == Lane::mutating ||
                checked.world.running[i].lane == Lane::heavy_init)
                may_fail.push_back(i);
        const std::size_t ends = runs + may_fail.size();
        const bool may_submit = submitted < size.submissions;
        const bool may_end_early = size.endings && may_submit;  // later it would meet nothing new
        const std::size_t options = (may_submit ? 1U : 0U) + ends + (may_end_early && !removed ? 1U : 0U) +
                                    (may_end_early && !cancelled ? 1U : 0U);
        if (options == 0)
            break;
        std::size_t option = tree.choose(options);
        if (option < ends) {
            if (option < runs)
                checked.end(option, {});
            else
                checked.end(may_fail[option - runs], {.failed = true});
            continue;
        }
        option -= ends;
        if (may_submit && option-- == 0) {
            // Actors are alike, so the first job goes to the first one.
            const std::size_t actor = submitted == 0 ? 0 : tree.choose(size.actors);
            const Lane lane = lanes[tree.choose(lane_count)];
            checked.submit(actor, lane, classes[tree.choose(job_class_count)]);
            ++submitted;
        } else if (may_end_early && !removed && option-- == 0) {
            removed = true;
            checked.remove(0);
        } else {
            cancelled = true;
            checked.cancel();
        }
    }
    return checked.rules.all_done() ? std::string{} : "E16: a job has no outcome";
}

void walk_all(const Limits& limits, unsigned permits, const Size& size) {
    EveryChoice tree;
    std::size_t paths = 0;
    do {
        const std::string broken = walk(tree, limits, permits, size);
        if (!broken.empty()) {
            std::string path;
            for (const std::size_t taken : tree.path())
                path += std::to_string(taken) + ' ';
            FAIL(broken, ", on the path ", path);
        }
        ++paths;
    } while (tree.next());
    MESSAGE(paths, " paths");
}

Limits with_caps(std::uint32_t pool_size, std::uint32_t actor_cap, std::uint32_t read_cap) {
    Limits limits = plain_limits(pool_size);
    limits.actor_cap = actor_cap;
    limits.read_cap = read_cap;
    return limits;
}

}  // namespace

TEST_CASE("E8 E9 E10 E11 E15 E18: every sequence of three jobs on two actors, one worker") {
    walk_all(plain_limits(1), 1, {});
}

TEST_CASE("E8 E9 E10 E11 E15 E18: every sequence of three jobs on two actors, two workers") {
    walk_all(plain_limits(2), 1, {});
}

TEST_CASE("E8 E9 E10 E11 E15 E18: every sequence of three jobs on two actors, four workers") {
    walk_all(with_caps(4, 2, 1), 1, {});
}

TEST_CASE("E8 E9 E10 E11 E15: every sequence of four jobs on one actor, four workers, nothing fails") {
    walk_all(with_caps(4, 3, 2), 2, {.actors = 1, .submissions = 4, .failures = false});
}

TEST_CASE("E4 E18 E22: every sequence of two jobs with a removal and a shutdown in it") {
    walk_all(with_caps(4, 2, 2), 1, {.submissions = 2, .endings = true});
    walk_all(plain_limits(2), 1, {.submissions = 2, .endings = true});
}

TEST_CASE("E28: with run-ahead the same sequences keep the same rules") {
    Limits limits = plain_limits(2);
    limits.run_jobs_max = 4;
    limits.run_budget_ns =
        1'000'000;  // so that unmeasured jobs, taken for 1 ms, form runs once one has been measured
    limits.long_job_ns = 900'000;
    limits.backlog_ns = 1'000'000;
    walk_all(limits, 1, {});
}
