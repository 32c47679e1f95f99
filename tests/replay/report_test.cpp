// Goal: the report says what the records say, as text that fits a terminal and as JSON whose members are documented.
// Method: runs made by hand; the guide is read to see that it names every member and every exit code.
#include "report.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "fixture.hpp"
#include "report_json.hpp"
#include "report_text.hpp"

using namespace replay_test;
using nlohmann::json;

namespace {

ScriptedRun mixed_run() {
    return ScriptedRun({{0, reading, 1'000, 1'500, 2'500},
                        {0, mutating, 2'000, 4'000, 5'000},
                        {1, heavy, 3'000, 3'000, 9'000, 8'000},
                        {1, serial, 4'000, 5'000, 6'000, 0, maintenance},
                        {0, reading, 5'000, 0, 0, 0, maintenance, 1, Fate::refused_queue_full},
                        {0, reading, 6'000, 7'000, 7'500}});
}

std::string guide() {
    std::ifstream file(REPLAY_GUIDE);
    return {std::istreambuf_iterator<char>(file), {}};
}

void collect_names(const json& value, std::set<std::string>& names) {
    if (value.is_object()) {
        for (const auto& [name, inner] : value.items()) {
            names.insert(name);
            collect_names(inner, names);
        }
    }
    if (value.is_array() && !value.empty())
        collect_names(value.front(), names);
}

}  // namespace

TEST_CASE("delays count from the intended arrival, in the right group") {
    const Report report = mixed_run().report();
    CHECK(report.total.jobs.planned == 6);
    CHECK(report.total.jobs.accepted == 5);
    CHECK(report.total.jobs.refused() == 1);
    CHECK(report.total.jobs.ran == 5);
    REQUIRE(report.groups.size() == 5);
    const Group& reads = report.groups[0];
    CHECK(reads.lane == reading);
    CHECK(reads.jobs.ran == 2);
    CHECK(reads.queue_delay.max == 1'000);
    CHECK(reads.queue_delay.mean == doctest::Approx(750));
    CHECK(reads.latency.max == 1'500);
    const Group& refused = report.groups[1];
    CHECK(refused.job_class == maintenance);
    CHECK(refused.jobs.refused_queue_full == 1);
    CHECK(refused.latency.count == 0);
    CHECK(report.total.latency.max == 6'000);
    CHECK(report.wall_ns == 9'000);
    CHECK(report.jobs_per_second == doctest::Approx(5 / 9e-6));
    CHECK(report.submitter_lag.max == 10);
    CHECK(report.submit_call.p50 == 60);
}

TEST_CASE("the peak of the queue is the most that were accepted and not started at one time") {
    CHECK(ScriptedRun({{0, reading, 0, 100, 200}, {0, reading, 10, 110, 200}, {0, reading, 20, 120, 200}})
              .report()
              .peak_queued == 3);
    CHECK(ScriptedRun({{0, reading, 0, 11, 200}, {0, reading, 100, 111, 200}}).report().peak_queued == 1);
    CHECK(ScriptedRun({{0, reading, 0, 0, 0}, {0, reading, 100, 150, 200}}).report().peak_queued == 2);
}

TEST_CASE("jobs cut short by an interrupt are counted and kept out of the durations") {
    ScriptedRun run({{0, reading, 0, 100, 200}, {0, reading, 10, 110, 90'000}});
    run.recorder.record(1).cut_short = true;
    run.facts.interrupted = true;
    const Report report = run.report();
    CHECK(report.total.jobs.ran == 2);
    CHECK(report.total.jobs.cut_short == 1);
    CHECK(report.total.latency.count == 1);
    CHECK(report.exit_code() == ExitCode::interrupted);
}

TEST_CASE("exit codes: broken before interrupted before failed by the executor") {
    ScriptedRun dropped({{0, reading, 0, 0, 0, 0, {}, 1, Fate::accepted, true}, {0, reading, 10, 110, 120}});
    CHECK(dropped.report().exit_code() == ExitCode::executor);
    dropped.facts.interrupted = true;
    CHECK(dropped.report().exit_code() == ExitCode::interrupted);
    dropped.facts.stuck = true;
    CHECK(dropped.report().exit_code() == ExitCode::broken);
    CHECK(ScriptedRun({{0, reading, 0, 0, 0, 0, {}, 1, Fate::refused_otherwise}}).report().exit_code() ==
          ExitCode::executor);
}

TEST_CASE("the text fits into 80 columns and tells in = out") {
    ScriptedRun run = mixed_run();
    const std::string text = report_text(run.report());
    CHECK(text.find("jobs       5 in = 5 ran; 1 refused (queue full)") != std::string::npos);
    CHECK(text.find("no job is lost, no rule is broken") != std::string::npos);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(line.size() <= 80);
    }
    run.facts.last.jobs.accepted = 7;
    const std::string broken = report_text(run.report());
    CHECK(broken.find("BROKEN: the executor accepted as many: 7 and 5") != std::string::npos);
    CHECK(broken.find("no job is lost") == std::string::npos);
}

TEST_CASE("the text of a run in which nothing ran is whole") {
    const std::string text =
        report_text(ScriptedRun({{0, reading, 0, 0, 0, 0, {}, 1, Fate::not_submitted}}).report());
    CHECK(text.find("0 in = 0 ran; 1 not submitted") != std::string::npos);
}

TEST_CASE("the JSON is what the guide says: every member is described there") {
    const json parsed = json::parse(report_json(mixed_run().report()));
    CHECK(parsed.at("schema") == "sluice-replay/1");
    const std::string text = guide();
    REQUIRE_FALSE(text.empty());
    std::set<std::string> names;
    collect_names(parsed, names);
    CHECK(names.size() > 60);
    for (const std::string& name : names) {
        CAPTURE(name);
        CHECK(text.find('`' + name + '`') != std::string::npos);
    }
}

TEST_CASE("the JSON carries numbers as numbers, and null for what has no meaning") {
    ScriptedRun run = mixed_run();
    run.options.pace = {PaceKind::asap, 0};
    const json parsed = json::parse(report_json(run.report()));
    CHECK(parsed.at("run").at("speed").is_null());
    CHECK(parsed.at("run").at("utilisation").is_null());
    CHECK(parsed.at("run").at("pace") == "asap");
    CHECK(parsed.at("fairness").at("jain").is_null());
    CHECK(parsed.at("exit_code") == 0);
    CHECK(parsed.at("checks").at("sound") == true);
    CHECK(parsed.at("total").at("jobs").at("accepted") == 5);
    CHECK(parsed.at("total").at("latency_ns").at("max") == 6'000);
    CHECK(parsed.at("groups").size() == 5);
    CHECK(parsed.at("groups")[2].at("lane") == "serial");
    CHECK(parsed.at("groups")[2].at("class") == "maintenance");
    for (const auto& check : parsed.at("checks").at("counts"))
        CHECK(check.at("holds") == true);
}

TEST_CASE("names that are not UTF-8 do not spoil the JSON") {
    ScriptedRun run = mixed_run();
    run.options.trace = "tr\xff.csv";
    const json parsed = json::parse(report_json(run.report()));
    CHECK(parsed.at("trace").at("name") == "tr\xEF\xBF\xBD.csv");
}
