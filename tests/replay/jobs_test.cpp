// Goal: a job leaves exactly one mark, whatever becomes of its closure, and takes the time that it was told to take.
// Method: the closures are run, moved and dropped by hand, without an executor.
#include "jobs.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory_resource>
#include <optional>
#include <utility>
#include <vector>

#include "counting_resource.hpp"

using namespace sluice::replay;

namespace {

struct Bench {
    Recorder recorder{1};
    std::atomic<bool> stop{false};
    JobSetting setting{recorder, WorkKind::spin, stop};
    ActorState state;

    Bench() {
        recorder.start(Clock::now());
    }
    JobRecord& record() {
        return recorder.record(0);
    }
    template <class Job>
    Job job(std::uint64_t service_ns = 0) {
        return {{JobToken(record()), &setting, service_ns}};
    }
};

}  // namespace

TEST_CASE("a job that runs is marked as ended, once, with its times in order") {
    Bench bench;
    auto job = bench.job<Reading>(200'000);
    auto moved = std::move(job);
    moved(bench.state);
    CHECK(bench.record().starts == 1);
    CHECK(bench.record().started > 0);
    CHECK(bench.record().ended() >= bench.record().started + 200'000);
    CHECK_FALSE(bench.record().dropped);
    CHECK_FALSE(moved.token.here());
}

TEST_CASE("a job that is destroyed without having run is marked as dropped") {
    Bench bench;
    { auto job = std::optional(bench.job<Mutating>()); }
    CHECK(bench.record().dropped);
    CHECK(bench.record().ended() == 0);
    CHECK(bench.state.changes == 0);
}

TEST_CASE("a job that was refused leaves no mark, and its token is still there to see that") {
    Bench bench;
    {
        auto job = bench.job<Reading>();
        CHECK(job.token.here());
        job.token.release();
    }
    CHECK_FALSE(bench.record().dropped);
    CHECK(bench.record().ended() == 0);
}

TEST_CASE("a build ends with its install; between the two it can still be dropped") {
    Bench bench;
    {
        auto built = bench.job<Building>()(bench.state);
        CHECK(bench.record().starts == 1);
        CHECK(bench.record().ended() == 0);
        CHECK(bench.state.changes == 0);
        Installing{}(bench.state, std::move(built));
    }
    CHECK(bench.record().ended() >= bench.record().installing);
    CHECK(bench.record().installing >= bench.record().started);
    CHECK(bench.state.changes == 1);
    CHECK_FALSE(bench.record().dropped);

    Bench other;
    { auto built = other.job<Building>()(other.state); }
    CHECK(other.record().dropped);
}

TEST_CASE("work ends early when the run is stopped, spinning or asleep") {
    for (const WorkKind work : {WorkKind::spin, WorkKind::sleep}) {
        Bench bench;
        const JobSetting setting{bench.recorder, work, bench.stop};
        bench.stop = true;
        const std::uint64_t started = bench.recorder.now();
        const std::uint64_t ended = spend(setting, bench.record(), started, 3'600'000'000'000);
        CHECK(ended - started < 10'000'000'000);
        CHECK(bench.record().cut_short);
    }
}

TEST_CASE("a sleeping job takes its service time too") {
    Bench bench;
    const JobSetting setting{bench.recorder, WorkKind::sleep, bench.stop};
    const std::uint64_t started = bench.recorder.now();
    CHECK(spend(setting, bench.record(), started, 15'000'000) >= started + 15'000'000);
    CHECK(spend(setting, bench.record(), 5, 0) == 5);
}

TEST_CASE("the counting resource counts calls, and the most bytes at one time") {
    CountingResource memory(*std::pmr::new_delete_resource());
    {
        std::pmr::vector<char> first(1'000, &memory);
        { std::pmr::vector<char> second(3'000, &memory); }
        std::pmr::vector<char> third(500, &memory);
        CHECK(memory.live_bytes() == 1'500);
    }
    CHECK(memory.allocations() == 3);
    CHECK(memory.live_bytes() == 0);
    CHECK(memory.peak_bytes() == 4'000);
}
