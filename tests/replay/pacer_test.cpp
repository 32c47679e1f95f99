// Goal: a plan says exactly when each job is meant to arrive: scaled, repeated, jittered, or all at once.
// Method: small traces whose arrivals can be counted by hand.
#include "pacer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace sluice::replay;

namespace {

Row row(std::uint64_t arrival_us, std::uint64_t service_us) {
    return {.arrival_us = arrival_us, .service_us = service_us};
}

std::vector<std::uint64_t> arrivals(const Plan& plan) {
    std::vector<std::uint64_t> times;
    for (const PlannedJob& job : plan.jobs)
        times.push_back(job.arrival_ns);
    return times;
}

// A span of 30 us, 60 us of work: 2 workers' worth.
const std::vector<Row> rows{row(0, 10), row(10, 20), row(30, 30)};

using Times = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("speed divides the arrivals and leaves the service times alone") {
    const auto plan = make_plan(rows, {.pace = {PaceKind::speed, 2}, .workers = 4});
    REQUIRE(plan.has_value());
    CHECK(arrivals(*plan) == Times{0, 5'000, 15'000});
    CHECK(plan->speed == 2);
    CHECK(plan->offered_workers == doctest::Approx(2.0));
    CHECK(plan->utilisation == doctest::Approx(1.0));
    CHECK(plan->service_ns(rows[1]) == 20'000);
    CHECK(plan->work_ns == 60'000);
}

TEST_CASE("utilisation chooses the speed: U * workers / offered load") {
    const auto plan = make_plan(rows, {.pace = {PaceKind::utilisation, 0.5}, .workers = 2});
    REQUIRE(plan.has_value());
    CHECK(plan->speed == doctest::Approx(0.5));
    CHECK(plan->utilisation == doctest::Approx(0.5));
    CHECK(arrivals(*plan) == Times{0, 20'000, 60'000});
}

TEST_CASE("scaled service times count in the offered load") {
    const auto plan =
        make_plan(rows, {.pace = {PaceKind::utilisation, 0.5}, .workers = 2, .service_scale = 0.5});
    REQUIRE(plan.has_value());
    CHECK(plan->offered_workers == doctest::Approx(1.0));
    CHECK(plan->speed == doctest::Approx(1.0));
    CHECK(plan->service_ns(rows[0]) == 5'000);
    CHECK(plan->work_ns == 30'000);
}

TEST_CASE("at once means that everything arrives at 0, in the order of the trace") {
    const auto plan = make_plan(rows, {.pace = {PaceKind::asap, 0}, .workers = 2, .repeat = 2});
    REQUIRE(plan.has_value());
    CHECK(arrivals(*plan) == Times(6, 0));
    CHECK(plan->jobs[4].row == 1);
    CHECK(plan->utilisation == 0);
}

TEST_CASE("laps follow each other at a mean gap") {
    const auto plan = make_plan(rows, {.pace = {PaceKind::speed, 1}, .workers = 2, .repeat = 3});
    REQUIRE(plan.has_value());
    CHECK(arrivals(*plan) == Times{0, 10'000, 30'000, 45'000, 55'000, 75'000, 90'000, 100'000, 120'000});
    CHECK(plan->work_ns == 180'000);
}

TEST_CASE(
    "jitter delays each arrival by less than its share of the mean gap, keeps the order of time, and obeys "
    "its seed") {
    std::vector<Row> many;
    for (std::uint64_t i = 0; i < 1'000; ++i)
        many.push_back(row(i * 10, 1));
    PlanOptions options{.pace = {PaceKind::speed, 1}, .workers = 2, .repeat = 2, .jitter = 3, .seed = 7};
    const auto plan = make_plan(many, options);
    REQUIRE(plan.has_value());
    CHECK(std::ranges::is_sorted(arrivals(*plan)));
    std::size_t moved = 0;
    std::vector<bool> seen(many.size() * 2);
    for (const PlannedJob& job : plan->jobs) {
        const bool second = seen[job.row];
        seen[second ? many.size() + job.row : job.row] = true;
        const std::uint64_t intended = (many[job.row].arrival_us + (second ? 10'000 : 0)) * 1'000;
        REQUIRE(job.arrival_ns >= intended);
        REQUIRE(job.arrival_ns < intended + 30'000);
        moved += job.arrival_ns != intended ? 1 : 0;
    }
    CHECK(std::ranges::count(seen, true) == 2'000);
    CHECK(moved > 1'900);
    CHECK(arrivals(*make_plan(many, options)) == arrivals(*plan));
    options.seed = 8;
    CHECK(arrivals(*make_plan(many, options)) != arrivals(*plan));
}

TEST_CASE("a trace without a span is replayed at once at any pace") {
    const std::vector<Row> burst{row(0, 5), row(0, 5)};
    const auto plan = make_plan(burst, {.pace = {PaceKind::utilisation, 0.8}, .workers = 2, .repeat = 2});
    REQUIRE(plan.has_value());
    CHECK(arrivals(*plan) == Times(4, 0));
    CHECK(plan->offered_workers == 0);
}

TEST_CASE("what cannot be planned is refused with a sentence") {
    const std::vector<Row> idle{row(0, 0), row(10, 0)};
    const auto no_work = make_plan(idle, {.pace = {PaceKind::utilisation, 0.8}, .workers = 2});
    REQUIRE_FALSE(no_work.has_value());
    CHECK(no_work.error() ==
          "a utilisation was asked for, but all service times are 0; use --speed or --asap");
    CHECK(make_plan(idle, {.pace = {PaceKind::speed, 1}, .workers = 2}).has_value());

    const auto too_many = make_plan(rows, {.pace = {PaceKind::asap, 0}, .workers = 2, .repeat = 10'000'000});
    REQUIRE_FALSE(too_many.has_value());
    CHECK(too_many.error() ==
          "3 rows times 10,000,000 are more than the 20,000,000 jobs that one run may have; use --limit");
}

TEST_CASE("the largest numbers that are accepted stay far from overflow") {
    const std::vector<Row> far{row(0, 0), row(max_arrival_us, max_service_us)};
    const auto plan = make_plan(far, {.pace = {PaceKind::speed, 0.001}, .workers = 1, .service_scale = 1000});
    REQUIRE(plan.has_value());
    CHECK(plan->jobs.back().arrival_ns == 1'000'000'000'000'000'000);
    CHECK(plan->service_ns(far[1]) == 3'600'000'000'000'000);
}
