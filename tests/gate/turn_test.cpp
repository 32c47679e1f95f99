// Goal:   a turn is awaited without holding a thread (T15): a ticket or an error, once, however release, stop, expiry and
//         shutdown meet; a ticket that nobody takes is not lost.
// Method: coroutines that start at once, with a clock that is moved by hand; frames that are destroyed while they wait; then
//         rounds in which release, stop and shutdown meet at one turn. SLUICE_TEST_SEED repeats a run.
#include "executor/coroutine.hpp"
#include "gate/harness.hpp"
#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <deque>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

struct Turn {
    std::optional<Result<TurnTicket>> result;
    std::thread::id on;

    [[nodiscard]] bool granted() const {
        return result && result->has_value();
    }
    /// The code of its error; `no_error` for a ticket, and before there is an outcome.
    [[nodiscard]] ErrorCode code() const {
        return result && !*result ? result->error().value() : no_error;
    }
};

Detached take(TurnGate& gate, Turn& turn, std::string_view session = {}, std::stop_token stop = {}) {
    turn.result.emplace(co_await gate.turn(session, std::move(stop)));
    turn.on = std::this_thread::get_id();
}

Detached pass_through(TurnGate& gate, std::atomic<int>& passed) {
    const Result<TurnTicket> turn = co_await gate.turn();
    passed.fetch_add(turn ? 1 : 0);
}

void pause(Random& random) {
    std::atomic<std::uint64_t> spent{0};
    for (std::uint64_t i = random.below(300); i != 0; --i)
        spent.store(i, std::memory_order_relaxed);
    if (random.one_in(8))
        std::this_thread::yield();
}

}  // namespace

TEST_CASE(
    "T15: a ticket that is there suspends nothing; otherwise the coroutine goes on where one comes back") {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    Turn first;
    take(gate, first);
    REQUIRE(first.granted());
    Turn second;
    take(gate, second);
    CHECK_FALSE(second.result);
    CHECK(gate.snapshot().waiting == 1);
    std::thread::id releaser;
    std::jthread([&] {
        releaser = std::this_thread::get_id();
        first.result->value().release();
    }).join();
    CHECK(second.granted());
    CHECK(second.on == releaser);
    CHECK(gate.snapshot().in_flight == 1);
    second.result.reset();
    CHECK(gate.snapshot().in_flight == 0);
    CHECK(adds_up(gate.snapshot()));
}

TEST_CASE("T15: a TurnWait that is never awaited, or was awaited already, asks for nothing") {
    TurnGate gate({.max_concurrent_turns = 1});
    {
        const auto unused = gate.turn("a");
        CHECK(gate.snapshot().admitted == 0);
    }
    auto turn = gate.turn("a");
    auto moved = std::move(turn);
    ErrorCode code = no_error;
    [](TurnWait wait, ErrorCode& seen) -> Detached {
        const Result<TurnTicket> result = co_await std::move(wait);
        seen = result ? no_error : result.error().value();
    }(std::move(turn), code);
    CHECK(code == ErrorCode::no_state);
    turn = std::move(moved);
    CHECK(gate.snapshot().admitted == 0);
}

TEST_CASE("T15 T8 T9 T14: it ends with an error when refused, cancelled, too late, or shut down") {
    ManualClock clock;
    TurnGate gate(
        {.max_concurrent_turns = 1, .max_queue_length = 1, .max_queue_wait = 10ms, .clock = &clock});
    TurnTicket held = gate.try_admit();
    const auto code_of_turn = [&](auto end) {
        Turn turn;
        take(gate, turn, "a");
        CHECK_FALSE(turn.result);
        Turn refused;
        take(gate, refused, "b");
        CHECK(refused.code() == ErrorCode::queue_full);
        end();
        REQUIRE(turn.result);
        return turn.code();
    };
    CHECK(code_of_turn([&] { CHECK(gate.cancel_session("a") == 1); }) == ErrorCode::cancelled);
    CHECK(code_of_turn([&] { clock.advance(13ms); }) == ErrorCode::deadline_exceeded);
    CHECK(code_of_turn([&] { gate.shutdown(); }) == ErrorCode::shut_down);
    Turn late;
    take(gate, late);
    CHECK(late.code() == ErrorCode::shut_down);
    CHECK(adds_up(gate.snapshot()));
}

