// Goal: a program of Asio waits for turns of a gate, and for room in a pool, in Asio's ways (T15 P13), and lends the gate its own
// timers (T12).
// Method: one source, compiled for standalone Asio and for Boost.Asio; contexts that are run by hand.
#include <utility>  // Boost 1.74 forgets it

#ifdef SLUICE_TEST_BOOST_ASIO
#include <boost/asio.hpp>
#include <sluice/boost_asio.hpp>
namespace net = boost::asio;
#else
#include <asio.hpp>
#include <sluice/asio.hpp>
namespace net = asio;
#endif

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "executor/harness.hpp"
#include "pool/harness.hpp"

#include <sluice/turn_gate.hpp>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("T15 async_turn: the handler runs in its context, never inside a call of the gate") {
    net::io_context context;
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    std::vector<std::string> diary;
    TurnTicket held;
    async_turn(context.get_executor(), gate, "a", [&](Result<TurnTicket> turn) {
        diary.emplace_back("first");
        held = std::move(turn).value();
    });
    async_turn(context.get_executor(), gate, "b", [&](Result<TurnTicket> turn) {
        diary.emplace_back(turn ? "second" : "none");
        turn->release();
        diary.emplace_back("released");
    });
    async_turn(gate, "c", net::bind_executor(context, [&](const Result<TurnTicket>& turn) {
                   diary.emplace_back(turn ? "third" : "none");
               }));
    CHECK(diary.empty());
    context.run_one();
    CHECK(diary == std::vector<std::string>{"first"});
    CHECK(gate.snapshot().waiting == 2);
    held.release();
    CHECK(diary.size() == 1);
    context.run();  // returns when nothing is outstanding
    CHECK(diary == std::vector<std::string>{"first", "second", "released", "third"});
    CHECK(gate.snapshot().in_flight == 0);
    CHECK(async_turn(gate, "d", net::use_future).get().has_value());
    gate.shutdown();
    CHECK(async_turn(gate, "d", net::use_future).get().error() == ErrorCode::shut_down);
}

TEST_CASE("P13 async_wait of enqueue_when_room") {
    net::io_context context;
    BoundedPool pool(small_pool(1, 1));
    AllHeld held(pool);
    std::vector<PoolItem> items;
    const auto handler = [&](Result<PoolItem> item) { items.push_back(std::move(item).value()); };
    const auto job = [] {};
    async_wait(context.get_executor(), pool.enqueue_when_room(only, {.call_id = "call"}, job), handler);
    async_wait(context.get_executor(), pool.enqueue_when_room(only, {.call_id = "call"}, job), handler);
    context.poll();
    CHECK(items.size() == 1);
    CHECK(items[0].cancel());
    CHECK(items.size() == 1);
    context.run();
    CHECK(items.size() == 2);
    held.open();
    CHECK(pool.wait_idle());
}

TEST_CASE("T12 AsioClock: a call once, in its context, in order of time; none for a timer that was cleared") {
    net::io_context context;
    AsioClock clock(context.get_executor());
    std::vector<int> called;
    const auto note = [&](int n) { return [&called, n] { called.push_back(n); }; };
    const auto before = clock.now();
    const TimerId late = clock.set_timer(20ms, note(3));
    CHECK(clock.set_timer(0ms, note(1)) != late);
    CHECK(clock.set_timer(-1h, note(1)) != TimerId::none);
    CHECK(clock.set_timer(10ms, [&] {
        called.push_back(2);
        CHECK(clock.set_timer(1ms, note(4)) != TimerId::none);
    }) != TimerId::none);
    const TimerId cleared = clock.set_timer(5ms, note(9));
    const TimerId never = clock.set_timer(std::chrono::nanoseconds::max(), note(9));
    CHECK(called.empty());
    CHECK(clock.clear_timer(cleared));
    CHECK_FALSE(clock.clear_timer(cleared));
    CHECK(clock.clear_timer(never));
    context.run();
    CHECK(clock.now() - before >= 20ms);
    CHECK(called.size() == 5);
    CHECK((called[0] == 1 && called[1] == 1 && called[2] == 2));  // 3 and 4 may have become due together
    CHECK_FALSE(clock.clear_timer(late));
    CHECK_FALSE(clock.clear_timer(TimerId::none));
}

