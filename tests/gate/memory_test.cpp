// Goal:   T13: a ticket, a place in the queue and everything that is told of it cost no allocation and no lock.
// Method: calls of malloc and of mutexes are counted around a stretch of work; the seed-shaped gate in the same test shows that the
//         counter counts.
#include <sluice/turn_gate.hpp>

#include "executor/coroutine.hpp"
#include "support/malloc_counter.hpp"
#include "support/sanitizers.hpp"

#include <doctest/doctest.h>

#include <coroutine>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <variant>

#if defined(__linux__)
#define SLUICE_TEST_CAN_FORBID_CALLS
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace sluice;
using sluice::test::call_counting_available;
using sluice::test::call_counts;
using sluice::test::CallCounts;

namespace {

CallCounts around(auto&& work) {
    work();  // warm
    const CallCounts before = call_counts();
    work();
    return call_counts() - before;
}

/// Suspends until it is resumed by hand.
struct Pause {
    std::coroutine_handle<>& here;
    [[nodiscard]] static bool await_ready() noexcept {
        return false;
    }
    void await_suspend(std::coroutine_handle<> coroutine) const noexcept {
        here = coroutine;
    }
    static void await_resume() noexcept {}
};

/// One frame, allocated at its start, that takes turn after turn. It ends with an error.
test::Detached takes_turns(TurnGate& gate, std::stop_token stop, std::size_t& taken,
                           std::coroutine_handle<>& paused) {
    for (;;) {
        co_await Pause{paused};
        const Result<TurnTicket> turn = co_await gate.turn("s", stop);
        if (!turn)
            co_return;
        ++taken;
    }
}

}  // namespace

TEST_CASE("T15 T13: awaiting a turn, with a stop that may come, allocates nothing and locks nothing" *
          doctest::skip(!call_counting_available())) {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    const std::stop_source stop;
    std::size_t taken = 0;
    std::coroutine_handle<> paused;
    takes_turns(gate, stop.get_token(), taken, paused);
    CHECK(around([&] {
              for (int i = 0; i < 1'000; ++i) {
                  TurnTicket held = gate.try_admit();
                  paused.resume();  // it waits
                  held.release();
                  paused.resume();  // it has its turn at once
              }
          }) == CallCounts{});
    CHECK(taken == 2 * 2'000);
    gate.shutdown();
    paused.resume();
}

TEST_CASE("T13: try_admit and release allocate nothing and lock nothing" *
          doctest::skip(!call_counting_available())) {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 2, .clock = &clock});
    CHECK(around([&] {
              for (int i = 0; i < 10'000; ++i) {
                  TurnTicket one = gate.try_admit();
                  TurnTicket two = gate.try_admit();
                  CHECK_FALSE(gate.try_admit());
                  one.release();
              }
          }) == CallCounts{});
}

TEST_CASE(
    "T13: waiting, moving up, being admitted and leaving allocate nothing and lock nothing once the sweep is "
    "set" *
    doctest::skip(!call_counting_available())) {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    std::size_t told = 0;
    CHECK(around([&] {
              for (int i = 0; i < 1'000; ++i) {
                  TurnTicket held = gate.try_admit();
                  const auto submit = [&] {
                      return gate.submit({.session = "s",
                                          .on_admitted = [&told](TurnTicket) { ++told; },
                                          .on_position_changed = [&told](std::size_t) { ++told; }});
                  };
                  const Submitted first = submit();
                  const Submitted second = submit();
                  const Submitted third = submit();
                  gate.leave(std::get<Queued>(third).place);
                  held.release();
              }
          }) == CallCounts{});
    CHECK(told == 2 * 3'000);
}

TEST_CASE("T13: a snapshot and the ends of turns that nobody counts allocate nothing" *
          doctest::skip(!call_counting_available())) {
    ManualClock clock;
    TurnGate gate({.clock = &clock});
    CHECK(around([&] {
              for (int i = 0; i < 100; ++i) {
                  CHECK(gate.snapshot().admitted == gate.snapshot().released);
                  gate.note_success();
              }
          }) == CallCounts{});
}

#ifdef SLUICE_TEST_CAN_FORBID_CALLS
// Goal: no system call. Method: a child that has asked the kernel to kill it for any but read, write, exit and sigreturn.
TEST_CASE("T13: try_admit, release, joining and being granted make no system call" *
          doctest::skip(test::under_sanitizer)) {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    const auto work = [&] {
        std::uint64_t granted = 0;
        for (int i = 0; i < 100'000; ++i) {
            TurnTicket held = gate.try_admit();
            const Submitted waiting = gate.submit({.on_admitted = [&granted](TurnTicket) { ++granted; }});
            if (!std::holds_alternative<Queued>(waiting))
                return false;
            held.release();
        }
        return granted == 100'000 && gate.snapshot().in_flight == 0;
    };
    REQUIRE(work());  // the sweep is set
    const auto in_child = [](auto&& body) {
        const pid_t child = fork();
        if (child == 0) {
            if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
                _exit(77);
            syscall(SYS_exit, body() ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        return status;
    };
    const int status = in_child(work);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        MESSAGE("not shown: this kernel has no seccomp");
        return;
    }
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(WIFSIGNALED(in_child([] { return getppid() != 0; })));  // the kernel means it
}
#endif

TEST_CASE("the counter sees what a lock and an allocation cost" * doctest::skip(!call_counting_available())) {
    std::mutex mutex;
    std::unique_ptr<int> kept;
    const CallCounts seen = around([&] {
        const std::lock_guard lock(mutex);
        kept = std::make_unique<int>(1);
    });
    CHECK(seen.mutex_locks >= 1);
    CHECK(seen.allocations >= 1);
}
