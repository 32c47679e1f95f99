// Goal: the figures of fairness mean what their description says. Method: numbers that can be worked out by hand.
#include "fairness.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "fixture.hpp"

using namespace replay_test;

namespace {

// Ten jobs of one actor, 20 us of service each, which take `latency` from arrival to end.
void add_jobs(std::vector<Scripted>& jobs, std::uint32_t actor, std::uint64_t latency,
              std::uint64_t service_us = 20) {
    for (std::uint64_t i = 1; i <= 10; ++i) {
        jobs.push_back(
            {actor, reading, i * 1'000'000, i * 1'000'000 + 5, i * 1'000'000 + latency, 0, {}, service_us});
    }
}

}  // namespace

TEST_CASE("Jain's index: 1 when all are alike, 1/n when one bears it all") {
    CHECK(jain_index({}) == 1.0);
    CHECK(jain_index({0, 0}) == 1.0);
    CHECK(jain_index({3, 3, 3}) == doctest::Approx(1.0));
    CHECK(jain_index({5, 0, 0, 0}) == doctest::Approx(0.25));
    CHECK(jain_index({1, 3}) == doctest::Approx(0.8));
}

TEST_CASE("slowdown is latency over service, and the worst actor is named") {
    std::vector<Scripted> jobs;
    add_jobs(jobs, 0, 20'000);
    add_jobs(jobs, 1, 60'000);
    add_jobs(jobs, 2, 40'000);
    const Fairness fairness = ScriptedRun(jobs).report().fairness;
    CHECK(fairness.actors == 3);
    CHECK(fairness.median_slowdown == doctest::Approx(2.0));
    CHECK(fairness.worst_actor == "a1");
    CHECK(fairness.worst_slowdown == doctest::Approx(3.0));
    CHECK(fairness.worst_jobs == 10);
    CHECK(fairness.jain == doctest::Approx(36.0 / (3 * 14)));
}

TEST_CASE("tiny jobs count as 10 us, and nothing is faster than its service") {
    std::vector<Scripted> jobs;
    add_jobs(jobs, 0, 50'000, 1);
    add_jobs(jobs, 1, 6'000, 1);
    const Fairness fairness = ScriptedRun(jobs).report().fairness;
    CHECK(fairness.worst_slowdown == doctest::Approx(5.0));
    CHECK(fairness.jain == doctest::Approx(36.0 / (2 * 26)));
}

TEST_CASE("actors with fewer than ten jobs are left out") {
    std::vector<Scripted> jobs;
    add_jobs(jobs, 0, 20'000);
    for (int i = 0; i < 9; ++i)
        jobs.push_back({1, reading, 0, 5, 9'000'000});
    const Fairness fairness = ScriptedRun(jobs).report().fairness;
    CHECK(fairness.actors == 1);
    CHECK(fairness.worst_actor == "a0");
    CHECK(ScriptedRun({{0, reading, 0, 5, 9}}).report().fairness.actors == 0);
}
