// Goal: callers of one key share one job of an executor (S2 S3 S5 S6 S8).
// Method: workers held at a gate while flights are joined, dropped, raised; executors that remove, refuse and shut down.
#include <future>
#include <optional>
#include <string>

#include "executor/coroutine.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const JobOptions maintenance{.job_class = JobClass::maintenance};

template <class T>
[[nodiscard]] FlightOutcome<T> outcome_of(FlightCompletion<T>& completion) {
    auto outcome = completion.wait_for(patience);
    REQUIRE((outcome.result || !(outcome.result.error() == ErrorCode::timed_out)));
    return outcome;
}
template <class T>
[[nodiscard]] FlightOutcome<T> outcome_of(FlightCompletion<T>&& completion) {
    return outcome_of(completion);
}

template <class T>
Detached await_outcome(FlightCompletion<T> completion, std::promise<FlightOutcome<T>>& end) {
    end.set_value(co_await std::move(completion));
}

}  // namespace

TEST_CASE("S2 one job for all; followers wait, await and are called back, and cost no worker") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        SingleFlight<std::string, std::string> flights;
        Executor executor(config);
        auto actor = executor.add_actor("a", std::string("state"));
        const Gate gate;
        std::atomic<int> runs{0};
        const auto join = [&] {
            return flights.run("key", actor, Lane::pure_read, [&runs, gate](const std::string& state) {
                gate.pass();
                runs.fetch_add(1);
                return state;
            });
        };
        auto leader = join();
        auto waits = join();
        auto dropped = join();
        CHECK(leader.led());
        CHECK_FALSE(waits.led());
        std::promise<FlightOutcome<std::string>> awaited;
        await_outcome(join(), awaited);
        std::promise<FlightOutcome<std::string>> called;
        join().then([&](FlightOutcome<std::string> outcome) { called.set_value(std::move(outcome)); });
        dropped.detach();
        CHECK_FALSE(waits.ready());
        CHECK(waits.wait_for(1ms).result.error() == ErrorCode::timed_out);
        gate.open();
        const auto led = outcome_of(leader);
        CHECK(led.led);
        CHECK(**led.result == "state");
        for (auto outcome : {outcome_of(waits), awaited.get_future().get(), called.get_future().get()}) {
            CHECK(outcome.result->get() == led.result->get());
            CHECK_FALSE(outcome.led);
        }
        CHECK(runs.load() == 1);
        CHECK(executor.snapshot().jobs.accepted == 1);
        CHECK(flights.in_the_air() == 0);
        CHECK_FALSE(leader.valid());
        CHECK(leader.wait().result.error() == ErrorCode::no_state);
    });
}

TEST_CASE("S2 every lane; a function that changes its context runs in mutating only") {
    under_both_policies({2}, [](const Config& config) {
        SingleFlight<int, int> flights;
        Executor executor(config);
        auto actor = executor.add_actor("a", 5);
        for (const Lane lane : {Lane::pure_read, Lane::serial_status, Lane::heavy_init, Lane::mutating})
            CHECK(outcome_of(flights.run(1, actor, lane, [](const int& n) { return n; })).result.value() ==
                  5);
        const auto change = [](int& n) { return ++n; };
        CHECK(outcome_of(flights.run(1, actor, Lane::mutating, change)).result.value() == 6);
        CHECK(outcome_of(flights.run(1, actor, Lane::pure_read, change)).result.error() ==
              ErrorCode::lane_mismatch);
        CHECK(flights.in_the_air() == 0);
    });
}

TEST_CASE(
    "S3 X05 the leader's job throws, or returns an error: all get it; a mutation makes its actor fatal") {
    under_both_policies({1, 2}, [](const Config& config) {
        SingleFlight<int, int> flights;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (const bool mutates : {false, true}) {
            const Gate gate;
            std::vector<FlightCompletion<int>> callers;
            for (int i = 0; i < 10; ++i) {
                const JobOptions named{.request_id = "r7"};
                callers.push_back(flights.run(1, actor, mutates ? Lane::mutating : Lane::pure_read, named,
                                              [gate](const int&) -> int {
                                                  gate.pass();
                                                  throw std::runtime_error("broken");
                                              }));
            }
            gate.open();
            for (auto& caller : callers) {
                const Error error = outcome_of(caller).result.error();
                CHECK(error == ErrorCode::job_threw);
                CHECK(error.actor() == "a");
                CHECK(error.request_id() == "r7");
                CHECK_THROWS_WITH_AS(std::rethrow_exception(error.exception()), "broken", std::runtime_error);
            }
            CHECK(actor.fatal() == mutates);
        }
        auto other = executor.add_actor("other", 0);
        const auto refuses = [](const int&) -> Result<int> {
            return std::unexpected(Error({.code = ErrorCode::queue_full}));
        };
        CHECK(outcome_of(flights.run(1, other, Lane::pure_read, refuses)).result.error() ==
              ErrorCode::queue_full);
        CHECK_FALSE(other.fatal());
    });
}