TEST_CASE("T12 AsioClock: it may go with timers set, whose calls are destroyed; the context goes on") {
    net::io_context context;
    const auto held = std::make_shared<int>(0);
    {
        AsioClock clock(context.get_executor());
        for (int i = 0; i < 3; ++i)
            CHECK(clock.set_timer(1h, [held] { std::abort(); }) != TimerId::none);
        CHECK(held.use_count() == 4);
    }
    CHECK(held.use_count() == 1);
    context.run();
}

TEST_CASE(
    "T9 T10 T12: a gate over AsioClock drops who waited too long, and goes on after a pause, while run() "
    "runs") {
    net::io_context context;
    AsioClock clock(context.get_executor());
    TurnGate gate({.max_concurrent_turns = 1,
                   .max_queue_wait = 20ms,
                   .base_backoff = 10ms,
                   .max_backoff = 10ms,
                   .clock = &clock});
    TurnTicket held = gate.try_admit();
    ErrorCode late = no_error;
    const auto begin = steady_clock::now();
    async_turn(context.get_executor(), gate, "a",
               [&](const Result<TurnTicket>& turn) { late = turn ? no_error : turn.error().value(); });
    context.run();
    CHECK(late == ErrorCode::deadline_exceeded);
    CHECK(steady_clock::now() - begin >= 20ms);
    held.release();
    context.restart();
    gate.note_rate_limit();
    bool in = false;
    async_turn(context.get_executor(), gate, "b",
               [&](const Result<TurnTicket>& turn) { in = turn.has_value(); });
    CHECK(gate.snapshot().waiting == 1);
    context.run();
    CHECK(in);
}

