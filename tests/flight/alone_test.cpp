// Goal: callers of one key share one run, standing alone (S1 S3 S4 S5 S6 S9); case X05.
// Method: leaders held at a gate while followers join, give up, forget, and ask again from inside.
#include <array>
#include <future>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Followers of a run whose leader stands at the gate, each on a thread of its own.
template <class T>
class Followers {
public:
    template <class Flights, class Key>
    Followers(Flights& flights, const Key& key, int count, FlightPatience patience = {}) {
        for (int i = 0; i < count; ++i) {
            outcomes_.push_back(std::async(std::launch::async, [this, &flights, key, patience] {
                coming_.fetch_add(1);
                return flights.run(key, patience, []() -> T { throw std::runtime_error("a second run"); });
            }));
        }
        CHECK(eventually([&] { return coming_.load() == count; }));
        std::this_thread::sleep_for(
            a_while);  // most of them sleep by now; those that do not are followers as well
    }
    [[nodiscard]] std::vector<FlightOutcome<T>> outcomes() {
        std::vector<FlightOutcome<T>> all;
        for (auto& outcome : outcomes_) {
            REQUIRE(outcome.wait_for(patience) == std::future_status::ready);
            all.push_back(outcome.get());
        }
        return all;
    }

private:
    std::atomic<int> coming_{0};
    std::vector<std::future<FlightOutcome<T>>> outcomes_;
};

}  // namespace

TEST_CASE("a table that no memory could hold is refused, also where its size in bytes would wrap") {
    for (const unsigned bit : {57U, 58U, 60U, 63U})
        CHECK_THROWS_AS((SingleFlight<int, int>({.buckets = std::size_t{1} << bit})), std::bad_alloc);
    CHECK_THROWS_AS((SingleFlight<int, int>({.buckets = ~std::size_t{0}})), std::bad_alloc);
}

TEST_CASE("S1 one run for all that come while it runs; they are told who led; then the key is free") {
    SingleFlight<std::string, std::string> flights;
    const Gate gate;
    int runs = 0;
    auto leader = std::async(std::launch::async, [&] {
        return flights.run("key", [&, gate] {
            ++runs;
            gate.pass();
            return std::string("value");
        });
    });
    REQUIRE(gate.reached_by(1));
    CHECK(flights.in_the_air() == 1);
    Followers<std::string> followers(flights, std::string("key"), 5);
    gate.open();
    const auto led = leader.get();
    CHECK(led.led);
    CHECK(**led.result == "value");
    for (const auto& outcome : followers.outcomes()) {
        CHECK_FALSE(outcome.led);
        CHECK(outcome.result->get() == led.result->get());  // the same object
    }
    CHECK(runs == 1);
    CHECK(flights.in_the_air() == 0);
    const auto again = flights.run("key", [] { return std::string("new"); });
    CHECK(again.led);
    CHECK(**again.result == "new");
}

TEST_CASE("S1 small values are copies, nothing is nothing, what cannot be moved is shared") {
    struct Pinned {
        explicit Pinned(int n) : number(n) {}
        Pinned(const Pinned&) = delete;
        Pinned& operator=(const Pinned&) = delete;
        ~Pinned() = default;
        int number;
    };
    static_assert(std::same_as<FlightValue<double>, double>);
    static_assert(std::same_as<FlightValue<std::array<long, 2>>, std::array<long, 2>>);
    static_assert(std::same_as<FlightValue<std::array<long, 3>>, std::shared_ptr<const std::array<long, 3>>>);
    static_assert(std::same_as<FlightValue<Pinned>, std::shared_ptr<const Pinned>>);
    SingleFlight<int, double> numbers;
    CHECK(numbers.run(1, [] { return 2.5; }).result.value() == 2.5);
    SingleFlight<int, void> nothing;
    CHECK(nothing.run(1, [] {}).result.has_value());
    SingleFlight<int, Pinned> pinned;
    CHECK((*pinned.run(1, [] { return Pinned(7); }).result)->number == 7);
    std::shared_ptr<const std::string> outlives;
    {
        SingleFlight<int, std::string> flights;
        outlives = *flights.run(1, [] { return std::string("still here"); }).result;
    }
    CHECK(*outlives == "still here");
}

TEST_CASE(
    "X05 S3 the leader throws while nine are joined: all ten get the same failure, the next starts anew") {
    SingleFlight<std::string, int> flights;
    const Gate gate;
    auto leader = std::async(std::launch::async, [&] {
        return flights.run("key", [gate]() -> int {
            gate.pass();
            throw std::runtime_error("broken");
        });
    });
    REQUIRE(gate.reached_by(1));
    Followers<int> followers(flights, std::string("key"), 9);
    gate.open();
    auto all = followers.outcomes();
    all.push_back(leader.get());
    for (const auto& outcome : all) {
        CHECK(outcome.result.error() == ErrorCode::job_threw);
        CHECK(outcome.result.error().exception() == all[0].result.error().exception());
        CHECK_THROWS_WITH_AS(std::rethrow_exception(outcome.result.error().exception()), "broken",
                             std::runtime_error);
    }
    CHECK(flights.run("key", [] { return 1; }).result.value() == 1);
}

