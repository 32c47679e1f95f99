// Goal:   without run-ahead, the scheduler decides exactly as the rules do (E8-E12, E15, E18, E4), in any long history;
//         with run-ahead nobody can tell (E28): order, caps, barriers and class limits hold, and every job completes.
// Method: rapidcheck makes histories (a list of small numbers, so that a failing one shrinks well) and prints its seed.
//         The first half compares with NaiveModel decision by decision, the second asks RuleChecker about each step.

#include "checked_world.hpp"
#include "paired_world.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace sluice::core::test;

namespace {

/// One step of a history: what to do, and with whom. Each property reads the numbers in its own way.
struct Command {
    std::uint8_t what = 0;
    std::uint8_t who = 0;
    std::uint8_t how = 0;
};

std::ostream& operator<<(std::ostream& out, const Command& command) {
    return out << '{' << int{command.what} << ',' << int{command.who} << ',' << int{command.how} << '}';
}

rc::Gen<Command> any_command() {
    return rc::gen::build<Command>(rc::gen::set(&Command::what, rc::gen::inRange<std::uint8_t>(0, 100)),
                                   rc::gen::set(&Command::who, rc::gen::inRange<std::uint8_t>(0, 64)),
                                   rc::gen::set(&Command::how, rc::gen::inRange<std::uint8_t>(0, 64)));
}

/// Histories longer than rapidcheck's usual hundred, for queues to build up.
rc::Gen<std::vector<Command>> any_history() {
    return rc::gen::scale(6.0, rc::gen::container<std::vector<Command>>(any_command()));
}

struct Shape {
    std::size_t actors = 3;
    unsigned permits = 1;
    Limits limits;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.actors << " actors, " << shape.permits << " permits, " << shape.limits.pool_size
               << " workers, actor_cap " << shape.limits.actor_cap << ", read_cap " << shape.limits.read_cap
               << ", quantum " << shape.limits.drr_quantum;
}

rc::Gen<Shape> any_shape() {
    return rc::gen::apply(
        [](std::size_t actors, unsigned permits, std::uint32_t pool, std::uint32_t cap, std::uint32_t reads,
           std::uint32_t quantum) {
            Shape shape{actors, permits, plain_limits(pool)};
            shape.limits.actor_cap = std::min(cap, std::max(pool - 1, 1U));
            shape.limits.read_cap = std::min(reads, shape.limits.actor_cap);
            shape.limits.deficit_cap = 4 * shape.limits.actor_cap;
            shape.limits.drr_quantum = quantum;
            return shape;
        },
        rc::gen::inRange<std::size_t>(1, 7), rc::gen::inRange(1U, 4U), rc::gen::inRange(1U, 10U),
        rc::gen::inRange(1U, 6U), rc::gen::inRange(1U, 5U), rc::gen::inRange(1U, 4U));
}

/// Submissions, single decisions and ends in any order: also with a round cut short in the middle.
void compare_with_model(const Shape& shape, const std::vector<Command>& history, bool costs, bool failures) {
    PairedWorld pair(shape.limits, shape.permits, shape.actors);
    if (costs)
        for (std::size_t actor = 0; actor < shape.actors; ++actor)
            pair.set_weight(actor, static_cast<std::uint16_t>(1 + actor % 3));
    for (const Command& command : history) {
        if (command.what < 45)
            pair.submit(command.who % shape.actors, lanes[command.how % 4], classes[command.how / 4 % 2],
                        costs ? 1U + command.how / 8U : 1U);
        else if (command.what < 70)
            (void)pair.decide();
        else if (failures && command.what < 72)
            pair.remove(command.who % shape.actors);
        else if (failures && command.what < 78)
            pair.withdraw(command.who);
        else if (!pair.world.running.empty())
            pair.end(command.who % pair.world.running.size(), failures && command.how < 8);
        if (pair.difference())
            RC_FAIL(*pair.difference());
    }
    pair.finish(shape.permits);
    if (pair.difference())
        RC_FAIL(*pair.difference());
}

[[nodiscard]] Shape ahead(Shape shape) {
    shape.limits.run_jobs_max = 8;
    shape.limits.run_budget_ns = 30'000;
    shape.limits.backlog_ns = 30'000;
    shape.limits.backlog_jobs_max = 16;
    return shape;
}

}  // namespace

TEST_CASE("E8 E9 E10 E11 E12 E15: without run-ahead the decisions are those of the naive model") {
    CHECK(
        rc::check("same decisions", [] { compare_with_model(*any_shape(), *any_history(), false, false); }));
}

TEST_CASE("E12: with weights and costs the decisions are those of the naive model") {
    CHECK(rc::check("same decisions", [] { compare_with_model(*any_shape(), *any_history(), true, false); }));
}

TEST_CASE("E4 E18 E25: with failures, removals and withdrawals the decisions are those of the naive model") {
    CHECK(rc::check("same decisions", [] { compare_with_model(*any_shape(), *any_history(), true, true); }));
}

TEST_CASE(
    "E28: with run-ahead, give-back and revocation, order, caps, barriers and limits hold and all complete") {
    CHECK(rc::check("rules hold", [] {
        const Shape shape = ahead(*any_shape());
        CheckedWorld checked(shape.limits, shape.permits, shape.actors);
        std::vector<Run>& running = checked.world.running;
        for (const Command& command : *any_history()) {
            const std::size_t actor = command.who % shape.actors;
            const Nanos job_ns = command.how < 56 ? 300 : 200'000;  // mostly short, so that runs form
            if (command.what < 50)
                checked.submit(actor, lanes[command.how % 8 < 4 ? 0 : command.how % 4],
                               classes[command.who / 8 % 4 == 0], 1U + command.how / 40U);
            else if (command.what < 70)
                (void)checked.start();
            else if (command.what == 70)
                checked.remove(actor);
            else if (command.what == 71 && command.how == 0)
                checked.cancel();
            else if (running.empty())
                continue;
            else if (command.what < 76)
                checked.give_back(command.who % running.size(), 1U + command.how % 4U);
            else if (command.what < 79)
                checked.return_run(command.who % running.size());
            else
                checked.end(
                    command.who % running.size(),
                    {.executed = 1U + command.how % 8U, .failed = command.how == 63, .job_ns = job_ns});
            if (checked.rules.violation())
                RC_FAIL(*checked.rules.violation());
            RC_ASSERT(checked.counters_agree(shape.permits));
        }
        checked.finish();
        if (checked.rules.violation())
            RC_FAIL(*checked.rules.violation());
        RC_ASSERT(checked.rules.all_done());
        RC_ASSERT(checked.world.permits.free() == shape.permits);
        RC_ASSERT(checked.world.scheduler.quiet());
    }));
}
