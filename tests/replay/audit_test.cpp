// Goal: the audit finds each way of breaking an actor's rules (E8, E9) or losing a job, and finds nothing where there is
// nothing. Method: runs made by hand, right ones and ones with one thing wrong.
#include "audit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fixture.hpp"

using namespace replay_test;

namespace {

OrderAudit audit(const std::vector<Scripted>& jobs) {
    const ScriptedRun run(jobs);
    return audit_order(run.loaded.trace, run.plan, run.recorder);
}

std::uint64_t violations(const std::vector<Scripted>& jobs) {
    return audit(jobs).violations;
}

std::vector<std::string> broken(const ScriptedRun& run) {
    std::vector<std::string> names;
    for (const Check& check : run.report().checks) {
        if (!check.holds())
            names.push_back(check.name);
    }
    return names;
}

}  // namespace

TEST_CASE("E9: reads and one status job overlap freely; touching ends are no overlap") {
    CHECK(violations({{0, reading, 0, 10, 50},
                      {0, reading, 0, 20, 60},
                      {0, serial, 0, 15, 40},
                      {0, serial, 0, 40, 70}}) == 0);
    CHECK(violations({{0, mutating, 0, 10, 20}, {0, mutating, 0, 20, 30}, {0, reading, 0, 30, 40}}) == 0);
}

TEST_CASE("E9: a mutating job that overlaps a read, a status or another mutating job of its actor is found") {
    CHECK(violations({{0, reading, 0, 10, 50}, {0, mutating, 0, 49, 60}}) ==
          2);  // inside it, and ahead of it
    CHECK(violations({{0, mutating, 0, 10, 50}, {0, reading, 0, 49, 60}}) == 2);
    CHECK(violations({{0, serial, 0, 10, 50}, {0, mutating, 0, 30, 60}}) == 2);
    CHECK(violations({{0, mutating, 0, 10, 50}, {0, mutating, 0, 30, 60}}) == 2);
    // Of different classes there is no order, only exclusion.
    CHECK(violations({{0, mutating, 0, 10, 50}, {0, mutating, 0, 30, 60, 0, maintenance}}) == 1);
}

TEST_CASE("E9: two status jobs at once are found") {
    const auto result = audit({{0, serial, 0, 10, 50}, {0, serial, 0, 30, 60}});
    CHECK(result.jobs == 2);
    CHECK(result.violations == 1);
    REQUIRE(result.examples.size() == 1);
    CHECK(result.examples[0] ==
          "actor a0: job 1 (serial, interactive) began at 30 ns, inside job 0 (serial, interactive), which "
          "ended at 50 ns");
}

TEST_CASE("E15: a build may overlap anything, its install nothing") {
    CHECK(violations({{0, heavy, 0, 10, 90, 85}, {0, mutating, 0, 20, 40}, {0, reading, 0, 45, 60}}) == 0);
    CHECK(violations({{0, heavy, 0, 10, 90, 55}, {0, reading, 0, 45, 60, 0, maintenance}}) == 1);
    CHECK(violations({{0, heavy, 0, 10, 90, 80}, {0, heavy, 0, 10, 95, 85}}) == 1);
}

TEST_CASE("E8: what was submitted later does not overtake a mutating job of its class, nor the reverse") {
    CHECK(violations({{0, mutating, 0, 50, 60}, {0, reading, 0, 10, 20}}) == 1);
    CHECK(violations({{0, reading, 0, 50, 60}, {0, mutating, 0, 10, 20}}) == 1);
    CHECK(violations({{0, mutating, 0, 50, 60}, {0, heavy, 0, 10, 80, 70}}) == 1);
    CHECK(violations({{0, mutating, 0, 50, 60}, {0, reading, 0, 10, 20, 0, maintenance}}) == 0);
    // A later build is bound by the mutation before it; an earlier build does not hold back the mutation behind it.
    CHECK(violations({{0, heavy, 0, 30, 80, 70}, {0, mutating, 0, 10, 20}}) == 0);
    // Reads overtake each other at will.
    CHECK(violations({{0, reading, 0, 50, 60}, {0, reading, 0, 10, 20}}) == 0);
}

TEST_CASE("actors do not bind each other, and jobs that never ran bind nobody") {
    CHECK(violations({{0, mutating, 0, 10, 50}, {1, mutating, 0, 20, 60}}) == 0);
    CHECK(violations({{0, mutating, 0, 0, 0}, {0, mutating, 0, 20, 60}}) == 0);
}

TEST_CASE("only the first few examples are kept, all are counted") {
    std::vector<Scripted> jobs;
    for (std::uint64_t i = 0; i < 20; ++i)
        jobs.push_back({0, serial, 0, 10 + i, 100});
    const auto result = audit(jobs);
    CHECK(result.violations == 19);
    CHECK(result.examples.size() == OrderAudit::examples_kept);
}

TEST_CASE("E16, E33: a run in which all is well passes every check") {
    const ScriptedRun run({{0, reading, 0, 10, 20},
                           {0, mutating, 5, 30, 40},
                           {1, heavy, 6, 10, 60, 50},
                           {1, serial, 7, 12, 20, 0, maintenance},
                           {0, reading, 8, 0, 0, 0, maintenance, 1, Fate::refused_queue_full}});
    CHECK(broken(run).empty());
    CHECK(run.report().sound());
    CHECK(run.report().exit_code() == ExitCode::ok);
}

TEST_CASE("E16: a job that left no mark is lost, and the run is broken") {
    ScriptedRun run({{0, reading, 0, 10, 20}, {0, reading, 0, 0, 0}});
    const Report report = run.report();
    CHECK(report.total.jobs.lost == 1);
    CHECK_FALSE(report.sound());
    CHECK(report.exit_code() == ExitCode::broken);
    CHECK(std::ranges::count(broken(run), "all accepted jobs ran or were dropped") == 1);
}

TEST_CASE("each miscount is named") {
    const std::vector<Scripted> jobs{{0, reading, 0, 10, 20}, {0, mutating, 0, 20, 30}};
    using Names = std::vector<std::string>;
    {
        ScriptedRun run(jobs);
        run.recorder.record(0).starts = 2;
        CHECK(broken(run) == Names{"no job started twice"});
    }
    {
        ScriptedRun run(jobs);
        run.recorder.record(0).dropped = true;
        CHECK(broken(run) == Names{"no job both ran and was dropped"});
    }
    {
        ScriptedRun run(jobs);
        run.recorder.record(0).torn = true;
        CHECK(broken(run) == Names{"no reader saw its context change"});
    }
    {
        ScriptedRun run(jobs);
        run.facts.context_changes = 0;
        CHECK(broken(run) == Names{"no exclusive step was lost from its actor's context"});
    }
    {
        ScriptedRun run(jobs);
        run.facts.last.jobs.accepted = 3;
        CHECK(broken(run) ==
              Names{"the executor accepted as many", "the executor's jobs in are its jobs out"});
    }
    {
        ScriptedRun run(jobs);
        run.facts.last.jobs.queued = 1;
        CHECK(broken(run) == Names{"the executor has none queued or running"});
    }
    {
        ScriptedRun run(jobs);
        run.facts.last.refused.queue_full = 1;
        CHECK(broken(run) == Names{"the executor refused as many"});
    }
    {
        ScriptedRun run(jobs);
        run.facts.snapshots_uneven = 1;
        CHECK(broken(run) == Names{"all snapshots during the run added up"});
    }
    {
        ScriptedRun run(jobs);
        run.recorder.submission(0).fate = Fate::refused_otherwise;
        CHECK(std::ranges::count(broken(run), "no job ran that was not accepted") == 1);
    }
}
