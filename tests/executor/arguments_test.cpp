// Goal: whatever a caller hands in, the executor answers as its contract says: durations of any size and sign (E19),
// exceptions of any kind (E16, E18).
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

TEST_CASE("E19 a patience of any size and sign: none, not a number and negative only look; endless ones are a wait") {
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
    CHECK(JobHandle::nanoseconds(std::chrono::duration<std::uint64_t>(~std::uint64_t{0})) == JobHandle::forever);
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
        CHECK(job.wait_for(seconds(std::numeric_limits<double>::quiet_NaN())).error() == ErrorCode::timed_out);
        CHECK(job.wait_for(0ns).error() == ErrorCode::timed_out);
        CHECK(steady_clock::now() - before < patience);
        gate.open();
        CHECK(job.wait_for(seconds(std::numeric_limits<double>::infinity())));
    });
}

TEST_CASE("E16 E18 an exception that says nothing, or that nobody can catch as one, fails its job and no more") {
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
