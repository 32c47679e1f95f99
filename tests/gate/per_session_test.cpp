// Goal:   fairness between sessions (T16): they take turns, and none queues more than its share, exactly, by any number of threads.
// Method: by hand on one thread; then threads of one session that submit and leave, with an independent count of who waits.
#include "gate/harness.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using sluice::test::adds_up;
using sluice::test::GateDiary;
using sluice::test::Lines;

TEST_CASE("T16: a session queues as many turns as it may, and the refusal names the bound") {
    GateDiary world({.max_concurrent_turns = 1, .max_queued_per_session = 2});
    world.submit("x");
    CHECK(world.submit("a1", "a") == "queued 1");
    CHECK(world.submit("a2", "a") == "queued 2");
    const Submitted refused = world.gate.submit({.session = "a"});
    REQUIRE(std::holds_alternative<Error>(refused));
    CHECK(std::get<Error>(refused).limit().name == "max_queued_per_session");
    CHECK(std::get<Error>(refused).limit().count == 2);
    CHECK(world.submit("b1", "b") == "queued 3");
    CHECK(world.gate.leave(world.places["a1"]));
    CHECK(world.submit("a3", "a") == "queued 3");
    world.end("x");  // a2 begins: it waits no more
    CHECK(world.submit("a4", "a") == "queued 3");
    CHECK(world.submit("a5", "a") == "refused queue_full");
    CHECK(world.gate.snapshot().rejected.session_queue_full == 2);
    CHECK(adds_up(world.gate.snapshot()));
}

TEST_CASE("T16: in round robin one session's flood delays another by one turn, not by the flood") {
    GateDiary world({.max_concurrent_turns = 1, .order = TurnOrder::round_robin});
    world.submit("x");
    for (int i = 0; i < 20; ++i)
        world.submit("flood" + std::to_string(i), "flood");
    CHECK(world.submit("small", "small") == "queued 2");
    world.end("x");
    world.end("flood0");
    CHECK(world.tickets.contains("small"));
}

TEST_CASE("T7 T16: a place that has changed and changed back before it could be told is no news") {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .order = TurnOrder::round_robin, .clock = &clock});
    TurnTicket held = gate.try_admit();
    std::atomic<bool> is_telling{false};
    std::atomic<bool> may_go_on{false};
    std::vector<std::size_t> told;
    const auto submit = [&](const char* session) {
        return std::get<Queued>(gate.submit({.session = session})).place;
    };
    const TurnPlace first = submit("a");
    submit("b");
    submit("a");
    const Submitted watched = gate.submit({.session = "b", .on_position_changed = [&](std::size_t place) {
                                               told.push_back(place);
                                               is_telling = true;
                                               while (!may_go_on)
                                                   std::this_thread::yield();
                                           }});
    REQUIRE(std::get<Queued>(watched).position == 4);
    std::jthread teller([&] { gate.leave(first); });
    while (!is_telling)
        std::this_thread::yield();
    const TurnPlace between = submit("c");  // goes ahead of b's second: 3 becomes 4
    CHECK(gate.leave(between));             // and 3 again
    may_go_on = true;
    teller.join();
    CHECK(told == std::vector<std::size_t>{3});
    gate.shutdown();
}

TEST_CASE("T16 stress: one session's waiting turns are never above its share, from many threads") {
    constexpr std::int64_t share = 3;
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .max_queued_per_session = share, .clock = &clock});
    const TurnTicket held = gate.try_admit();
    std::atomic<int> waiting{0};
    std::atomic<int> most{0};
    std::atomic<std::uint64_t> got{0};
    const std::uint64_t rounds = test::under_sanitizer ? 2'000 : 20'000;
    test::run_together(6, [&](unsigned me) {
        test::Random random(me);
        const std::string session = me % 2 == 0 ? "even" : "odd";
        for (std::uint64_t round = 0; round < rounds; ++round) {
            const Submitted submitted = gate.submit({.session = session});
            const auto* queued = std::get_if<Queued>(&submitted);
            if (queued == nullptr)
                continue;
            got.fetch_add(1);
            if (session == "even") {
                // Counted after it joined and taken off before it leaves: never more than wait.
                const int now = waiting.fetch_add(1) + 1;
                int seen = most.load();
                while (seen < now && !most.compare_exchange_weak(seen, now)) {}
                if (random.one_in(8))
                    std::this_thread::yield();
                waiting.fetch_sub(1);
            }
            gate.leave(queued->place);
        }
    });
    CHECK(most <= share);
    CHECK(got > 0);
    const TurnGateSnapshot seen = gate.snapshot();
    CHECK(adds_up(seen));
    CHECK(seen.waiting == 0);
    CHECK(seen.cancelled == got);
}
