// Goal:   E12 fairness in jobs and by weight and cost, E13 constant work, E28 sizes of runs and of the backlog.
// Method: long steady loads played by hand; what is counted is who got how much, and how often the permits were asked.

#include "world.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace sluice;
using namespace sluice::core;
using namespace sluice::core::test;

namespace {

/// Keeps every actor supplied, and counts the jobs that each got in `decisions` decisions.
std::vector<std::size_t> shares(World& world, Lane lane, std::size_t decisions, Nanos job_ns = 100'000,
                                const std::vector<std::uint32_t>& costs = {}) {
    std::vector<std::size_t> got(world.actors.size());
    for (std::size_t done = 0; done < decisions; ++done) {
        for (std::size_t actor = 0; actor < world.actors.size(); ++actor)
            while (world.actors[actor].interactive.size < 200)
                world.submit(actor, lane, JobClass::interactive, costs.empty() ? 1 : costs[actor]);
        const auto index = world.start();
        if (!index) {
            world.end(0, job_ns);
            continue;
        }
        got[world.index_of(*world.running[*index].actor)] += world.running[*index].jobs.count;
    }
    return got;
}

Limits ahead(std::uint32_t pool_size) {
    Limits limits = plain_limits(pool_size);
    limits.run_jobs_max = 64;
    limits.backlog_ns = 30'000;
    return limits;
}

}  // namespace

