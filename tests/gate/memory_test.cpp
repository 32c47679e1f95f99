// Goal:   T13: a ticket, a place in the queue and everything that is told of it cost no allocation and no lock.
// Method: calls of malloc and of mutexes are counted around a stretch of work; the seed-shaped gate in the same test shows that the
//         counter counts.
#include <sluice/turn_gate.hpp>

#include "support/malloc_counter.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <mutex>
#include <variant>

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

}  // namespace

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
