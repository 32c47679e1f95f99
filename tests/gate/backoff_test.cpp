// Goal:   a provider that pushes back stops everybody, for the right time, and the queue goes on by itself (T10).
// Method: one thread and a clock that is moved by hand.
#include "gate/harness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace sluice;
using namespace std::chrono_literals;
using sluice::test::GateDiary;
using sluice::test::Lines;

TEST_CASE("T10: a rate limit stops admission for the backoff, and the queue goes on by itself") {
    GateDiary world({.max_concurrent_turns = 2, .base_backoff = 100ms});
    CHECK_FALSE(world.gate.paused_because());
    world.gate.note_rate_limit();
    CHECK(world.gate.paused_because() == "provider backoff");
    CHECK(world.gate.backoff_remaining() == 100ms);
    CHECK_FALSE(world.gate.try_admit());
    CHECK(world.submit("a") == "queued 1");
    CHECK(world.submit("b") == "queued 2");
    world.clock.advance(99ms);
    CHECK(world.gate.backoff_remaining() == 1ms);
    CHECK(world.told().empty());
    world.clock.advance(1ms);
    CHECK(world.told() == Lines{"admitted a", "admitted b"});
    CHECK_FALSE(world.gate.paused_because());
    CHECK(world.gate.backoff_remaining() == 0ms);
    CHECK(world.gate.snapshot().rate_limits == 1);
}

TEST_CASE("T10: noted again during a backoff it doubles up to the maximum, and starts anew from now") {
    GateDiary world({.base_backoff = 100ms, .max_backoff = 350ms});
    world.gate.note_rate_limit();
    world.clock.advance(40ms);
    world.gate.note_rate_limit();
    CHECK(world.gate.backoff_remaining() == 200ms);
    world.clock.advance(40ms);
    world.gate.note_rate_limit();
    CHECK(world.gate.backoff_remaining() == 350ms);
    world.clock.advance(349ms);
    CHECK_FALSE(world.gate.try_admit());
    world.clock.advance(1ms);
    CHECK(world.gate.try_admit());
}

TEST_CASE(
    "T10: after a backoff the next one begins with the length that was reached, and success halves it") {
    GateDiary world({.base_backoff = 100ms, .max_backoff = 10s});
    world.gate.note_rate_limit();
    world.gate.note_rate_limit();
    world.gate.note_rate_limit();
    CHECK(world.gate.backoff_remaining() == 400ms);
    world.gate.note_success();  // during a backoff: no
    world.clock.advance(400ms);
    world.gate.note_rate_limit();
    CHECK(world.gate.backoff_remaining() == 400ms);  // not noted *during* a backoff: it does not double
    world.clock.advance(400ms);
    world.gate.note_success();
    world.gate.note_rate_limit();
    CHECK(world.gate.backoff_remaining() == 200ms);
    world.clock.advance(200ms);
    for (int i = 0; i < 10; ++i)
        world.gate.note_success();
    world.gate.note_rate_limit();
    CHECK(world.gate.backoff_remaining() == 100ms);  // not below the base
}

TEST_CASE("T10: a provider's own figure counts if it is longer, and is not cut short by a later note") {
    GateDiary world({.base_backoff = 100ms});
    world.gate.note_rate_limit(50ms);
    CHECK(world.gate.backoff_remaining() == 100ms);
    world.gate.note_rate_limit(30s);
    CHECK(world.gate.backoff_remaining() == 30s);
    world.clock.advance(1s);
    world.gate.note_rate_limit();
    CHECK(world.gate.backoff_remaining() == 29s);
    world.clock.advance(29s);
    CHECK(world.gate.try_admit());
}

TEST_CASE("T10: jitter lengthens, at most by its share, and the same seed gives the same pauses") {
    const auto pauses = [](std::uint64_t seed) {
        GateDiary world({.base_backoff = 100ms, .backoff_jitter = 0.5, .jitter_seed = seed});
        std::vector<std::chrono::nanoseconds> seen;
        for (int i = 0; i < 50; ++i) {
            world.gate.note_rate_limit();
            seen.push_back(world.gate.backoff_remaining());
            CHECK(seen.back() >= 100ms);
            CHECK(seen.back() <= 150ms);
            world.clock.advance(1s);
        }
        return seen;
    };
    const auto once = pauses(7);
    CHECK(once == pauses(7));
    CHECK(once != pauses(8));
    CHECK(std::ranges::max(once) - std::ranges::min(once) > 20ms);
}

TEST_CASE("T10: whoever comes after the end of a backoff gets in, also if the timer has not run yet") {
    // A clock whose timers never run.
    struct NoTimers final : Clock {
        std::chrono::nanoseconds moment{0};
        std::chrono::nanoseconds now() noexcept override {
            return moment;
        }
        TimerId set_timer(std::chrono::nanoseconds, TimerCall) noexcept override {
            return TimerId::none;
        }
        bool clear_timer(TimerId) noexcept override {
            return false;
        }
    } clock;
    TurnGate gate({.base_backoff = 100ms, .clock = &clock});
    gate.note_rate_limit();
    clock.moment = 99ms;
    CHECK_FALSE(gate.try_admit());
    clock.moment = 100ms;
    CHECK(gate.try_admit());
}

TEST_CASE("T10: a backoff keeps what runs, and what ends during it admits nobody") {
    GateDiary world({.max_concurrent_turns = 1, .base_backoff = 100ms});
    world.submit("a");
    world.submit("b");
    world.gate.note_rate_limit();
    world.end("a");
    CHECK(world.told().empty());
    CHECK(world.gate.snapshot().in_flight == 0);
    world.clock.advance(100ms);
    CHECK(world.told() == Lines{"admitted b"});
    CHECK(world.clock.advance(1h) <= 1);  // at most the sweep that was under way
    CHECK(world.clock.timers() == 0);
}
