// Goal: whatever a caller hands in, the executor answers as its contract says: durations of any size and sign (E19),
// exceptions of any kind (E16, E18), enumerators and numbers that are none (E2, E34).
// Method: the values at the ends of each type, and the ones that are none.
#include <limits>
#include <ratio>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// An exception that is the user's own in every way that the language allows.
struct Silent : std::exception {
    [[nodiscard]] const char* what() const noexcept override {
        return nullptr;
    }
};
struct Left : std::exception {};
struct Right : std::exception {};
struct Ambiguous : Left, Right {};  // is no std::exception that anybody could catch as one

}  // namespace

TEST_CASE(
    "E19 a patience of any size and sign: none, not a number and negative only look; endless ones are a "
    "wait") {
    using detail::JobHandle;
    using seconds = std::chrono::duration<double>;
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(JobHandle::nanoseconds(0s) == 0);
    CHECK(JobHandle::nanoseconds(-1ns) == 0);
    CHECK(JobHandle::nanoseconds(std::chrono::seconds(-10'000'000'000)) == 0);
    CHECK(JobHandle::nanoseconds(std::chrono::hours(std::numeric_limits<std::int32_t>::min())) == 0);
    CHECK(JobHandle::nanoseconds(std::chrono::nanoseconds(least)) == 0);
    CHECK(JobHandle::nanoseconds(std::chrono::duration<std::int64_t, std::ratio<86'400>>(least)) == 0);
    CHECK(JobHandle::nanoseconds(seconds(std::numeric_limits<double>::quiet_NaN())) == 0);
    CHECK(JobHandle::nanoseconds(seconds(-std::numeric_limits<double>::infinity())) == 0);
    CHECK(JobHandle::nanoseconds(seconds(std::numeric_limits<double>::infinity())) == JobHandle::forever);
    CHECK(JobHandle::nanoseconds(seconds(std::numeric_limits<double>::max())) == JobHandle::forever);
    CHECK(JobHandle::nanoseconds(std::chrono::nanoseconds(most)) == JobHandle::forever);
    CHECK(JobHandle::nanoseconds(std::chrono::seconds(most)) == JobHandle::forever);
    CHECK(JobHandle::nanoseconds(std::chrono::duration<std::uint64_t>(~std::uint64_t{0})) ==
          JobHandle::forever);
    // Rounded up, and whole ones exact.
    CHECK(JobHandle::nanoseconds(1ns) == 1);
    CHECK(JobHandle::nanoseconds(seconds(1e-12)) == 1);
    CHECK(JobHandle::nanoseconds(std::chrono::duration<std::int64_t, std::pico>(1'001)) == 2);
    CHECK(JobHandle::nanoseconds(std::chrono::hours(24)) == 86'400'000'000'000);
    // A ratio whose conversion to nanoseconds would overflow on the way, though its result fits.
    using samples = std::chrono::duration<std::int64_t, std::ratio<1, 44'100>>;
    CHECK(JobHandle::nanoseconds(samples(44'100LL * 3600 * 24 * 365 * 99)) > 3'000'000'000'000'000'000);

    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        Gate gate;
        auto job = executor.add_actor("a", 0).read([gate](const int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        const auto before = steady_clock::now();
        CHECK(job.wait_for(std::chrono::seconds(-10'000'000'000)).error() == ErrorCode::timed_out);
        CHECK(job.wait_for(seconds(std::numeric_limits<double>::quiet_NaN())).error() ==
              ErrorCode::timed_out);
        CHECK(job.wait_for(0ns).error() == ErrorCode::timed_out);
        CHECK(steady_clock::now() - before < patience);
        gate.open();
        CHECK(job.wait_for(seconds(std::numeric_limits<double>::infinity())));
    });
}

TEST_CASE(
    "E16 E18 an exception that says nothing, or that nobody can catch as one, fails its job and no more") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const auto silent = result_of(actor.read([](const int&) { throw Silent(); }));
        REQUIRE_FALSE(silent);
        CHECK(silent.error() == ErrorCode::job_threw);
        CHECK(silent.error().message() == "actor 'a': the job threw: an exception that says nothing");
        CHECK(silent.error().exception());
        const auto ambiguous = result_of(actor.read([](const int&) { throw Ambiguous(); }));
        CHECK(ambiguous.error() == ErrorCode::job_threw);
        const auto number = result_of(actor.read([](const int&) { throw 7; }));
        CHECK(number.error().message().ends_with("something that is no std::exception"));
        // As the first cause of a fatal actor, where a submission tells of it.
        CHECK(code_of(actor.mutate([](int&) { throw Silent(); })) == ErrorCode::job_threw);
        const auto refused = result_of(actor.mutate([](int&) {}));
        CHECK(refused.error() == ErrorCode::actor_fatal);
        CHECK(refused.error().message().ends_with("an exception that says nothing"));
    });
}

TEST_CASE(
    "E2 E34 what is no class, lane or mode is refused, naming field, value and range, and changes nothing") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 1);
        const auto read = [](const int& n) { return n; };
        for (const int value : {2, 3, 8, 200, 255}) {
            INFO("class " << value);
            const auto refused = result_of(actor.read({.job_class = static_cast<JobClass>(value)}, read));
            REQUIRE_FALSE(refused);
            CHECK(refused.error() == ErrorCode::invalid_argument);
            CHECK(refused.error().limit().name == "job_class");
            CHECK(refused.error().limit().count == static_cast<std::uint64_t>(value));
            CHECK(refused.error().message() == "actor 'a': an argument is outside its range: job_class is " +
                                                   std::to_string(value) +
                                                   ", but must be interactive or maintenance");
        }
        const std::uint64_t refused_so_far = executor.snapshot().refused.other;
        CHECK(refused_so_far == 5);
        for (const int value : {4, 9, 255}) {
            INFO("lane " << value);
            for (const auto& refused :
                 {result_of(executor.submit<int>("a", static_cast<Lane>(value), {}, read)),
                  result_of(
                      executor.submit<int>("a", static_cast<Lane>(value), {}, [](int& n) { return ++n; })),
                  result_of(executor.submit<int>("nobody", static_cast<Lane>(value), {}, read))}) {
                REQUIRE_FALSE(refused);
                CHECK(refused.error() == ErrorCode::invalid_argument);
                CHECK(refused.error().message().ends_with(
                    "lane is " + std::to_string(value) +
                    ", but must be pure_read, serial_status, heavy_init or mutating"));
            }
        }
        CHECK(executor.snapshot().refused.other == refused_so_far + 9);
        CHECK(executor.snapshot().jobs.accepted == 0);
        for (const int value : {2, 7, 255}) {
            const auto refused = executor.shutdown(static_cast<Shutdown>(value));
            REQUIRE_FALSE(refused);
            CHECK(refused.error() == ErrorCode::invalid_argument);
            CHECK(refused.error().message().ends_with("mode is " + std::to_string(value) +
                                                      ", but must be drain or cancel"));
        }
        CHECK(value_of(actor.read(read)) == 1);  // nothing was shut down
        CHECK(executor.shutdown(Shutdown::drain));
        CHECK(executor.wait_shut_down_for(patience));
    });
    CHECK(to_string(static_cast<JobClass>(200)) == "unknown class");
    CHECK(to_string(static_cast<Lane>(9)) == "unknown lane");
    CHECK(to_string(static_cast<MutationState>(9)) == "unknown state");
    CHECK(to_string(static_cast<ErrorCode>(200)) == "none");
    CHECK(to_string(static_cast<SchedulerPolicy>(9)) == "unknown policy");
    CHECK(to_string(static_cast<SpinPolicy>(9)) == "unknown policy");
}

TEST_CASE(
    "E12 E34 a cost or a weight outside its range is refused by a sentence that says which, and what would "
    "do") {
    Executor executor;
    auto actor = executor.add_actor("a", 0);
    for (const std::uint32_t cost : {0U, 65'537U, ~0U}) {
        const auto refused = result_of(actor.read({.cost = cost}, [](const int&) {}));
        REQUIRE_FALSE(refused);
        CHECK(refused.error().message() == "actor 'a': an argument is outside its range: cost is " +
                                               std::to_string(cost) + ", but must be 1..65536");
    }
    CHECK(code_of(actor.read({.cost = 65'536}, [](const int&) {})) == no_error);
    for (const std::uint32_t weight : {0U, 1'001U, ~0U}) {
        try {
            static_cast<void>(executor.add_actor("b", 0, {.weight = weight}));
            FAIL("accepted");
        } catch (const Exception& refused) {
            CHECK(std::string_view(refused.what()) ==
                  "actor 'b': an argument is outside its range: weight is " + std::to_string(weight) +
                      ", but must be 1..1000");
        }
    }
}

TEST_CASE("E22 E34 a wait for the end that was in vain says whether time ran out or it could never end") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        Gate gate;
        auto job = executor.add_actor("a", 0).read([gate](const int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        const auto early = executor.wait_shut_down();
        CHECK(early.error() == ErrorCode::would_deadlock);
        CHECK(early.error().message().find("needs shutdown() first") != std::string_view::npos);
        CHECK(executor.shutdown(Shutdown::drain));
        const auto in_vain = executor.wait_shut_down_for(1ms);
        CHECK(in_vain.error() == ErrorCode::timed_out);
        CHECK(in_vain.error().message().find("had not ended in time") != std::string_view::npos);
        gate.open();
        CHECK(executor.wait_shut_down_for(patience));
        CHECK(code_of(job) == no_error);
    });
}
