// Goal:   the adaptive limit at work (T17): it follows what the provider says, never lets more in than it says, and raising it admits
//         whoever waits.
// Method: turns whose time is moved by hand; then threads, with an independent count.
#include "gate/harness.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>

using namespace sluice;
using namespace std::chrono_literals;
using sluice::test::adds_up;
using sluice::test::GateDiary;
using sluice::test::Lines;

TEST_CASE(
    "T17: a rate limit lowers the limit by a tenth; turns that go well raise it, which admits who waits") {
    GateDiary world({.max_concurrent_turns = 20,
                     .base_backoff = 10ms,
                     .limit = LimitPolicy::aimd,
                     .initial_concurrent_turns = 10,
                     .limit_window = 2});
    CHECK(world.gate.limit() == 10);
    world.gate.note_rate_limit();
    CHECK(world.gate.limit() == 9);
    world.clock.advance(10ms);
    for (int i = 0; i < 9; ++i)
        CHECK(world.submit(std::to_string(i)) == "admitted");
    CHECK(world.submit("x") == "queued 1");
    CHECK(world.submit("y") == "queued 2");
    CHECK(world.submit("z") == "queued 3");
    world.clock.advance(5ms);
    world.end("0");
    CHECK(world.told() == Lines{"admitted x", "position y 1", "position z 2"});
    world.end("1");  // the window with the rate limit ends: no raise
    CHECK(world.gate.limit() == 9);
    world.end("2");
    static_cast<void>(world.told());
    CHECK(world.submit("u") == "queued 1");
    CHECK(world.submit("v") == "queued 2");
    world.end("3");  // a good window: ten, and a place of its own for v
    CHECK(world.gate.limit() == 10);
    CHECK(world.told() == Lines{"admitted u", "position v 1", "admitted v"});
    CHECK(world.gate.snapshot().in_flight == 10);
}

TEST_CASE("T17: an abandoned turn teaches nothing, and a fixed limit learns nothing") {
    GateDiary adaptive({.max_concurrent_turns = 4,
                        .limit = LimitPolicy::aimd,
                        .initial_concurrent_turns = 1,
                        .limit_window = 1});
    for (int i = 0; i < 3; ++i) {
        TurnTicket ticket = adaptive.gate.try_admit();
        CHECK(ticket.abandon());
        CHECK_FALSE(ticket.abandon());
    }
    CHECK(adaptive.gate.limit() == 1);
    { const TurnTicket ticket = adaptive.gate.try_admit(); }
    CHECK(adaptive.gate.limit() == 2);
    GateDiary fixed({.max_concurrent_turns = 4, .initial_concurrent_turns = 1});
    fixed.gate.note_rate_limit();
    CHECK(fixed.gate.limit() == 4);
}

TEST_CASE("T3 T17 stress: while the limit moves, never more in flight than its ceiling, and all come out") {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 6,
                   .max_queue_length = 32,
                   .base_backoff = 1ms,
                   .max_backoff = 1ms,
                   .limit = LimitPolicy::aimd,
                   .limit_window = 3,
                   .clock = &clock});
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> bad{0};
    std::atomic<bool> over{false};
    const std::uint64_t rounds = test::under_sanitizer ? 1'000 : 10'000;
    const auto turn = [&](TurnTicket ticket) {
        const int now = running.fetch_add(1) + 1;
        int seen = most.load();
        while (seen < now && !most.compare_exchange_weak(seen, now)) {}
        running.fetch_sub(1);
        ended.fetch_add(1);
        ticket.release();
    };
    std::jthread mover([&] {
        while (!over) {
            clock.advance(100us);
            bad.fetch_add(adds_up(gate.snapshot()) ? 0U : 1U);
            std::this_thread::yield();
        }
    });
    test::run_together(6, [&](unsigned me) {
        test::Random random(me);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (random.one_in(200))
                gate.note_rate_limit();
            Submitted submitted = gate.submit({.on_admitted = turn});
            if (auto* ticket = std::get_if<TurnTicket>(&submitted))
                turn(std::move(*ticket));
        }
    });
    over = true;
    mover.join();
    clock.advance(1s);
    CHECK(most <= 6);
    CHECK(bad == 0);
    const TurnGateSnapshot seen = gate.snapshot();
    CHECK(seen.waiting == 0);
    CHECK(seen.in_flight == 0);
    CHECK(seen.admitted == ended);
    CHECK(gate.limit() >= 1);
    CHECK(gate.limit() <= 6);
}
