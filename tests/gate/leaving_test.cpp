// Goal:   leaving the queue in every way, and what the others are told (T7, T8, T9, T20, T21, cases G01 and G06).
// Method: one thread and a clock that is moved by hand; the diary shows what was told, in order.
#include "gate/harness.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace std::chrono_literals;
using sluice::test::adds_up;
using sluice::test::GateDiary;
using sluice::test::Lines;

TEST_CASE("T7 T8: cancel_session drops a session's waiters and tells the others their new places") {
    GateDiary world({.max_concurrent_turns = 1});
    world.submit("a");
    world.submit("b", "s");
    world.submit("c");
    world.submit("d", "s");
    world.submit("e");
    CHECK(world.gate.cancel_session("nobody") == 0);
    CHECK(world.told().empty());
    CHECK(world.gate.cancel_session("s") == 2);
    const Lines told = world.told();
    CHECK(told == Lines{"dropped b cancelled", "dropped d cancelled", "position c 1", "position e 2"});
    CHECK(world.gate.cancel_session("s") == 0);
    CHECK(adds_up(world.gate.snapshot()));
}

TEST_CASE("T7: who has not moved is told nothing") {
    GateDiary world({.max_concurrent_turns = 1});
    world.submit("a");
    world.submit("b");
    world.submit("c");
    world.submit("d");
    CHECK(world.gate.leave(world.places["d"]));
    CHECK(world.told() == Lines{"dropped d cancelled"});
    CHECK_FALSE(world.gate.leave(world.places["d"]));
    CHECK(world.gate.leave(world.places["c"]));
    CHECK(world.told() == Lines{"dropped c cancelled"});
}

TEST_CASE("T9: whoever has waited long enough expires, the newest is told first") {
    GateDiary world({.max_concurrent_turns = 1, .max_queue_wait = 100ms});
    world.submit("a");
    world.submit("x");  // sweeps begin: every 25 ms from here
    for (const char* name : {"b", "c", "d"}) {
        world.clock.advance(1ms);
        world.submit(name);
    }
    CHECK(world.gate.leave(world.places["x"]));
    world.clock.advance(97ms);  // b has waited for 99 ms
    CHECK(world.gate.expire_stale() == 0);
    static_cast<void>(world.told());
    world.clock.advance(2ms);  // b for 101 ms, c for exactly 100, d for 99
    CHECK(world.told().empty());
    CHECK(world.gate.expire_stale() == 2);
    CHECK(world.told() ==
          Lines{"expired c deadline_exceeded", "expired b deadline_exceeded", "position d 1"});
    CHECK(world.gate.snapshot().expired == 2);
    CHECK(adds_up(world.gate.snapshot()));
}

TEST_CASE("T9: many expire at once, newest first, whatever places they were given") {
    GateDiary world({.max_concurrent_turns = 1, .max_queue_length = 100, .max_queue_wait = 100ms});
    world.submit("a");
    for (int i = 0; i < 100; ++i)
        world.submit(std::to_string(i));
    for (int i = 0; i < 100; i += 3)
        CHECK(world.gate.leave(world.places[std::to_string(i)]));
    for (int i = 100; i < 130; ++i)
        world.submit(std::to_string(i));
    static_cast<void>(world.told());
    world.clock.advance(100ms);  // the sweep is due as well
    Lines expected;
    for (int i = 129; i >= 0; --i)
        if (i >= 100 || i % 3 != 0)
            expected.push_back("expired " + std::to_string(i) + " deadline_exceeded");
    CHECK(world.told() == expected);
}

TEST_CASE("T9: the sweep runs every quarter of the wait while somebody waits, and not otherwise") {
    GateDiary world({.max_concurrent_turns = 1, .max_queue_wait = 100ms});
    CHECK(world.clock.timers() == 0);
    world.submit("a");
    CHECK(world.clock.timers() == 0);
    world.submit("b");
    CHECK(world.clock.timers() == 1);
    CHECK(world.clock.next_due() == 25ms);
    CHECK(world.clock.advance(99ms) == 3);
    CHECK(world.told().empty());
    CHECK(world.clock.advance(1ms) == 1);
    CHECK(world.told() == Lines{"expired b deadline_exceeded"});
    CHECK(world.clock.timers() == 0);
    GateDiary short_one({.max_concurrent_turns = 1, .max_queue_wait = 2ms});
    short_one.submit("a");
    short_one.submit("b");
    CHECK(short_one.clock.next_due() == 1ms);  // never more often
}

TEST_CASE("T9: a queue that was emptied has at most one more sweep") {
    GateDiary world({.max_concurrent_turns = 1, .max_queue_wait = 100ms});
    world.submit("a");
    world.submit("b");
    CHECK(world.gate.leave(world.places["b"]));
    CHECK(world.clock.advance(1h) == 1);
    CHECK(world.clock.timers() == 0);
}

TEST_CASE("T20: a head that leaves makes way at once, without any release") {
    // The only way to have room behind a waiting head is a head that cannot be admitted; here: a pause that ends while the gate's
    // timer has not run yet. What matters is that nobody releases anything.
    GateDiary world({.max_concurrent_turns = 2, .base_backoff = 10ms});
    world.submit("a");
    world.gate.note_rate_limit();
    world.submit("b");
    world.submit("c");
    CHECK(world.gate.leave(world.places["b"]));
    CHECK(world.told() == Lines{"dropped b cancelled", "position c 1"});
    world.clock.advance(10ms);
    CHECK(world.told() == Lines{"admitted c"});
}

TEST_CASE("G06 T21: a deadline and a release on one tick, the deadline first: the permit is the next one's") {
    GateDiary world({.max_concurrent_turns = 1, .max_queue_wait = 100ms});
    world.submit("a");
    world.submit("b");
    world.clock.advance(80ms);
    world.submit("c");
    static_cast<void>(world.told());
    // Set later than the sweep of the same moment, so it comes after it.
    static_cast<void>(world.clock.set_timer(20ms, [&] { world.end("a"); }));
    world.clock.advance(20ms);
    CHECK(world.told() == Lines{"expired b deadline_exceeded", "position c 1", "admitted c"});
    CHECK(world.gate.snapshot().in_flight == 1);
    CHECK(adds_up(world.gate.snapshot()));
}

TEST_CASE(
    "G06 T21: a release and a deadline on one tick, the release first: granted, and nothing expires but who "
    "waits") {
    GateDiary world({.max_concurrent_turns = 1, .max_queue_wait = 100ms});
    // Set before any sweep, so of the same moment it comes first.
    static_cast<void>(world.clock.set_timer(100ms, [&] { world.end("a"); }));
    world.submit("a");
    world.submit("b");
    world.submit("c");
    world.clock.advance(100ms);
    CHECK(world.told() == Lines{"admitted b", "position c 1", "expired c deadline_exceeded"});
    CHECK(world.gate.snapshot().expired == 1);
    CHECK(world.gate.snapshot().admitted_from_queue == 1);
    CHECK(adds_up(world.gate.snapshot()));
}

TEST_CASE(
    "T21: the head expires inside the release that would have admitted it: the next one gets the ticket") {
    GateDiary world({.max_concurrent_turns = 1, .max_queue_wait = 100ms});
    world.submit("a");
    world.submit("b");
    world.clock.advance(10ms);
    world.submit("c");
    // No sweep in between: both happen in one step of the program.
    world.gate.leave(world.places["b"]);
    world.end("a");
    CHECK(world.told() == Lines{"dropped b cancelled", "position c 1", "admitted c"});
}