TEST_CASE("S3 an error that the function returns reaches all") {
    SingleFlight<int, std::string> flights;
    const auto refused = flights.run(1, []() -> Result<std::string> {
        return std::unexpected(Error({.code = ErrorCode::queue_full, .message = "full"}));
    });
    CHECK(refused.result.error() == ErrorCode::queue_full);
    CHECK(refused.result.error().message() == "full");
    CHECK(**flights.run(1, []() -> Result<std::string> { return "fine"; }).result == "fine");
    SingleFlight<int, void> nothing;
    CHECK(nothing
              .run(1, []() -> Result<void> { return std::unexpected(Error({.code = ErrorCode::shut_down})); })
              .result.error() == ErrorCode::shut_down);
}

TEST_CASE(
    "S4 S9 forget: later callers start anew, sharers get the old run, whose end leaves the new one alone") {
    SingleFlight<std::string, int> flights;
    const Gate first;
    const Gate second;
    const auto lead = [&](Gate gate, int value) {
        return std::async(std::launch::async, [&flights, gate, value] {
            return flights.run("key", [gate, value] {
                gate.pass();
                return value;
            });
        });
    };
    CHECK_FALSE(flights.forget("key"));
    auto old_run = lead(first, 1);
    REQUIRE(first.reached_by(1));
    Followers<int> of_the_old(flights, std::string("key"), 2);
    CHECK(flights.forget("key"));
    CHECK_FALSE(flights.forget("key"));
    auto new_run = lead(second, 2);
    REQUIRE(second.reached_by(1));
    CHECK(flights.in_the_air() == 2);
    first.open();
    CHECK(old_run.get().result.value() == 1);
    for (const auto& outcome : of_the_old.outcomes())
        CHECK(outcome.result.value() == 1);
    Followers<int> of_the_new(flights, std::string("key"), 2);  // the old one's end did not remove it
    second.open();
    CHECK(new_run.get().result.value() == 2);
    for (const auto& outcome : of_the_new.outcomes())
        CHECK(outcome.result.value() == 2);
}

TEST_CASE(
    "S5 followers give up by time and by stop; the rest get the value, and the run ends also without any") {
    SingleFlight<int, int> flights;
    const Gate gate;
    std::stop_source stop;
    auto leader = std::async(std::launch::async, [&] {
        return flights.run(1, [gate] {
            gate.pass();
            return 4;
        });
    });
    REQUIRE(gate.reached_by(1));
    Followers<int> stopped(flights, 1, 2, {.stop = stop.get_token()});
    Followers<int> staying(flights, 1, 2, {.patience = patience});
    const auto late = flights.run(1, {.patience = 1ms}, [] { return 0; });
    CHECK(late.result.error() == ErrorCode::timed_out);
    CHECK_FALSE(late.led);
    stop.request_stop();
    for (const auto& outcome : stopped.outcomes())
        CHECK(outcome.result.error() == ErrorCode::cancelled);
    // A stop that was requested before ends the wait at once.
    CHECK(flights.run(1, {.stop = stop.get_token()}, [] { return 0; }).result.error() ==
          ErrorCode::cancelled);
    CHECK(flights.in_the_air() == 1);
    gate.open();
    for (const auto& outcome : staying.outcomes())
        CHECK(outcome.result.value() == 4);
    CHECK(leader.get().result.value() == 4);
    CHECK(flights.in_the_air() == 0);
}

TEST_CASE("S6 the same key from inside its own run is would_deadlock, also through another key's run") {
    SingleFlight<int, int> flights;
    const auto outcome = flights.run(1, [&] {
        const auto inner = flights.run(2, [&] {
            CHECK(flights.run(1, [] { return 0; }).result.error() == ErrorCode::would_deadlock);
            CHECK(flights.run(2, [] { return 0; }).result.error() == ErrorCode::would_deadlock);
            CHECK(flights.run(3, [] { return 3; }).result.value() == 3);
            return 2;
        });
        CHECK(inner.led);
        CHECK(flights.forget(1));
        CHECK(flights.run(1, [] { return 10; }).result.value() == 10);  // a run of its own
        return inner.result.value();
    });
    CHECK(outcome.result.value() == 2);
    CHECK(flights.in_the_air() == 0);
}

TEST_CASE("S7 keys of any hashable type, that share a bucket or a hash") {
    struct Key {
        int number;
        bool operator==(const Key&) const = default;
    };
    struct SameHash {
        std::size_t operator()(const Key& /*key*/) const {
            return 7;
        }
    };
    SingleFlight<Key, int, SameHash> flights({.buckets = 1});
    const auto nested = flights.run({1}, [&] {
        return *flights.run({2}, [&] { return *flights.run({3}, [] { return 3; }).result + 2; }).result + 1;
    });
    CHECK(nested.result.value() == 6);
}