TEST_CASE(
    "T15 T20: a stop leaves the queue, and whoever is next moves up; before and after it changes nothing") {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    std::stop_source early;
    early.request_stop();
    Turn at_once;
    take(gate, at_once, "a", early.get_token());
    CHECK(at_once.granted());  // as wait(): nothing had to be waited for
    Turn not_queued;
    take(gate, not_queued, "a", early.get_token());
    CHECK(not_queued.code() == ErrorCode::cancelled);
    CHECK(gate.snapshot().queued == 0);

    std::stop_source stop;
    Turn leaves;
    Turn stays_in;
    take(gate, leaves, "b", stop.get_token());
    std::size_t position = 0;
    const Submitted listener =
        gate.submit({.on_position_changed = [&](std::size_t told) { position = told; }});
    REQUIRE(std::holds_alternative<Queued>(listener));
    take(gate, stays_in, "c");
    stop.request_stop();
    CHECK(leaves.code() == ErrorCode::cancelled);
    CHECK(position == 1);
    CHECK(gate.snapshot().cancelled == 1);
    CHECK(gate.leave(std::get<Queued>(listener).place));

    at_once.result.reset();
    REQUIRE(stays_in.granted());
    std::stop_source after;
    Turn granted;
    take(gate, granted, "d", after.get_token());
    stays_in.result.reset();
    REQUIRE(granted.granted());
    after.request_stop();
    CHECK(granted.granted());
    CHECK(gate.snapshot().in_flight == 1);
}

TEST_CASE(
    "T15: resume_on: the coroutine goes on where the poster runs it, also when the gate has gone by then") {
    std::vector<std::function<void()>> posted;
    const auto poster = [&](auto go) { posted.emplace_back(go); };
    std::stop_source stop;
    std::optional<Result<TurnTicket>> granted;
    std::optional<Result<TurnTicket>> dropped;
    {
        ManualClock clock;
        TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
        TurnTicket held = gate.try_admit();
        const auto start = [&](std::optional<Result<TurnTicket>>& into) {
            [](TurnGate& from, std::stop_token token, decltype(poster)& there,
               std::optional<Result<TurnTicket>>& result) -> Detached {
                result.emplace(co_await from.turn("a", std::move(token)).resume_on(there));
            }(gate, stop.get_token(), poster, into);
        };
        start(granted);
        start(dropped);
        held.release();
        CHECK(posted.size() == 1);
        CHECK_FALSE(granted);
        CHECK(gate.snapshot().in_flight == 1);
    }
    CHECK(posted.size() == 2);
    stop.request_stop();  // the waits listen still, the gate does not
    for (const auto& go : posted)
        go();
    REQUIRE(granted);
    CHECK(granted->has_value());
    granted.reset();  // a ticket may outlive its gate
    REQUIRE(dropped);
    CHECK(dropped->error() == ErrorCode::shut_down);
}

TEST_CASE("T15 T20: a coroutine that is destroyed while it waits leaves the queue, and nobody calls it") {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    TurnTicket held = gate.try_admit();
    std::stop_source stop;
    Turn gone;
    Turn next;
    Detached waits = take(gate, gone, "a", stop.get_token());
    take(gate, next, "b");
    waits.destroy();
    CHECK(gate.snapshot().waiting == 1);
    CHECK(gate.snapshot().cancelled == 1);
    stop.request_stop();
    held.release();
    CHECK_FALSE(gone.result);
    CHECK(next.granted());
    CHECK(adds_up(gate.snapshot()));
}

