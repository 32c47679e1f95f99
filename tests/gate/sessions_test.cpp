// Goal:   live sessions are bounded and start apart from each other (T11), and a turn that needs both a session and a ticket
//         leaves room for others when it gives up (case G01).
// Method: one thread and a clock that is moved by hand.
#include "gate/harness.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

using namespace sluice;
using namespace std::chrono_literals;
using sluice::test::GateDiary;
using sluice::test::Lines;

TEST_CASE("T1 T11: as many live sessions as may be, then a refusal in words; a permit gives itself back") {
    GateDiary world({.max_live_sessions = 2});
    auto one = world.gate.reserve_session();
    auto two = world.gate.reserve_session();
    REQUIRE(one);
    REQUIRE(two);
    const auto three = world.gate.reserve_session();
    REQUIRE_FALSE(three);
    CHECK(three.error() == ErrorCode::session_limit);
    CHECK(three.error().limit().name == "max_live_sessions");
    CHECK(world.gate.session_refused_reason() ==
          "the session limit of 2 is reached, so this one did not start");
    CHECK(world.gate.snapshot().live_sessions == 2);
    CHECK(world.gate.snapshot().sessions_refused == 1);
    CHECK(one->release());
    CHECK_FALSE(one->release());
    CHECK(world.gate.snapshot().live_sessions == 1);
    {
        const auto again = world.gate.reserve_session();
        CHECK(again);
    }
    CHECK(world.gate.snapshot().live_sessions == 1);
}

TEST_CASE("T11: starts are an interval apart, each counted from the start before it") {
    GateDiary world({.start_interval = 100ms});
    std::vector<SessionPermit> permits;
    const auto wait = [&] {
        permits.push_back(world.gate.reserve_session().value());
        return permits.back().start_after();
    };
    CHECK(wait() == 0ms);
    CHECK(wait() == 100ms);
    CHECK(wait() == 200ms);  // not 100: the one before starts at 100
    world.clock.advance(150ms);
    CHECK(wait() == 150ms);
    world.clock.advance(10s);
    CHECK(wait() == 0ms);
    CHECK(wait() == 100ms);
}

// The first waiter needs a session and a turn. It has its turn's place in the queue and no session; meanwhile it is at the head. When
// it gives up, the second is granted at that instant.
TEST_CASE(
    "G01: the first waiter lacks a session and gives up: the second is granted without any further release") {
    GateDiary world({.max_concurrent_turns = 1, .max_live_sessions = 1});
    const auto session = world.gate.reserve_session();
    world.submit("a");
    // The two permits of the first waiter: a turn, which it waits for, and a session, which it may not have.
    std::optional<TurnTicket> turn_of_first;
    Submitted first = world.gate.submit({.session = "first", .on_admitted = [&](TurnTicket ticket) {
                                             turn_of_first = std::move(ticket);
                                             if (!world.gate.reserve_session())
                                                 return;  // holds its turn and waits for a session
                                             world.note("first has both");
                                         }});
    REQUIRE(std::get<Queued>(first).position == 1);
    CHECK(world.submit("second") == "queued 2");
    world.end("a");
    CHECK(world.told() == Lines{"position second 1"});
    CHECK(turn_of_first);
    CHECK(world.gate.snapshot().waiting == 1);
    turn_of_first.reset();  // gives up
    CHECK(world.told() == Lines{"admitted second"});
}

TEST_CASE("G01: the first waiter cancels while room is free behind it: the position comes before the grant") {
    // Room that the head does not use: a backoff that is over, and a timer that has not told the gate yet.
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
    Lines told;
    TurnGate gate({.max_concurrent_turns = 1, .base_backoff = 10ms, .clock = &clock});
    gate.note_rate_limit();
    const auto first = gate.submit({.session = "first"});
    std::optional<TurnTicket> ticket;
    const auto second = gate.submit(
        {.session = "second",
         .on_admitted =
             [&](TurnTicket granted) {
                 told.push_back("admitted");
                 ticket = std::move(granted);
             },
         .on_position_changed =
             [&](std::size_t position) { told.push_back("position " + std::to_string(position)); }});
    REQUIRE(std::get<Queued>(second).position == 2);
    clock.moment = 10ms;
    CHECK(told.empty());
    CHECK(gate.leave(std::get<Queued>(first).place));
    CHECK(told == Lines{"position 1", "admitted"});
}