TEST_CASE(
    "S3 a leader whose job never ran frees its followers with that error: removed, refused, shut down") {
    under_both_policies({1, 2}, [](Config config) {
        config.max_queued_per_actor = 1;
        SingleFlight<int, int> flights;
        Tracked::Counts functions;
        std::optional<Executor> executor(std::in_place, config);
        auto removed = executor->add_actor("removed", 0);
        auto full = executor->add_actor("full", 0);
        auto last = executor->add_actor("last", 0);
        const auto join = [&](int key, const Actor<int>& actor, const JobOptions& options = {}) {
            return flights.run(key, actor, Lane::mutating, options,
                               [mine = Tracked(functions)](const int&) { return 1; });
        };
        const auto codes = [](FlightCompletion<int> a, FlightCompletion<int> b) {
            return std::pair(outcome_of(a).result.error().value(), outcome_of(b).result.error().value());
        };
        {
            AllWorkersHeld held(*executor);
            auto first = join(1, removed);
            auto second = join(1, removed);
            executor->remove_actor("removed");
            full.post_mutate([](int&) {}).value();
            CHECK(codes(join(2, full), join(2, full)) ==
                  std::pair(ErrorCode::queue_full, ErrorCode::queue_full));
            held.release();
            CHECK(codes(std::move(first), std::move(second)) ==
                  std::pair(ErrorCode::actor_removed, ErrorCode::actor_removed));
        }
        // Both of a raised flight's jobs never run: one end, with the error of the one that came last.
        const Gate gate;
        std::vector<Completion<void>> holders;
        for (unsigned i = 0; i < executor->config().pool_size; ++i) {
            auto holder = executor->add_actor("late" + std::to_string(i), 0);
            holders.push_back(holder.mutate([gate](int&) { gate.pass(); }));
        }
        REQUIRE(gate.reached_by(executor->config().pool_size));
        auto low = join(3, last, maintenance);
        auto high = join(3, last);  // refused: the queue of the actor is full, and the first one still there
        CHECK_FALSE(low.ready());
        CHECK_FALSE(high.ready());
        std::jthread ending([&] { executor.reset(); });
        CHECK(codes(std::move(low), std::move(high)) ==
              std::pair(ErrorCode::shut_down, ErrorCode::shut_down));
        gate.open();
        ending.join();
        CHECK(codes(join(1, last), join(1, last)) == std::pair(ErrorCode::shut_down, ErrorCode::shut_down));
        CHECK(flights.in_the_air() == 0);
        CHECK(functions.alive.load() == 0);
    });
}

TEST_CASE("S3 E24 the deadline of a leader's job reaches all who share it") {
    under_both_policies({1, 2}, [](const Config& config) {
        SingleFlight<int, int> flights;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        AllWorkersHeld held(executor);
        const JobOptions soon{.deadline = steady_clock::now() + 5ms};
        auto leader = flights.run(1, actor, Lane::pure_read, soon, [](const int& n) { return n; });
        auto follower = flights.run(1, actor, Lane::pure_read, [](const int& n) { return n; });
        CHECK(outcome_of(leader).result.error() == ErrorCode::deadline_exceeded);
        CHECK(outcome_of(follower).result.error() == ErrorCode::deadline_exceeded);
        CHECK(flights.in_the_air() == 0);
        held.release();
    });
}

TEST_CASE("S8 an interactive caller raises a flight that is queued as maintenance; the function runs once") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        SingleFlight<int, JobClass> flights;
        Executor executor(config);
        auto busy = executor.add_actor("busy", 0);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        std::atomic<int> runs{0};
        // The actor's interactive mutation at the gate holds back its maintenance (E10), and is followed by more.
        auto holds = actor.mutate([gate](int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        const auto low = [&](int&) {
            runs.fetch_add(1);
            return JobClass::maintenance;
        };
        auto before = actor.mutate(maintenance, [](int& n) { return ++n; });
        auto first = flights.run(1, actor, Lane::mutating, maintenance, low);
        auto second = flights.run(1, actor, Lane::mutating, low);
        auto third = flights.run(1, actor, Lane::mutating, low);
        CHECK(executor.snapshot().interactive.jobs.queued == 1);  // raised once
        gate.open();
        CHECK(outcome_of(second).result.has_value());
        CHECK(outcome_of(first).result.has_value());
        CHECK(outcome_of(third).result.has_value());
        CHECK(value_of(before) == 1);
        CHECK(eventually([&] { return executor.snapshot().jobs.queued == 0; }));
        CHECK(eventually([&] { return executor.snapshot().jobs.running == 0; }));
        CHECK(runs.load() == 1);
        CHECK(flights.in_the_air() == 0);
    });
}