TEST_CASE("E12: actors with work get equal shares, to the job, whatever their lanes allow in parallel") {
    for (const Lane lane : {Lane::pure_read, Lane::mutating}) {
        World world(plain_limits(4), 1, 5);
        const auto got = shares(world, lane, 4'000);
        const auto [least, most] = std::ranges::minmax(got);
        CHECK(least > 100);
        CHECK(most - least <= 1 + world.scheduler.limits().actor_cap);
    }
}

TEST_CASE("E12: a weight is a share") {
    for (const std::uint32_t pool : {1U, 4U}) {
        World world(plain_limits(pool), 1, 3);
        world.actors[1].weight = 2;
        world.actors[2].weight = 5;
        const auto got = shares(world, Lane::pure_read, 16'000);
        CHECK(static_cast<double>(got[1]) / static_cast<double>(got[0]) ==
              doctest::Approx(2.0).epsilon(0.02));
        CHECK(static_cast<double>(got[2]) / static_cast<double>(got[0]) ==
              doctest::Approx(5.0).epsilon(0.02));
    }
}

TEST_CASE("E12: a cost is a charge, however much it is above the quantum") {
    World world(plain_limits(1), 1, 3);
    const auto got = shares(world, Lane::pure_read, 8'000, 100'000, {1, 4, 50});
    CHECK(static_cast<double>(got[0]) / static_cast<double>(got[1]) == doctest::Approx(4.0).epsilon(0.05));
    CHECK(static_cast<double>(got[0]) / static_cast<double>(got[2]) == doctest::Approx(50.0).epsilon(0.05));
}

TEST_CASE("E12: the largest cost alone is served at once, without a million empty rounds") {
    World world(plain_limits(2), 1, 1);
    world.submit(0, Lane::mutating, JobClass::interactive, max_job_cost);
    CHECK(world.start().has_value());
    world.end(0);
    world.submit(0, Lane::mutating, JobClass::interactive, ~0U);
    CHECK(world.start().has_value());
    CHECK(+world.jobs.back().cost == max_job_cost);
}

TEST_CASE("E12: an actor without queued work starts anew, with no deficit saved") {
    World world(plain_limits(1), 1, 2);
    world.actors[0].weight = 7;
    world.submit(0, Lane::pure_read);
    CHECK(world.start().has_value());
    CHECK(world.actors[0].interactive.deficit == 0);
    world.end(0);
}

TEST_CASE("E12 E28: with run-ahead and tiny jobs the shares of actors stay equal, within a few runs") {
    World world(ahead(2), 1, 7);
    const auto got = shares(world, Lane::mutating, 20'000, 100);
    const auto [least, most] = std::ranges::minmax(got);
    CHECK(least > 10'000);
    CHECK(most - least <= 3 * 64);
}

TEST_CASE("E12 E28: one actor of long jobs among tiny ones does not starve, and does not starve them") {
    World world(ahead(4), 1, 4);
    std::vector<std::size_t> ended(4);
    for (int i = 0; i < 5'000; ++i) {
        for (std::size_t actor = 0; actor < 4; ++actor)
            while (world.actors[actor].interactive.size < 100)
                world.submit(actor, Lane::mutating);
        if (world.start())
            continue;
        // Everything in flight ends in turn; actor 0 takes 1 ms a job.
        const std::size_t actor = world.index_of(*world.running.front().actor);
        ended[actor] += world.running.front().jobs.count;
        world.end(0, actor == 0 ? 1'000'000 : 200);
    }
    for (const std::size_t jobs : ended)
        CHECK(jobs > 300);
}

TEST_CASE("E13: ten thousand actors wait for a permit, and one that comes back is offered to one of them") {
    World world(plain_limits(8), 1, 10'001);
    for (std::size_t actor = 0; actor < 10'000; ++actor)
        world.submit(actor, Lane::heavy_init);
    world.start_all();
    REQUIRE(world.running.size() == 1);
    for (std::size_t expected = 1; expected < 20; ++expected) {
        world.end(0);  // built
        world.start_all();
        world.end(0);  // installed
        const unsigned asked = world.permits.asked();
        world.start_all();
        CHECK(world.permits.asked() - asked <= 2);
        REQUIRE(world.running.size() == 1);
        CHECK(world.index_of(*world.running[0].actor) == expected);
    }
    const unsigned asked = world.permits.asked();
    world.submit(10'000, Lane::mutating);
    world.start_all();
    CHECK(world.running.size() == 2);
    CHECK(world.permits.asked() == asked);
}

TEST_CASE(
    "E9 E25: who was called for a permit and could not go loses the call with the job that it was for") {
    Limits limits = plain_limits(8);
    limits.actor_cap = limits.read_cap = 1;
    World world(limits, 1, 4);
    constexpr std::size_t has_it = 0, called = 1, second = 2, third = 3;
    world.submit(has_it, Lane::heavy_init);
    world.start_all();
    const std::size_t withdrawn = world.submit(called, Lane::heavy_init);
    const std::size_t after = world.submit(called, Lane::heavy_init);
    world.start_all();
    world.submit(second, Lane::heavy_init);
    world.submit(called, Lane::pure_read, JobClass::maintenance);  // now it is at its cap
    world.start_all();
    REQUIRE(world.running.size() == 2);
    world.end(0);  // built
    world.start_all();
    world.end(1);  // installed: the permit is for `called`, which cannot go, and so for `second`
    world.start_all();
    REQUIRE(world.running.size() == 2);
    REQUIRE(world.index_of(*world.running[1].actor) == second);
    world.scheduler.withdraw(world.jobs[withdrawn], FailReason::cancelled);
    CHECK(numbers(world.scheduler.take_failed()) == std::vector{withdrawn});
    world.submit(third, Lane::heavy_init);
    world.start_all();
    world.end(0);  // the read; `called` can go again, as a newcomer
    world.start_all();
    std::vector<std::size_t> order;
    while (!world.running.empty()) {
        if (world.running[0].step == Step::build)
            order.push_back(world.running[0].jobs.first->number);
        world.end(0);
        world.start_all();
    }
    REQUIRE(order.size() == 3);
    CHECK(world.index_of(*world.jobs[order[1]].actor) == third);
    CHECK(order[2] == after);
}

TEST_CASE("E13: an actor that cannot run is in no ring, and comes back by its own event") {
    World world(plain_limits(4), 1, 2);
    world.submit(0, Lane::mutating);
    world.submit(0, Lane::mutating);
    world.start_all();
    CHECK(world.scheduler.ready_actors(JobClass::interactive) == 0);
    world.end(0);
    CHECK(world.scheduler.ready_actors(JobClass::interactive) == 1);
}

TEST_CASE("E28: runs grow as jobs prove short, and shrink as they prove long") {
    World world(ahead(2), 1, 1);
    const auto next_size = [&](Nanos job_ns) {
        while (world.actors[0].interactive.size < 100)
            world.submit(0, Lane::mutating);
        const std::uint32_t size = world.running[*world.start()].jobs.count;
        world.end(0, job_ns);
        return size;
    };
    CHECK(next_size(100) == 1);  // nothing is known yet
    for (int i = 0; i < 20; ++i)
        next_size(100);
    CHECK(next_size(100) == 64);
    for (int i = 0; i < 60; ++i)
        next_size(10'000);
    CHECK(next_size(10'000) == 3);
    for (int i = 0; i < 60; ++i)
        next_size(1'000'000);
    CHECK(next_size(1'000'000) == 1);
}

TEST_CASE("E28: one preempted run does not make all jobs look long") {
    World world(ahead(2), 1, 2);
    for (int i = 0; i < 100; ++i) {
        world.submit(0, Lane::mutating);
        world.start_all();
        world.end(0, 1'000);
    }
    const std::uint32_t before = world.scheduler.global_job_ns();
    world.submit(1, Lane::mutating);
    world.start_all();
    world.end(0, 10'000'000);  // the kernel took the CPU away for 10 ms
    CHECK(world.scheduler.global_job_ns() <= before + before / 2 + 200);
    CHECK(world.scheduler.expected_job_ns(world.actors[1]) <= 4 * before + 1'000);
    CHECK(world.scheduler.expected_job_ns(world.actors[0]) == doctest::Approx(1'000).epsilon(0.02));
}

TEST_CASE("E28: the backlog is bounded by time and by jobs, and empty for long ones") {
    World world(ahead(2), 1, 400);
    for (int i = 0; i < 100; ++i) {  // 1 us a job
        world.submit(0, Lane::mutating);
        world.start_all();
        world.end(0, 1'000);
    }
    for (std::size_t actor = 0; actor < 400; ++actor)
        world.submit(actor, Lane::mutating);
    world.start_all();
    CHECK(world.scheduler.expected_in_flight_ns() <= 30'000);
    CHECK(world.scheduler.expected_in_flight_ns() > 28'000);
    CHECK(world.scheduler.idle_workers() == 0);

    World tiny(ahead(2), 1, 4'000);
    for (int i = 0; i < 100; ++i) {
        tiny.submit(0, Lane::mutating);
        tiny.start_all();
        tiny.end(0, 10);
    }
    for (std::size_t actor = 0; actor < 4'000; ++actor)
        tiny.submit(actor, Lane::mutating);
    tiny.start_all();
    CHECK(tiny.scheduler.jobs_in_flight() == 512);

    World slow(ahead(2), 1, 10);
    for (std::size_t actor = 0; actor < 10; ++actor)
        slow.submit(actor, Lane::mutating);
    slow.start_all();
    CHECK(slow.running.size() == 2);
    CHECK(slow.running[0].long_running);
}

TEST_CASE(
    "E9 E28: heavy builds say nothing about the other jobs of their actor, and are never in a run or the "
    "backlog") {
    World world(ahead(2), 4, 1);
    for (int i = 0; i < 50; ++i) {
        world.submit(0, Lane::mutating);
        world.start_all();
        world.end(0, 1'000);
    }
    for (int i = 0; i < 5; ++i)
        world.submit(0, Lane::heavy_init);
    REQUIRE(world.start().has_value());
    CHECK(world.running[0].jobs.count == 1);
    CHECK(world.running[0].long_running);
    world.end(0, 50'000'000);
    CHECK(world.scheduler.expected_job_ns(world.actors[0]) == doctest::Approx(1'000).epsilon(0.02));
}

TEST_CASE("E15: a waiting install occupies no worker") {
    Limits limits = plain_limits(2);
    limits.actor_cap = 2;
    limits.read_cap = 2;
    World world(limits, 1, 2);
    world.submit(0, Lane::pure_read);
    world.submit(0, Lane::heavy_init);
    world.start_all();
    REQUIRE(world.running.size() == 2);
    world.end(1);  // built; the read still runs
    CHECK(world.scheduler.idle_workers() == 1);
    CHECK(world.scheduler.in_flight(JobClass::interactive) == 2);
    world.submit(1, Lane::mutating);
    CHECK(world.start().has_value());
}

TEST_CASE("E33: accepted = queued + in flight + completed for an actor, at any time") {
    World world(plain_limits(4), 1, 1);
    const Actor& actor = world.actors[0];
    for (int i = 0; i < 5; ++i)
        world.submit(0, Lane::pure_read);
    world.submit(0, Lane::heavy_init);
    CHECK(actor.accepted == 6);
    CHECK(actor.completed() == 0);
    world.start_all();
    world.end(0);
    CHECK(actor.completed() == 1);
    while (!world.running.empty()) {
        world.start_all();
        CHECK(actor.accepted == actor.queued() + actor.jobs_in_flight + actor.completed());
        world.end(0);
        world.start_all();
    }
    CHECK(actor.completed() == 6);
    CHECK(world.scheduler.quiet());
}

TEST_CASE("E12 E28: a weight is a share with run-ahead too, also of jobs that take no time, in every lane") {
    for (const Lane lane : {Lane::pure_read, Lane::mutating}) {
        for (const std::uint32_t pool : {1U, 2U}) {
            for (const std::uint16_t weight : {std::uint16_t{4}, std::uint16_t{20}}) {
                for (const std::size_t actors : {2U, 8U, 32U}) {
                    CAPTURE(pool);
                    CAPTURE(weight);
                    CAPTURE(actors);
                    World world(ahead(pool), 1, actors);
                    world.actors[0].weight = weight;
                    const auto got = shares(world, lane, 20'000, 30);
                    const double ratio = static_cast<double>(got[0]) / static_cast<double>(got[1]);
                    CHECK(ratio > 0.75 * weight);
                    CHECK(ratio < 1.3 * weight);
                    const auto [least, most] = std::minmax_element(got.begin() + 1, got.end());
                    CHECK(static_cast<double>(*most) < 1.2 * static_cast<double>(*least) + 64);
                }
            }
        }
    }
}

TEST_CASE("E12: costs are paid in full, also when a quantum is larger than the cap") {
    for (const std::uint32_t quantum : {1U, 3U, 100U}) {
        CAPTURE(quantum);
        Limits limits = plain_limits(1);
        limits.drr_quantum = quantum;
        World world(limits, 1, 2);
        const auto got = shares(world, Lane::mutating, 12'000, 100'000, {1, 10});
        const double ratio = static_cast<double>(got[0]) / static_cast<double>(got[1]);
        CHECK(ratio > 9.0);
        CHECK(ratio < 11.0);
    }
}
