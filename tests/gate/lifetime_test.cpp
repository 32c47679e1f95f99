// Goal:   the end of a gate: who waits is told before it returns, what outlives it is harmless, memory is taken once (T5, T14,
//         case G05).
// Method: one thread, two where a callback runs meanwhile; a resource that counts. The address sanitizer looks on.
#include "gate/harness.hpp"

#include "support/counting_resource.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>

using namespace sluice;
using namespace std::chrono_literals;
using sluice::test::adds_up;
using sluice::test::CountingResource;
using sluice::test::GateDiary;
using sluice::test::Lines;

TEST_CASE("T14: shutdown drops the waiters, stops the timers, and refuses whoever comes later") {
    GateDiary world({.max_concurrent_turns = 1, .base_backoff = 1s});
    world.submit("a");
    world.submit("b");
    world.submit("c");
    world.gate.note_rate_limit();
    CHECK(world.clock.timers() == 2);
    world.gate.shutdown();
    CHECK(world.told() == Lines{"dropped b shut_down", "dropped c shut_down"});
    CHECK(world.clock.timers() == 0);
    CHECK(world.submit("d") == "refused shut_down");
    CHECK_FALSE(world.gate.try_admit());
    CHECK_FALSE(world.gate.reserve_session());
    world.gate.shutdown();
    world.end("a");
    const TurnGateSnapshot seen = world.gate.snapshot();
    CHECK(seen.shut_down == 2);
    CHECK(seen.rejected.shut_down == 1);
    CHECK(seen.in_flight == 0);
    CHECK(adds_up(seen));
    world.gate.note_rate_limit();
    CHECK(world.clock.timers() == 0);
}

TEST_CASE(
    "G05 T5 T14: waiters hear of the end before it returns; a ticket and a permit that live on are "
    "harmless") {
    ManualClock clock;
    CountingResource memory;
    std::optional<TurnTicket> ticket;
    std::optional<SessionPermit> permit;
    Lines told;
    {
        TurnGate gate({.max_concurrent_turns = 1, .clock = &clock, .memory = &memory});
        CHECK(memory.allocations() == 1);
        ticket = gate.try_admit();
        permit = gate.reserve_session().value();
        const Submitted waiting = gate.submit(
            {.on_dropped = [&](const Error& error) { told.emplace_back(to_string(error.value())); }});
        CHECK(std::holds_alternative<Queued>(waiting));
    }
    CHECK(told == Lines{"shut_down"});
    CHECK(clock.timers() == 0);
    CHECK(memory.blocks_in_use() == 1);  // the ticket's and the permit's
    CHECK(ticket->release());
    CHECK_FALSE(ticket->release());
    CHECK(memory.blocks_in_use() == 1);
    permit.reset();
    CHECK(memory.blocks_in_use() == 0);
    CHECK(memory.bytes_in_use() == 0);
}

TEST_CASE("T5: no allocation per ticket, per waiter or per callback once the gate is made") {
    CountingResource memory;
    GateDiary world({.max_concurrent_turns = 1, .memory = &memory});
    for (int round = 0; round < 100; ++round) {
        CHECK(world.submit("a") == "admitted");
        CHECK(world.submit("b") == "queued 1");
        world.end("a");
        world.end("b");
    }
    CHECK(memory.allocations() == 1);
}

TEST_CASE(
    "T14: a gate that is destroyed inside one of its callbacks tells the others first, and does not wait for "
    "itself") {
    ManualClock clock;
    CountingResource memory;
    auto gate = std::make_unique<TurnGate>(
        TurnGateConfig{.max_concurrent_turns = 1, .clock = &clock, .memory = &memory});
    Lines told;
    TurnTicket first = gate->try_admit();
    CHECK(std::holds_alternative<Queued>(gate->submit({.on_admitted = [&](TurnTicket) {
        told.emplace_back("admitted");
        gate.reset();
        told.emplace_back("gone");
    }})));
    CHECK(std::holds_alternative<Queued>(gate->submit({
        .on_dropped = [&](const Error& error) { told.emplace_back(to_string(error.value())); },
        .on_position_changed = [&](std::size_t) { told.emplace_back("moved"); },
    })));
    first.release();
    CHECK(told == Lines{"admitted", "shut_down", "gone"});
    CHECK(memory.blocks_in_use() == 0);
}

TEST_CASE("T14: the end waits for a callback that runs on another thread") {
    ManualClock clock;
    std::atomic<bool> inside{false};
    std::atomic<bool> ended{false};
    auto gate = std::make_unique<TurnGate>(TurnGateConfig{.max_concurrent_turns = 1, .clock = &clock});
    TurnTicket first = gate->try_admit();
    CHECK(std::holds_alternative<Queued>(gate->submit({.on_admitted = [&](TurnTicket) {
        inside = true;
        std::this_thread::sleep_for(30ms);
        ended = true;
    }})));
    std::jthread other([&] { first.release(); });
    while (!inside)
        std::this_thread::yield();
    gate.reset();
    CHECK(ended);
}

TEST_CASE(
    "Config: a value out of its range is refused, naming field, value and range; what is in force can be "
    "read") {
    const auto refused = TurnGate::create({.max_concurrent_turns = 0});
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == ErrorCode::invalid_argument);
    CHECK(refused.error().message() == "max_concurrent_turns is 0, but must be 1..65535");
    CHECK_THROWS_AS(TurnGate(TurnGateConfig{.max_queue_length = 40'000}), Exception);
    CHECK_FALSE(TurnGate::create({.base_backoff = 1500us}));
    CHECK_FALSE(TurnGate::create({.base_backoff = 2s, .max_backoff = 1s}));
    CHECK_FALSE(TurnGate::create({.backoff_jitter = 1.5}));
    CHECK_FALSE(TurnGate::create({.max_concurrent_turns = 2, .min_concurrent_turns = 3}));
    ManualClock clock;
    const TurnGate gate({.max_queue_wait = 2ms, .clock = &clock});
    CHECK(gate.config().sweep_interval == 1ms);
    CHECK(gate.config().max_concurrent_turns == 8);
    CHECK(gate.config().max_queued_per_session == EffectiveTurnConfig::no_limit);
    CHECK(gate.limit() == 8);
}

TEST_CASE("Config: no memory is an error, and nothing is left behind") {
    CountingResource memory;
    memory.fail_all(true);
    const auto refused = TurnGate::create({.memory = &memory});
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == ErrorCode::out_of_memory);
    CHECK(memory.blocks_in_use() == 0);
}

TEST_CASE("A gate may be moved; its tickets stay good") {
    GateDiary world({.max_concurrent_turns = 1});
    world.submit("a");
    TurnGate elsewhere = std::move(world.gate);
    CHECK_FALSE(elsewhere.try_admit());
    world.end("a");
    CHECK(elsewhere.try_admit());
    world.gate = std::move(elsewhere);  // the diary closes it
    CHECK(world.submit("a") == "admitted");
}