TEST_CASE("S8 the raised job overtakes maintenance that is held back") {
    Config config;
    config.pool_size = 2;
    SingleFlight<int, int> flights;
    Executor executor(config);
    auto blocker = executor.add_actor("blocker", 0);
    auto actor = executor.add_actor("a", 0);
    const Gate gate;
    // One worker of two inside maintenance: no more of it is admitted (E11), interactive work is.
    auto held = blocker.mutate(maintenance, [gate](int&) { gate.pass(); });
    REQUIRE(gate.reached_by(1));
    auto low = flights.run(1, actor, Lane::pure_read, maintenance, [](const int&) { return 1; });
    CHECK(stays([&] { return !low.ready(); }));
    auto high = flights.run(1, actor, Lane::pure_read, [](const int&) { return 2; });
    CHECK(outcome_of(high).result.value() == 1);
    CHECK(outcome_of(low).result.value() == 1);
    gate.open();
    CHECK(code_of(held) == no_error);
}

TEST_CASE("S6 S2 inside the key's own run, and blocking on an executor's thread, is would_deadlock") {
    under_both_policies({1, 2}, [](const Config& config) {
        SingleFlight<int, int> flights;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        auto other = executor.add_actor("other", 0);
        const Gate gate;
        auto inside = flights.run(1, actor, Lane::pure_read, [&](const int&) {
            auto same = flights.run(1, actor, Lane::pure_read, [](const int&) { return 0; });
            CHECK(same.wait().result.error() == ErrorCode::would_deadlock);
            CHECK(flights.run(1, [] { return 0; }).result.error() == ErrorCode::would_deadlock);
            auto elsewhere = flights.run(2, other, Lane::pure_read, [gate](const int&) {
                gate.pass();
                return 2;
            });
            CHECK(elsewhere.wait().result.error() == ErrorCode::would_deadlock);
            CHECK(elsewhere.valid());
            std::move(elsewhere).then([](const FlightOutcome<int>&) {});
            return 1;
        });
        CHECK(outcome_of(inside).result.value() == 1);
        gate.open();
        CHECK(eventually([&] { return flights.in_the_air() == 0; }));
    });
}

TEST_CASE("S5 callers give up: by stop, while attached or not, by dropping; the run ends without any") {
    under_both_policies({1, 2}, [](const Config& config) {
        SingleFlight<int, int> flights;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        std::stop_source stop;
        const auto join = [&](std::stop_token token = {}) {
            return flights.run(1, actor, Lane::pure_read, {.stop = std::move(token)}, [gate](const int&) {
                gate.pass();
                return 3;
            });
        };
        auto leader = join(stop.get_token());
        auto waits = join(stop.get_token());
        std::promise<FlightOutcome<int>> awaited;
        await_outcome(join(stop.get_token()), awaited);
        auto blocked = std::async(std::launch::async, [&] { return outcome_of(waits); });
        auto stays_on = join();
        stop.request_stop();
        CHECK(leader.ready());
        CHECK(outcome_of(leader).result.error() == ErrorCode::cancelled);
        CHECK(awaited.get_future().get().result.error() == ErrorCode::cancelled);
        CHECK(blocked.get().result.error() == ErrorCode::cancelled);
        CHECK(outcome_of(join(stop.get_token())).result.error() == ErrorCode::cancelled);
        CHECK_FALSE(stays_on.ready());
        gate.open();
        CHECK(outcome_of(stays_on).result.value() == 3);
        const Gate second;
        flights
            .run(2, actor, Lane::pure_read,
                 [second](const int&) {
                     second.pass();
                     return 0;
                 })
            .detach();
        second.open();
        CHECK(eventually([&] { return flights.in_the_air() == 0; }));
    });
}

TEST_CASE("S2 flights in the air outlive their SingleFlight, and their callers") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", std::string("state"));
        std::optional<SingleFlight<int, std::string>> flights(std::in_place);
        const Gate gate;
        auto waits = flights->run(1, actor, Lane::pure_read, [gate](const std::string& state) {
            gate.pass();
            return state;
        });
        flights.reset();
        gate.open();
        CHECK(**outcome_of(waits).result == "state");
    });
}
