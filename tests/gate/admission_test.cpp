// Goal:   who is let in, who waits, who is refused, and what giving a ticket back sets going (T1, T2, T4 to T6).
// Method: one thread, a gate of two or three, the diary of what was told.
#include "gate/harness.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace sluice;
using sluice::test::adds_up;
using sluice::test::GateDiary;
using sluice::test::Lines;

TEST_CASE("T1 T2: tickets while there is room, then places in the queue, then refusals that name the bound") {
    GateDiary world({.max_concurrent_turns = 2, .max_queue_length = 2});
    CHECK(world.submit("a") == "admitted");
    CHECK(world.submit("b") == "admitted");
    CHECK(world.submit("c") == "queued 1");
    CHECK(world.submit("d") == "queued 2");
    Submitted refused = world.gate.submit({.session = "e"});
    REQUIRE(std::holds_alternative<Error>(refused));
    const Error& error = std::get<Error>(refused);
    CHECK(error == ErrorCode::queue_full);
    CHECK(error.limit().name == "max_queue_length");
    CHECK(error.limit().value == 2);
    CHECK(error.message() ==
          "the queue of waiting turns is full, so this one was not accepted (max_queue_length is 2, count is "
          "2)");
    const TurnGateSnapshot seen = world.gate.snapshot();
    CHECK(seen.in_flight == 2);
    CHECK(seen.waiting == 2);
    CHECK(seen.queued == 2);
    CHECK(seen.rejected.queue_full == 1);
    CHECK(adds_up(seen));
}

TEST_CASE("T2: try_admit takes what is free and never queues") {
    GateDiary world({.max_concurrent_turns = 1});
    TurnTicket first = world.gate.try_admit();
    CHECK(first);
    CHECK_FALSE(world.gate.try_admit());
    CHECK(world.gate.snapshot().waiting == 0);
    CHECK(first.release());
    CHECK(world.gate.try_admit());
}

TEST_CASE("T1: a gate without a queue refuses at once, and takes whoever comes when there is room") {
    GateDiary world({.max_concurrent_turns = 1, .max_queue_length = 0});
    CHECK(world.submit("a") == "admitted");
    CHECK(world.submit("b") == "refused queue_full");
    world.end("a");
    CHECK(world.submit("c") == "admitted");
}

TEST_CASE("T4 T6: waiters are admitted in order, and nobody overtakes them") {
    GateDiary world({.max_concurrent_turns = 1});
    CHECK(world.submit("a") == "admitted");
    CHECK(world.submit("b") == "queued 1");
    CHECK(world.submit("c") == "queued 2");
    CHECK_FALSE(world.gate.try_admit());
    world.end("a");
    CHECK(world.told() == Lines{"admitted b", "position c 1"});
    CHECK_FALSE(world.gate.try_admit());  // c waits
    CHECK(world.submit("d") == "queued 2");
    world.end("b");
    CHECK(world.told() == Lines{"admitted c", "position d 1"});
    world.end("c");
    world.end("d");
    CHECK(world.told() == Lines{"admitted d"});
    CHECK(world.gate.snapshot().in_flight == 0);
}

TEST_CASE("T5: a ticket is released once; moved, overwritten and destroyed ones give their place back once") {
    GateDiary world({.max_concurrent_turns = 2});
    TurnTicket ticket = world.gate.try_admit();
    CHECK(ticket.release());
    CHECK_FALSE(ticket.release());
    CHECK_FALSE(ticket);
    CHECK(world.gate.snapshot().released == 1);
    {
        TurnTicket one = world.gate.try_admit();
        TurnTicket two = std::move(one);
        CHECK_FALSE(one);  // NOLINT(bugprone-use-after-move): that is what is tested
        CHECK(two);
        CHECK_FALSE(one.release());
        two = world.gate.try_admit();
        CHECK(world.gate.snapshot().in_flight == 1);
    }
    CHECK(world.gate.snapshot().in_flight == 0);
    CHECK(world.gate.snapshot().admitted == 3);
}

TEST_CASE("T6: a callback may call the gate, and what it causes is told after it, not inside it") {
    GateDiary world({.max_concurrent_turns = 1});
    CHECK(world.submit("a") == "admitted");
    int depth = 0;
    int deepest = 0;
    for (int i = 0; i < 100; ++i)
        CHECK(std::holds_alternative<Queued>(world.gate.submit({.on_admitted = [&](TurnTicket ticket) {
            deepest = std::max(deepest, ++depth);
            ticket.release();  // admits the next one
            CHECK(adds_up(world.gate.snapshot()));
            --depth;
        }})));
    world.end("a");
    CHECK(deepest == 1);
    CHECK(world.gate.snapshot().admitted == 101);
    CHECK(world.gate.snapshot().in_flight == 0);
}

TEST_CASE("T6: a callback may submit again, and finds room where it left some") {
    GateDiary world({.max_concurrent_turns = 1, .max_queue_length = 1});
    CHECK(world.submit("a") == "admitted");
    std::string second;
    CHECK(std::holds_alternative<Queued>(world.gate.submit({.on_admitted = [&](TurnTicket) {
        second = world.submit("c");  // the queue is empty again
    }})));
    world.end("a");
    CHECK(second == "queued 1");
    CHECK(world.told() == Lines{"admitted c"});
}

TEST_CASE("T6: a callback that throws harms nobody, and its ticket is released") {
    GateDiary world({.max_concurrent_turns = 1});
    CHECK(world.submit("a") == "admitted");
    CHECK(std::holds_alternative<Queued>(
        world.gate.submit({.on_admitted = [](TurnTicket) { throw std::runtime_error("no"); }})));
    CHECK(std::holds_alternative<Queued>(
        world.gate.submit({.on_position_changed = [](std::size_t) { throw std::runtime_error("no"); }})));
    CHECK(world.submit("d") == "queued 3");
    world.end("a");
    // Whoever throws has his ticket released, whoever has no callback too; so d has moved up before anybody could tell it.
    CHECK(world.told() == Lines{"position d 1", "admitted d"});
    CHECK(world.gate.snapshot().callbacks_threw == 2);
    CHECK(world.gate.snapshot().in_flight == 1);
}

TEST_CASE("T2: a session's name that is too long is refused, and said to be") {
    GateDiary world({});
    const std::string name(121, 'x');
    CHECK(world.submit("a", name) == "refused invalid_argument");
    CHECK(world.submit("b", name.substr(1)) == "admitted");
    CHECK(world.gate.snapshot().rejected.invalid == 1);
}

TEST_CASE("T18: counts stay exact over many turns, whoever counts them") {
    GateDiary world({.max_concurrent_turns = 3, .max_queue_length = 8});
    std::uint64_t admitted = 0;
    for (int round = 0; round < 1'000; ++round) {
        const TurnTicket one = world.gate.try_admit();
        ++admitted;
        REQUIRE(one);
        const TurnGateSnapshot seen = world.gate.snapshot();
        REQUIRE(seen.admitted == admitted);
        REQUIRE(seen.in_flight == 1);
        REQUIRE(seen.released == admitted - 1);
    }
    const TurnTicket a = world.gate.try_admit();
    const TurnTicket b = world.gate.try_admit();
    const TurnTicket c = world.gate.try_admit();
    for (std::uint64_t queued = 1; queued <= 1'000; ++queued) {
        REQUIRE(world.submit("w") == "queued 1");
        REQUIRE(world.gate.snapshot().queued == queued);
        REQUIRE(world.gate.cancel_session("w") == 1);
        REQUIRE(world.gate.snapshot().cancelled == queued);
        REQUIRE(adds_up(world.gate.snapshot()));
    }
}
