// Goal: queued jobs end in time, and at once when their submitter no longer wants them (E24, E25); started ones finish.
// Method: jobs behind a held actor or worker, by themselves, in masses, and raced against everything that may end them.
#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include "executor/harness.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr auto never = steady_clock::time_point::max();

/// What jobs with one deadline ended with, and when.
struct Ends {
    ErrorCode code;
    std::chrono::nanoseconds late;
};

Ends end_of(Completion<void>& job, steady_clock::time_point deadline) {
    const ErrorCode code = code_of(job);
    return {code, steady_clock::now() - deadline};
}

}  // namespace

TEST_CASE("E24 a job that is still queued when its deadline passes ends then, while nothing else happens") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto holds = actor.mutate([gate](int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        const auto deadline = steady_clock::now() + 20ms;
        auto job = actor.mutate({.request_id = "r7", .deadline = deadline}, [](int& n) { n = 1; });
        auto patient = actor.read({.deadline = deadline + 1h}, [](const int& n) { return n; });
        const auto result = job.wait();
        REQUIRE_FALSE(result.has_value());
        CHECK(result.error() == ErrorCode::deadline_exceeded);
        CHECK(result.error().request_id() == "r7");
        CHECK(steady_clock::now() >= deadline);
        CHECK(steady_clock::now() - deadline <
              5s);  // a machine may sleep; how late usually, the next test says
        CHECK_FALSE(patient.ready());
        CHECK(executor.snapshot().jobs.deadline_exceeded == 1);
        CHECK(executor.snapshot().jobs.queued == 1);
        gate.open();
        CHECK(value_of(patient) == 0);
        CHECK(code_of(holds) == no_error);
    });
}

TEST_CASE("E24 no later than a scheduling round: usually within a few hundred microseconds") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto holds = actor.mutate([gate](int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        std::vector<std::chrono::nanoseconds> late;
        for (int i = 0; i < 40; ++i) {
            const auto deadline = steady_clock::now() + 3ms;
            auto job = actor.mutate({.deadline = deadline}, [](int&) {});
            const Ends end = end_of(job, deadline);
            CHECK(end.code == ErrorCode::deadline_exceeded);
            CHECK(end.late >= 0ns);
            late.push_back(end.late);
        }
        std::ranges::sort(late);
        CHECK(late[late.size() / 4] < 3ms);  // the machine's own delays are in it: a quarter must be good
        gate.open();
        CHECK(code_of(holds) == no_error);
    });
}

TEST_CASE("E24 an earlier deadline that comes later is not slept through") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto holds = actor.mutate([gate](int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        auto late = actor.mutate({.deadline = steady_clock::now() + 1h}, [](int&) {});
        std::this_thread::sleep_for(20ms);  // home sleeps until then by now
        auto early = actor.mutate({.deadline = steady_clock::now() + 10ms}, [](int&) {});
        CHECK(code_of(early) == ErrorCode::deadline_exceeded);
        CHECK_FALSE(late.ready());
        gate.open();
        CHECK(code_of(late) == no_error);
        CHECK(code_of(holds) == no_error);
    });
}

TEST_CASE("E24 thousands of deadlines, in any order, each at its time; what started in time is not touched") {
    under_both_policies({1, 2}, [](const Config& config) {
        INFO("seed " << seed());
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::mt19937 random(static_cast<unsigned>(seed()));
        const Gate gate;
        auto holds = actor.mutate({.deadline = steady_clock::now() + 10s}, [gate](int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        const auto begin = steady_clock::now();
        std::vector<std::pair<steady_clock::time_point, Completion<void>>> jobs;
        for (int i = 0; i < scaled(4'000); ++i) {
            const auto deadline =
                i % 10 == 0 ? never : begin + std::chrono::microseconds(20'000 + random() % 80'000);
            jobs.emplace_back(deadline, actor.mutate({.deadline = deadline}, [](int& n) { ++n; }));
        }
        int ran = 0;
        std::this_thread::sleep_until(begin + 60ms);
        gate.open();
        for (auto& [deadline, job] : jobs) {
            const ErrorCode code = code_of(job);
            CHECK((code == no_error || (code == ErrorCode::deadline_exceeded && deadline != never)));
            CHECK((code == no_error || steady_clock::now() >= deadline));
            ran += code == no_error ? 1 : 0;
        }
        CHECK(code_of(holds) == no_error);
        CHECK(value_of(actor.read([](const int& n) { return n; })) == ran);
        const JobTotals totals = executor.snapshot().jobs;
        CHECK(totals.accepted == totals.completed());
        // On a slow machine a deadline may have passed before its job was submitted: refused then, and not accepted.
        CHECK(totals.deadline_exceeded + executor.snapshot().refused.other ==
              jobs.size() - static_cast<std::size_t>(ran));
    });
}

TEST_CASE("E24 E25 what is over before it begins is refused at once, and its closure is left alone") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        auto kept = std::make_unique<int>(7);
        auto closure = [kept = std::move(kept)](const int&) { return *kept; };
        CHECK(code_of(actor.read({.deadline = steady_clock::now() - 1ms}, std::move(closure))) ==
              ErrorCode::deadline_exceeded);
        std::stop_source source;
        source.request_stop();
        // That it is still there is the promise. NOLINTBEGIN(bugprone-use-after-move)
        CHECK(code_of(actor.read({.stop = source.get_token()}, std::move(closure))) == ErrorCode::cancelled);
        CHECK(value_of(actor.read(std::move(closure))) == 7);
        // NOLINTEND(bugprone-use-after-move)
        CHECK(executor.snapshot().refused.other == 2);
        CHECK(executor.snapshot().jobs.accepted == 1);
    });
}

