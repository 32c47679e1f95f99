// Goal:   the judges judge. RuleChecker, which the exhaustive and property tests trust, refuses wrong decisions, and names
//         the rule; the comparison with the naive model refuses a wrong order.
// Method: a hand-made sequence of events with one wrong decision for each rule, and beside it the right one, accepted.

#include "naive_model.hpp"
#include "rule_checker.hpp"
#include "world.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace sluice::core::test;

namespace {

constexpr JobClass interactive = JobClass::interactive;
constexpr JobClass maintenance = JobClass::maintenance;

/// Two actors, six workers, caps of two, one permit.
RuleChecker judge(std::uint32_t run_jobs_max = 1) {
    Limits limits = plain_limits(6);
    limits.actor_cap = 2;
    limits.read_cap = 1;
    limits.run_jobs_max = run_jobs_max;
    return {limits, 1, 2};
}

RuleChecker::Started run(std::size_t actor, std::vector<std::size_t> jobs, Lane lane,
                         JobClass c = interactive, Step step = Step::whole) {
    return {actor, std::move(jobs), lane, c, step, 100, false};
}

/// The first two characters of a rule are enough to tell which it is.
std::string rule(const RuleChecker& rules) {
    return rules.violation() ? rules.violation()->substr(0, rules.violation()->find(':')) : "none";
}

}  // namespace

TEST_CASE("E8: a job that overtakes its head is refused") {
    RuleChecker rules = judge();
    rules.submitted(0, 0, Lane::mutating, interactive);
    rules.submitted(1, 0, Lane::pure_read, interactive);
    RuleChecker wrong = rules;
    wrong.started(run(0, {1}, Lane::pure_read));
    CHECK(rule(wrong) == "E8");
    rules.started(run(0, {0}, Lane::mutating));
    CHECK(rule(rules) == "none");
}

TEST_CASE("E8: a writer beside a reader is refused") {
    RuleChecker rules = judge();
    rules.submitted(0, 0, Lane::pure_read, interactive);
    rules.submitted(1, 0, Lane::mutating, interactive);
    rules.started(run(0, {0}, Lane::pure_read));
    RuleChecker wrong = rules;
    wrong.started(run(0, {1}, Lane::mutating));
    CHECK(rule(wrong) == "E8");
    rules.ended(0, 1, false, false);
    rules.started(run(0, {1}, Lane::mutating));
    CHECK(rule(rules) == "none");
}

TEST_CASE("E9: anything beside a writer, a second status job, and more than a cap are refused") {
    struct Case {
        Lane first, second;
        bool allowed;
    };
    for (const Case& each :
         {Case{Lane::mutating, Lane::pure_read, false}, Case{Lane::mutating, Lane::heavy_init, false},
          Case{Lane::serial_status, Lane::serial_status, false},
          Case{Lane::pure_read, Lane::pure_read, false}, Case{Lane::heavy_init, Lane::heavy_init, false},
          Case{Lane::pure_read, Lane::serial_status, true}, Case{Lane::heavy_init, Lane::mutating, true}}) {
        RuleChecker rules = judge();
        rules.submitted(0, 0, each.first, interactive);
        rules.submitted(1, 0, each.second, interactive);
        rules.started(
            run(0, {0}, each.first, interactive, each.first == Lane::heavy_init ? Step::build : Step::whole));
        rules.started(run(0, {1}, each.second, interactive,
                          each.second == Lane::heavy_init ? Step::build : Step::whole));
        CHECK(rule(rules) == (each.allowed ? "none" : "E9"));
        rules.submitted(2, 0, Lane::serial_status, interactive);
        rules.started(run(0, {2}, Lane::serial_status));
        CHECK(rule(rules) == "E9");  // actor_cap, if nothing else
    }
}

TEST_CASE("E10: maintenance beside an interactive head that is mutating is refused") {
    RuleChecker rules = judge();
    rules.submitted(0, 0, Lane::mutating, interactive);
    rules.submitted(1, 0, Lane::pure_read, maintenance);
    rules.submitted(2, 1, Lane::pure_read, maintenance);
    RuleChecker wrong = rules;
    wrong.started(run(0, {1}, Lane::pure_read, maintenance));
    CHECK(rule(wrong) == "E10");
    rules.started(run(1, {2}, Lane::pure_read, maintenance));
    CHECK(rule(rules) == "none");
}

TEST_CASE("E11: maintenance that takes the reserve, or goes over its cap, is refused") {
    Limits limits = plain_limits(4);
    RuleChecker rules(limits, 1, 4);
    for (std::size_t i = 0; i < 3; ++i)
        rules.submitted(i, i, Lane::pure_read, maintenance);
    rules.started(run(0, {0}, Lane::pure_read, maintenance));
    rules.started(run(1, {1}, Lane::pure_read, maintenance));
    CHECK(rule(rules) == "none");
    rules.started(run(2, {2}, Lane::pure_read, maintenance));
    CHECK(rule(rules) == "E11");
}

TEST_CASE("E11: more units than workers are refused") {
    RuleChecker rules(plain_limits(2), 1, 3);
    for (std::size_t i = 0; i < 3; ++i) {
        rules.submitted(i, i, Lane::pure_read, interactive);
        CHECK(rule(rules) == "none");
        rules.started(run(i, {i}, Lane::pure_read));
    }
    CHECK(rule(rules) == "E11");
}

