// Goal: the progress line says how far the run is and fits its terminal; the tracker behind it counts each job once.
// Method: states made by hand; records that end one by one.
#include "progress.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fixture.hpp"
#include "text.hpp"
#include "tracker.hpp"

using namespace replay_test;

TEST_CASE("numbers and durations are short and exact enough") {
    CHECK(grouped(0) == "0");
    CHECK(grouped(999) == "999");
    CHECK(grouped(1'000) == "1,000");
    CHECK(grouped(12'345'678) == "12,345,678");
    CHECK(counted(1, "row") == "1 row");
    CHECK(counted(2'000, "row") == "2,000 rows");
    CHECK(duration(0) == "0 ns");
    CHECK(duration(999) == "999 ns");
    CHECK(duration(1'000) == "1.00 us");
    CHECK(duration(9'994) == "9.99 us");
    CHECK(duration(9'996) == "10.0 us");
    CHECK(duration(99'949) == "99.9 us");
    CHECK(duration(99'960) == "100 us");
    CHECK(duration(999'499) == "999 us");
    CHECK(duration(999'500) == "1.00 ms");
    CHECK(duration(3'238'459'000) == "3.24 s");
    CHECK(duration(7'200'000'000'000) == "7200 s");
    CHECK(bytes_text(512) == "512 B");
    CHECK(bytes_text(58ULL * 1024) == "58.0 KiB");
    CHECK(ratio(1.0712) == "1.07");
    CHECK(ratio(998.7) == "999");
    CHECK(ratio(2381.5) == "2,382");
}

TEST_CASE("the line shows done, rate, in flight, delay and time left, and a bar where there is room") {
    const ProgressState state{.elapsed_ns = 2'000'000'000,
                              .done = 3'000,
                              .total = 12'000,
                              .in_flight = 7,
                              .queue_delay_p99_ns = 1'240'000,
                              .schedule_ns = 8'000'000'000};
    const std::string bare = " 25 %  3,000 of 12,000  1500/s  7 in flight  delay p99 1.24 ms  6 s left";
    CHECK(progress_line(state, bare.size()) == bare);
    CHECK(progress_line(state, 120) == "[=====               ] " + bare);
    CHECK(progress_line(state, 20) == bare.substr(0, 20));
}

TEST_CASE("the time left is the schedule's, or after it that of the jobs at the rate so far") {
    CHECK(remaining_ns({.elapsed_ns = 0, .total = 10, .schedule_ns = 5'000}) == 5'000);
    CHECK(remaining_ns({.elapsed_ns = 1'000, .done = 5, .total = 10, .schedule_ns = 0}) == 1'000);
    CHECK(remaining_ns({.elapsed_ns = 1'000, .done = 5, .total = 10, .in_flight = 2, .schedule_ns = 4'000}) ==
          3'400);
}

TEST_CASE("the tracker counts each job once: ended, dropped or refused") {
    ScriptedRun run({{0, reading, 100, 300, 0},
                     {0, reading, 200, 250, 0},
                     {0, reading, 300, 0, 0, 0, {}, 1, Fate::refused_queue_full},
                     {0, reading, 400, 500, 0}});
    Tracker tracker(run.plan, run.recorder);
    tracker.update(0);
    CHECK(tracker.over() == 0);
    tracker.update(3);
    CHECK(tracker.submitted() == 3);
    CHECK(tracker.over() == 1);
    CHECK(tracker.open() == 2);
    run.recorder.record(1).ended_at = 260;
    tracker.update(4);
    tracker.update(4);
    CHECK(tracker.over() == 2);
    CHECK(tracker.queue_delay_p99() == 50);
    run.recorder.record(0).ended_at = 310;
    run.recorder.record(3).dropped = true;
    tracker.update(4);
    CHECK(tracker.over() == 4);
    CHECK(tracker.open() == 0);
    CHECK(tracker.queue_delay_p99() == 200);
    tracker.update(4);
    CHECK(tracker.over() == 4);
}

TEST_CASE("a backlog larger than one update's looks is seen through in several") {
    const std::size_t jobs = 3 * Tracker::looks_per_update + 5;
    Plan plan;
    plan.jobs.resize(jobs);
    Recorder recorder(jobs);
    for (std::size_t job = 0; job < jobs; ++job)
        recorder.submission(job).fate = Fate::accepted;
    Tracker tracker(plan, recorder);
    tracker.update(jobs);
    CHECK(tracker.over() == 0);
    for (std::size_t job = 1; job < jobs; ++job)
        recorder.record(job).ended_at = 1;  // the first stays open
    for (int i = 0; i < 5; ++i)
        tracker.update(jobs);
    CHECK(tracker.over() == jobs - 1);
    recorder.record(0).ended_at = 1;
    for (int i = 0; i < 5; ++i)
        tracker.update(jobs);
    CHECK(tracker.open() == 0);
}