TEST_CASE(
    "T12 stress: timers set, cleared and run out from several threads: each is called or cleared, once") {
    net::io_context context;
    AsioClock clock(context.get_executor());
    std::atomic<int> called{0};
    std::atomic<int> cleared{0};
    auto work = std::make_optional(net::make_work_guard(context));
    std::jthread runs([&] { context.run(); });
    const int each = scaled(4'000);
    {
        std::vector<std::jthread> setters;
        for (int t = 0; t < 2; ++t) {
            setters.emplace_back([&] {
                for (int i = 0; i < each; ++i) {
                    const TimerId timer =
                        clock.set_timer(std::chrono::microseconds(i % 50), [&] { called.fetch_add(1); });
                    if (i % 3 != 0)
                        std::this_thread::sleep_for(std::chrono::microseconds(i % 20));
                    cleared.fetch_add(clock.clear_timer(timer) ? 1 : 0);
                }
            });
        }
    }
    work.reset();
    runs.join();
    CHECK(called + cleared == 2 * each);
    CHECK(called > 0);
    CHECK(cleared > 0);
}

#ifdef BOOST_ASIO_HAS_CO_AWAIT
#define SLUICE_TEST_CO_AWAIT 1
#endif
#ifdef ASIO_HAS_CO_AWAIT
#define SLUICE_TEST_CO_AWAIT 1
#endif
#ifdef SLUICE_TEST_CO_AWAIT

TEST_CASE("T15 use_awaitable: coroutines of one context share a gate with threads") {
    net::io_context context;
    TurnGate gate({.max_concurrent_turns = 2, .max_queue_length = 64});
    int turns = 0;
    int running = 0;
    int most = 0;
    const auto body = [&]() -> net::awaitable<void> {
        for (int i = 0; i < scaled(400); ++i) {
            const Result<TurnTicket> turn = co_await async_turn(gate, "a", net::use_awaitable);
            most = std::max(most, ++running);
            turns += turn ? 1 : 0;
            co_await net::post(context, net::use_awaitable);
            --running;
        }
    };
    for (int i = 0; i < 16; ++i)
        net::co_spawn(context, body, net::detached);
    std::jthread other([&] {
        for (int i = 0; i < scaled(400); ++i)
            static_cast<void>(gate.wait("b"));
    });
    context.run();
    other.join();
    CHECK(turns == 16 * scaled(400));
    CHECK(most <= 2);
    CHECK(gate.snapshot().in_flight == 0);
}

#endif

#ifndef SLUICE_TEST_BOOST_ASIO  // Debian's Boost 1.74 has no cancellation slots

TEST_CASE(
    "T15 P13 cancellation leaves the queue; a later one finds nothing, also when gate and pool have gone") {
    net::io_context context;
    net::cancellation_signal first;
    net::cancellation_signal second;
    net::cancellation_signal third;
    std::vector<ErrorCode> seen;
    const auto heard = [&](const auto& result) {
        seen.push_back(result ? no_error : result.error().value());
    };
    {
        ManualClock clock;
        TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
        TurnTicket held = gate.try_admit();
        async_turn(context.get_executor(), gate, "a", net::bind_cancellation_slot(first.slot(), heard));
        async_turn(context.get_executor(), gate, "b", net::bind_cancellation_slot(second.slot(), heard));
        CHECK(gate.snapshot().waiting == 2);
        first.emit(net::cancellation_type::partial);
        CHECK(gate.snapshot().waiting == 1);
        BoundedPool pool(small_pool(1, 1));
        AllHeld all(pool);
        REQUIRE(pool.post(only, {}, [] {}));
        const auto job = [] { std::abort(); };
        async_wait(context.get_executor(), pool.enqueue_when_room(only, {}, job),
                   net::bind_cancellation_slot(third.slot(), heard));
        CHECK(pool.snapshot().lanes[0].waiting == 1);
        third.emit(net::cancellation_type::total);
        CHECK(pool.snapshot().lanes[0].waiting == 0);
        gate.shutdown();
    }
    second.emit(net::cancellation_type::total);
    first.emit(net::cancellation_type::total);
    context.run();
    CHECK(seen == std::vector{ErrorCode::cancelled, ErrorCode::cancelled, ErrorCode::shut_down});
}

TEST_CASE(
    "T15 T21 stress: cancellation races with a released ticket; one outcome, and the ticket is not lost") {
    net::io_context context;
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    const int rounds = scaled(10'000);
    std::atomic<int> round{0};
    std::atomic<int> released{0};
    TurnTicket held;
    std::jthread releaser([&] {
        for (int seen = 0; seen != rounds;) {
            if (round.load() == seen) {
                std::this_thread::yield();
                continue;
            }
            ++seen;
            held.release();
            released.store(seen);
        }
    });
    int called = 0;
    int cancelled = 0;
    for (int i = 1; i <= rounds; ++i) {
        held = gate.try_admit();
        REQUIRE(held);
        net::cancellation_signal signal;
        async_turn(context.get_executor(), gate, "a",
                   net::bind_cancellation_slot(signal.slot(), [&](const Result<TurnTicket>& turn) {
                       ++called;
                       cancelled += turn ? 0 : 1;
                   }));
        round.store(i);
        for (int spins = i % 300; spins > 0; --spins)
            static_cast<void>(gate.limit());
        if (i % 16 == 0)
            context.run();  // too late by then, however busy the machine is
        signal.emit(net::cancellation_type::total);
        context.run();
        context.restart();
        while (released.load() != i)
            std::this_thread::yield();
        REQUIRE(called == i);
        REQUIRE(gate.snapshot().in_flight == 0);
    }
    CHECK(cancelled > 0);
    CHECK(cancelled < rounds);
}

#endif