TEST_CASE("E25 a stop ends a queued job at once, wherever it stands, on whatever thread") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        auto other = executor.add_actor("b", 0);
        const Gate gate;
        auto holds = actor.mutate([gate](int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        std::vector<std::stop_source> sources(9);
        std::vector<Completion<void>> jobs;
        auto alive = std::make_shared<int>(0);
        for (auto& source : sources)
            jobs.push_back(actor.mutate({.stop = source.get_token()}, [alive](int& n) { ++n; }));
        for (const std::size_t i : {4U, 0U, 8U}) {  // the middle, the first, the last
            sources[i].request_stop();
            CHECK(code_of(jobs[i]) == ErrorCode::cancelled);
        }
        CHECK(eventually([&] { return alive.use_count() == 7; }));  // closures went with their jobs
        CHECK(executor.snapshot().jobs.cancelled == 3);
        gate.open();
        for (const std::size_t i : {1U, 2U, 3U, 5U, 6U, 7U})
            CHECK(code_of(jobs[i]) == no_error);
        CHECK(value_of(actor.read([](const int& n) { return n; })) == 6);
        sources[1].request_stop();  // long over
        // From inside a job of the executor itself.
        std::stop_source inside;
        auto held = actor.mutate([gate](int&) {});
        auto stops = other.mutate([&](int&) {
            auto queued = other.mutate({.stop = inside.get_token()}, [](int& n) { n = -1; });
            inside.request_stop();
            queued.detach();
        });
        CHECK(code_of(stops) == no_error);
        CHECK(eventually([&] { return executor.snapshot().jobs.cancelled == 4; }));
        CHECK(value_of(other.read([](const int& n) { return n; })) == 0);
        CHECK(code_of(held) == no_error);
        CHECK(code_of(holds) == no_error);
    });
}

TEST_CASE("E25 a running job is not stopped, and can read its token") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::stop_source source;
        const Gate gate;
        auto job = actor.mutate({.stop = source.get_token()}, [gate, token = source.get_token()](int&) {
            gate.pass();
            return token.stop_requested();
        });
        REQUIRE(gate.reached_by(1));
        source.request_stop();
        CHECK(stays([&] { return !job.ready(); }));
        gate.open();
        CHECK(value_of(job));
    });
}

TEST_CASE("E24 E25 the build of a heavy job counts as its start; an install is never cut off") {
    under_both_policies({2}, [](Config config) {
        config.heavy_permits = 1;
        std::atomic<int> built{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        std::stop_source first;
        std::stop_source second;
        auto running = actor.build(
            {.deadline = steady_clock::now() + 10s, .stop = first.get_token()},
            [&built, gate](const int&) {
                gate.pass();
                return ++built;
            },
            [](int& n, int made) { return n = made; });
        REQUIRE(gate.reached_by(1));
        auto waits = executor.add_actor("b", 0).build(
            {.stop = second.get_token()}, [&built](const int&) { ++built; }, [](int&) {});
        first.request_stop();
        second.request_stop();
        CHECK(code_of(waits) == ErrorCode::cancelled);
        gate.open();
        CHECK(value_of(running) == 1);
        CHECK(built.load() == 1);
    });
}

TEST_CASE("E24 E25 E31 tokens and deadlines cost no allocation in steady state") {
    under_both_policies({2}, [](Config config) {
        config.max_queued = 64;
        config.reserve_nodes = 1'000;  // more than the caches of all threads can hold back
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::stop_source source;
        const auto rounds = [&](int count) {
            for (int i = 0; i < count; ++i)
                CHECK(
                    code_of(actor.mutate({.deadline = steady_clock::now() + 10s, .stop = source.get_token()},
                                         [](int&) {})) == no_error);
        };
        rounds(300);
        const std::uint64_t nodes = executor.snapshot().nodes;
        rounds(2'000);
        CHECK(executor.snapshot().nodes == nodes);
    });
}
