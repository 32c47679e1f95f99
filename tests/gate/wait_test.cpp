// Goal:   waiting as code (T15): a ticket or an error, and a stop token that leaves the queue.
// Method: threads that wait, and a main thread that lets them in, one by one; never a sleep that the result depends on.
#include "gate/harness.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stop_token>
#include <thread>

using namespace sluice;
using namespace std::chrono_literals;
using sluice::test::adds_up;

namespace {

void until_waiting(const TurnGate& gate, std::uint64_t count) {
    while (gate.snapshot().waiting != count)
        std::this_thread::yield();
}

}  // namespace

TEST_CASE("T15: wait gives a ticket at once, or when one comes back") {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    Result<TurnTicket> first = gate.wait("a");
    REQUIRE(first);
    std::atomic<bool> got{false};
    std::jthread other([&] {
        const Result<TurnTicket> second = gate.wait("b");
        CHECK(second);
        got = true;
    });
    until_waiting(gate, 1);
    CHECK_FALSE(got);
    first->release();
    other.join();
    CHECK(got);
    CHECK(gate.snapshot().in_flight == 0);
    CHECK(adds_up(gate.snapshot()));
}

TEST_CASE("T15 T20: a stop request leaves the queue, and the next one moves up") {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    const Result<TurnTicket> first = gate.wait("a");
    std::stop_source stop;
    std::atomic<int> code{0};
    std::jthread other([&] {
        const Result<TurnTicket> second = gate.wait("b", stop.get_token());
        code = second ? 0 : static_cast<int>(second.error().value());
    });
    until_waiting(gate, 1);
    std::size_t position = 0;
    const Submitted third = gate.submit({.on_position_changed = [&](std::size_t told) { position = told; }});
    CHECK(std::get<Queued>(third).position == 2);
    stop.request_stop();
    other.join();
    CHECK(code == static_cast<int>(ErrorCode::cancelled));
    CHECK(position == 1);
    CHECK(gate.snapshot().cancelled == 1);
    // A request that came before does not even queue.
    const Result<TurnTicket> late = gate.wait("c", stop.get_token());
    REQUIRE_FALSE(late);
    CHECK(late.error() == ErrorCode::cancelled);
    CHECK(gate.snapshot().queued == 2);
}

TEST_CASE(
    "T15: waiting ends with an error when the session is cancelled, the time is over, or the gate ends") {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .max_queue_wait = 10ms, .clock = &clock});
    const Result<TurnTicket> first = gate.wait("a");
    std::atomic<int> code{0};
    const auto wait = [&] {
        return std::jthread([&] {
            const Result<TurnTicket> second = gate.wait("b");
            code = second ? 0 : static_cast<int>(second.error().value());
        });
    };
    {
        const std::jthread other = wait();
        until_waiting(gate, 1);
        while (gate.cancel_session("b") == 0)
            std::this_thread::yield();  // its submit() had not returned
    }
    CHECK(code == static_cast<int>(ErrorCode::cancelled));
    {
        const std::jthread other = wait();
        until_waiting(gate, 1);
        while (gate.snapshot().waiting != 0)
            clock.advance(10ms);
    }
    CHECK(code == static_cast<int>(ErrorCode::deadline_exceeded));
    {
        const std::jthread other = wait();
        until_waiting(gate, 1);
        gate.shutdown();
    }
    CHECK(code == static_cast<int>(ErrorCode::shut_down));
}

TEST_CASE("T15: a callback cannot wait for the gate that calls it; it is told so, and does not hang") {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    TurnTicket first = gate.try_admit();
    ErrorCode code = ErrorCode::no_state;
    const Submitted waiting = gate.submit({.on_admitted = [&](TurnTicket ticket) {
        const Result<TurnTicket> second = gate.wait();
        code = second ? ErrorCode::no_state : second.error().value();
        ticket.release();
        CHECK(gate.wait());  // there is room now
    }});
    CHECK(std::holds_alternative<Queued>(waiting));
    first.release();
    CHECK(code == ErrorCode::would_deadlock);
    CHECK(gate.snapshot().in_flight == 0);
}