TEST_CASE("E13: silence while a job could run is refused") {
    RuleChecker rules = judge();
    rules.nothing_more();
    CHECK(rule(rules) == "none");
    rules.submitted(0, 0, Lane::mutating, interactive);
    rules.submitted(1, 0, Lane::mutating, interactive);
    rules.started(run(0, {0}, Lane::mutating));
    rules.nothing_more();
    CHECK(rule(rules) == "none");
    rules.ended(0, 1, false, false);
    rules.nothing_more();
    CHECK(rule(rules) == "E13");
}

TEST_CASE("E15: admission past a pending install, and an install beside a reader, are refused") {
    RuleChecker rules = judge();
    rules.submitted(0, 0, Lane::heavy_init, interactive);
    rules.submitted(1, 0, Lane::pure_read, interactive);
    rules.submitted(2, 0, Lane::serial_status, interactive);
    rules.started(run(0, {0}, Lane::heavy_init, interactive, Step::build));
    rules.started(run(0, {1}, Lane::pure_read));
    rules.ended(0, 1, false, true);
    CHECK(rule(rules) == "none");
    RuleChecker overtaken = rules;
    overtaken.started(run(0, {2}, Lane::serial_status));
    CHECK(rule(overtaken) == "E15");
    RuleChecker early = rules;
    early.started(run(0, {0}, Lane::heavy_init, interactive, Step::install));
    CHECK(rule(early) == "E15");
    rules.ended(1, 1, false, false);
    RuleChecker silent = rules;
    silent.nothing_more();
    CHECK(rule(silent) == "E15");
    rules.started(run(0, {0}, Lane::heavy_init, interactive, Step::install));
    CHECK(rule(rules) == "none");
}

TEST_CASE("E4 E18: a queued job of a fatal or removed actor that does not fail, or runs, is refused") {
    RuleChecker rules = judge();
    rules.submitted(0, 0, Lane::mutating, interactive);
    rules.submitted(1, 0, Lane::pure_read, interactive);
    rules.started(run(0, {0}, Lane::mutating));
    rules.ended(0, 1, true, false);
    RuleChecker runs = rules, silent = rules, mistaken = rules;
    runs.started(run(0, {1}, Lane::pure_read));
    CHECK(rule(runs) == "E8");
    silent.failed({});
    CHECK(rule(silent) == "E4, E18, E22");
    mistaken.failed({{1, FailReason::actor_removed}});
    CHECK(rule(mistaken) == "E4, E18, E22");
    rules.failed({{1, FailReason::actor_fatal}});
    CHECK(rule(rules) == "none");
    CHECK(rules.all_done());
}

TEST_CASE("E4: an actor released while something of it runs, or twice, is refused") {
    RuleChecker rules = judge();
    rules.submitted(0, 0, Lane::pure_read, interactive);
    rules.started(run(0, {0}, Lane::pure_read));
    rules.removed(0);
    RuleChecker early = rules;
    early.released(0);
    CHECK(rule(early) == "E4");
    rules.ended(0, 1, false, false);
    CHECK_FALSE(rules.all_done());
    rules.released(0);
    CHECK(rules.all_done());
    rules.released(0);
    CHECK(rule(rules) == "E4");
}

TEST_CASE("E28: a run of two lanes, with a gap, out of order or too long is refused") {
    RuleChecker rules = judge(3);
    for (std::size_t i = 0; i < 4; ++i)
        rules.submitted(i, 0, Lane::pure_read, interactive);
    rules.submitted(4, 0, Lane::serial_status, interactive);
    const auto verdict_on = [&](std::vector<std::size_t> jobs) {
        RuleChecker copy = rules;
        copy.started(run(0, std::move(jobs), Lane::pure_read));
        return rule(copy);
    };
    CHECK(verdict_on({0, 1, 2}) == "none");
    CHECK(verdict_on({0, 2}) == "E8");
    CHECK(verdict_on({1, 0}) == "E8");
    CHECK(verdict_on({0, 1, 2, 3}) == "E28");
    CHECK(verdict_on({}) == "E28");
    rules.started(run(0, {0, 1, 2}, Lane::pure_read));
    rules.ended(0, 3, false, false);
    rules.started(run(0, {3, 4}, Lane::pure_read));
    CHECK(rule(rules) == "E28");
}

TEST_CASE("E28: a job that is handed out again without having come back is refused") {
    RuleChecker rules = judge(2);
    rules.submitted(0, 0, Lane::mutating, interactive);
    rules.submitted(1, 0, Lane::mutating, interactive);
    rules.started(run(0, {0, 1}, Lane::mutating));
    RuleChecker kept = rules;
    rules.given_back(0, 1);
    rules.ended(0, 1, false, false);
    rules.started(run(0, {1}, Lane::mutating));
    CHECK(rule(rules) == "none");
    kept.ended(0, 2, false, false);
    kept.started(run(0, {1}, Lane::mutating));
    CHECK(rule(kept) == "E8");
}

TEST_CASE("E12: the naive model takes turns, so a scheduler that does not differs from it") {
    NaiveModel model(plain_limits(1), 1, 2);
    model.submit({0, Lane::mutating, interactive, 1});
    model.submit({0, Lane::mutating, interactive, 1});
    model.submit({1, Lane::mutating, interactive, 1});
    std::vector<std::size_t> order;
    while (const auto decision = model.next()) {
        order.push_back(decision->job);
        model.end(decision->job, false);
    }
    CHECK(order == std::vector<std::size_t>{0, 2, 1});
}
