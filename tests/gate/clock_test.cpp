// Goal:   clocks keep their promises (T12): order of calls, real cancellation, distinct handles, one lazily started thread.
// Method: the manual clock by hand; the system clock with timers of a few milliseconds, and waits that have no upper bound.
#include <sluice/clock.hpp>
#include <sluice/turn_gate.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace std::chrono_literals;

namespace {

/// Threads of this process, where the system says; not by name, for the portable platform gives none.
long threads() {
    std::error_code error;
    const std::filesystem::directory_iterator tasks("/proc/self/task", error);
    return std::distance(begin(tasks), end(tasks));
}

}  // namespace

TEST_CASE("T12 system clock: no thread before the first timer, one for all of them") {
    std::jthread([] {}).join();  // a sanitizer starts a thread of its own with the first one
    const long before = threads();
    {
        TurnGate gate({.max_concurrent_turns = 1});
        const TurnTicket ticket = gate.try_admit();
        CHECK(threads() == before);
    }
    std::atomic<int> calls{0};
    std::vector<TimerId> timers;
    for (int i = 0; i < 8; ++i)
        timers.push_back(system_clock().set_timer(1ms * i, [&] { calls.fetch_add(1); }));
    CHECK(std::set(timers.begin(), timers.end()).size() == 8);
    CHECK_FALSE(std::set(timers.begin(), timers.end()).contains(TimerId::none));
    while (calls.load() < 8)
        std::this_thread::yield();
    if (std::filesystem::exists("/proc/self/task"))
        CHECK(threads() == before + 1);
    CHECK_FALSE(system_clock().clear_timer(timers.front()));
}

TEST_CASE("T12 system clock: an earlier timer that is set later comes first, and not before its time") {
    Clock& clock = system_clock();
    std::atomic<int> order{0};
    std::atomic<int> early{0};
    std::atomic<int> late{0};
    const auto began = clock.now();
    std::atomic<std::int64_t> came{0};
    static_cast<void>(clock.set_timer(40ms, [&] { late = ++order; }));
    static_cast<void>(clock.set_timer(5ms, [&] {
        came = (clock.now() - began).count();
        early = ++order;
    }));
    while (late.load() == 0)
        std::this_thread::yield();
    CHECK(early == 1);
    CHECK(late == 2);
    CHECK(std::chrono::nanoseconds(came.load()) >= 5ms);
}

TEST_CASE("T12 system clock: a cleared timer is never called, and its call is destroyed") {
    auto token = std::make_shared<int>(0);
    std::atomic<bool> other{false};
    const TimerId cleared = system_clock().set_timer(5ms, [token] { ++*token; });
    static_cast<void>(system_clock().set_timer(10ms, [&] { other = true; }));
    CHECK(token.use_count() == 2);
    CHECK(system_clock().clear_timer(cleared));
    CHECK(token.use_count() == 1);
    CHECK_FALSE(system_clock().clear_timer(cleared));
    while (!other)
        std::this_thread::yield();
    CHECK(*token == 0);
}

TEST_CASE("T12 system clock: timers may be set and cleared inside a call") {
    std::atomic<int> calls{0};
    static_cast<void>(system_clock().set_timer(0ns, [&] {
        const TimerId never = system_clock().set_timer(1h, [] {});
        CHECK(system_clock().clear_timer(never));
        static_cast<void>(system_clock().set_timer(-5ms, [&] { calls = 2; }));
        calls = 1;
    }));
    while (calls.load() != 2)
        std::this_thread::yield();
}

TEST_CASE("T10 T12: a gate on the system clock resumes by itself") {
    TurnGate gate({.max_concurrent_turns = 1, .max_queue_wait = 1h, .base_backoff = 10ms});
    TurnTicket kept;
    std::atomic<bool> admitted{false};
    gate.note_rate_limit();
    CHECK(std::holds_alternative<Queued>(gate.submit({.on_admitted = [&](TurnTicket ticket) {
        kept = std::move(ticket);
        admitted = true;
    }})));
    while (!admitted)
        std::this_thread::yield();
    CHECK(gate.snapshot().in_flight == 1);
}

TEST_CASE("T9 T12: a gate on the system clock sweeps by itself") {
    TurnGate gate({.max_concurrent_turns = 1, .max_queue_wait = 20ms});
    const TurnTicket ticket = gate.try_admit();
    std::atomic<bool> expired{false};
    CHECK(std::holds_alternative<Queued>(gate.submit({.on_expired = [&](const Error&) { expired = true; }})));
    while (!expired)
        std::this_thread::yield();
    CHECK(gate.snapshot().expired == 1);
}

TEST_CASE("T12 manual clock: no duration is too long for it, and none leads back") {
    ManualClock clock(1s);
    CHECK(clock.set_timer(std::chrono::nanoseconds::max(), [] {}) != TimerId::none);
    CHECK(clock.advance(std::chrono::nanoseconds::min()) == 0);
    CHECK(clock.now() == 1s);
    static_cast<void>(clock.advance(std::chrono::nanoseconds::max()));
    CHECK(clock.now() == std::chrono::nanoseconds::max());
}

TEST_CASE("T12 manual clock: calls in order of time, then of setting, each at its own time") {
    ManualClock clock(1s);
    std::vector<std::string> calls;
    const auto note = [&](const std::string& name) {
        return [&calls, &clock, name] { calls.push_back(name + std::to_string((clock.now() - 1s) / 1ms)); };
    };
    static_cast<void>(clock.set_timer(20ms, note("b")));
    static_cast<void>(clock.set_timer(10ms, note("a")));
    static_cast<void>(clock.set_timer(20ms, note("c")));
    const TimerId gone = clock.set_timer(15ms, note("x"));
    static_cast<void>(
        clock.set_timer(5ms, [&] { static_cast<void>(clock.set_timer(10ms, note("nested"))); }));
    CHECK(clock.timers() == 5);
    CHECK(clock.clear_timer(gone));
    CHECK_FALSE(clock.clear_timer(gone));
    CHECK(clock.next_due() == 1s + 5ms);
    CHECK(clock.advance(30ms) == 5);
    CHECK(calls == std::vector<std::string>{"a10", "nested15", "b20", "c20"});
    CHECK(clock.now() == 1s + 30ms);
    CHECK(clock.next_due() == std::chrono::nanoseconds::max());
    CHECK(clock.advance_to(5ms) == 0);  // not backwards
    CHECK(clock.now() == 1s + 30ms);
}