TEST_CASE("T15 T6: ten thousand coroutines that let each other in need no stack") {
    ManualClock clock;
    const int count = scaled(10'000);
    TurnGate gate({.max_concurrent_turns = 1, .max_queue_length = count, .clock = &clock});
    TurnTicket held = gate.try_admit();
    std::atomic<int> passed{0};
    for (int i = 0; i < count; ++i)
        pass_through(gate, passed);
    CHECK(gate.snapshot().waiting == static_cast<std::uint64_t>(count));
    held.release();
    CHECK(passed == count);
    CHECK(gate.snapshot().in_flight == 0);
}

TEST_CASE(
    "T15 T21 stress: release, stop and shutdown meet at one awaited turn: one outcome, no ticket lost") {
    const int rounds = scaled(20'000);
    ManualClock clock;
    std::optional<TurnGate> gate;
    TurnTicket held;
    std::stop_source stop;
    bool ends = false;
    bool over = false;
    std::barrier meet(4);
    const auto rival = [&](std::uint64_t stream, auto act) {
        return std::jthread([&, stream, act] {
            Random random(stream);
            for (;;) {
                meet.arrive_and_wait();
                if (over)
                    return;
                pause(random);
                act();
                meet.arrive_and_wait();
            }
        });
    };
    const std::jthread releases = rival(1, [&] { held.release(); });
    const std::jthread stops = rival(2, [&] { stop.request_stop(); });
    const std::jthread shuts = rival(3, [&] {
        if (ends)
            gate->shutdown();
    });
    Random random(0);
    std::uint64_t seen[3] = {};
    for (int round = 0; round < rounds; ++round) {
        if (!gate)
            gate.emplace(TurnGateConfig{.max_concurrent_turns = 1, .clock = &clock});
        held = gate->try_admit();
        stop = std::stop_source();
        ends = random.one_in(8);
        std::atomic<int> outcomes{0};
        ErrorCode code = no_error;
        meet.arrive_and_wait();
        pause(random);
        [](TurnGate& from, std::stop_token token, std::atomic<int>& count, ErrorCode& into) -> Detached {
            const Result<TurnTicket> turn = co_await from.turn("a", std::move(token));
            into = turn ? no_error : turn.error().value();
            count.fetch_add(1);
        }(*gate, stop.get_token(), outcomes, code);
        meet.arrive_and_wait();
        // Whoever brings an outcome has told it before its call returns.
        REQUIRE(outcomes == 1);
        const TurnGateSnapshot now = gate->snapshot();
        REQUIRE(now.in_flight == 0);
        REQUIRE(now.waiting == 0);
        REQUIRE(adds_up(now));
        REQUIRE((code == no_error || code == ErrorCode::cancelled || (ends && code == ErrorCode::shut_down)));
        ++seen[code == no_error ? 0 : code == ErrorCode::cancelled ? 1 : 2];
        if (ends)
            gate.reset();
    }
    over = true;
    meet.arrive_and_wait();
    MESSAGE(seen[0] << " tickets, " << seen[1] << " stopped, " << seen[2] << " shut down");
    CHECK(seen[0] > 0);
    CHECK(seen[1] > 0);
    CHECK(seen[2] > 0);
}

TEST_CASE("T15 T3 T19 stress: many coroutines, never more than the cap at once, and all of them end") {
    constexpr int cap = 3;
    ManualClock clock;
    TurnGate gate(
        {.max_concurrent_turns = cap, .max_queue_length = 64, .max_queue_wait = 5ms, .clock = &clock});
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> granted{0};
    const auto one = [&](std::string_view session, std::stop_token stop) {
        begun.fetch_add(1);
        [](TurnGate& from, std::string_view whose, std::stop_token token, std::atomic<int>& now,
           std::atomic<int>& highest, std::atomic<std::uint64_t>& tickets,
           std::atomic<std::uint64_t>& ends) -> Detached {
            Result<TurnTicket> turn = co_await from.turn(whose, std::move(token));
            if (turn) {
                const int count = now.fetch_add(1) + 1;
                for (int seen = highest.load();
                     seen < count && !highest.compare_exchange_weak(seen, count);) {}
                tickets.fetch_add(1);
                now.fetch_sub(1);
                turn->release();
            }
            ends.fetch_add(1);
        }(gate, session, std::move(stop), running, most, granted, ended);
    };
    run_together(4, [&](unsigned me) {
        Random random(me + 10);
        const std::string session = std::to_string(me);
        std::deque<std::stop_source> stops;
        for (int i = 0; i < scaled(20'000); ++i) {
            TurnTicket in_the_way = gate.try_admit();
            stops.emplace_back();
            one(session, stops.back().get_token());
            if (random.one_in(3))
                stops[random.below(stops.size())].request_stop();
            if (random.one_in(64))
                (void)gate.cancel_session(session);
            if (stops.size() > 16)
                stops.pop_front();
            if (me == 0 && random.one_in(16))
                clock.advance(1ms);
        }
    });
    gate.shutdown();
    CHECK(ended == begun);
    CHECK(most <= cap);
    CHECK(granted > 0);
    const TurnGateSnapshot now = gate.snapshot();
    CHECK(now.in_flight == 0);
    CHECK(now.waiting == 0);
    CHECK(adds_up(now));
}
