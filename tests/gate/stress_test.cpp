// Goal:   T3 and case G03: never more turns than the cap by an independent counter, the cap reached, none left in the end; no slot
//         idle while somebody waits; every waiter exactly one outcome; every snapshot adds up (T19).
// Method: threads that submit, try, wait, release, cancel, expire and pause at random, from a printed seed. Runs as
//         many rounds a thread as SLUICE_TEST_ROUNDS says: the default is short, 1000000 is some 16 million rounds.
#include <sluice/turn_gate.hpp>

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

using namespace sluice;
using namespace std::chrono_literals;

namespace {

std::uint64_t rounds_per_thread() {
    const char* const given = std::getenv("SLUICE_TEST_ROUNDS");
    if (given != nullptr)
        return std::strtoull(given, nullptr, 10);
    return test::under_sanitizer ? 2'000 : 20'000;
}

/// For rounds in which threads wait for each other, which takes milliseconds on a loaded machine.
std::chrono::seconds longest() {
    const char* const given = std::getenv("SLUICE_TEST_SECONDS");
    return std::chrono::seconds(given != nullptr ? std::strtoll(given, nullptr, 10) : 3);
}

/// Turns that run, counted beside the gate.
class Independent {
public:
    void begin() {
        const int now = running_.fetch_add(1) + 1;
        int most = most_.load();
        while (most < now && !most_.compare_exchange_weak(most, now)) {}
    }
    void end() {
        running_.fetch_sub(1);
    }
    [[nodiscard]] int running() const {
        return running_.load();
    }
    [[nodiscard]] int most() const {
        return most_.load();
    }

private:
    std::atomic<int> running_{0};
    std::atomic<int> most_{0};
};

bool adds_up(const TurnGateSnapshot& seen) {
    return seen.admitted == seen.released + seen.in_flight && seen.queued == seen.left_queue() + seen.waiting;
}

}  // namespace

TEST_CASE("G03 T3: sixteen threads, cap 10, by try_admit: never above 10, 10 reached, 0 in the end") {
    constexpr int cap = 10;
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = cap, .clock = &clock});
    Independent turns;
    const std::uint64_t rounds = rounds_per_thread();
    test::run_together(16, [&](unsigned me) {
        test::Random random(me);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            TurnTicket ticket = gate.try_admit();
            if (!ticket)
                continue;
            turns.begin();
            if (random.one_in(16))
                std::this_thread::yield();
            turns.end();
            ticket.release();
        }
    });
    CHECK(turns.most() == cap);
    CHECK(turns.running() == 0);
    CHECK(gate.snapshot().in_flight == 0);
    CHECK(adds_up(gate.snapshot()));
}

TEST_CASE(
    "G03 T3 T19: sixteen threads, cap 10, with waiting, cancelling, expiring and pausing: exact, and nobody "
    "is forgotten") {
    constexpr int cap = 10;
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = cap,
                   .max_queue_length = 64,
                   .max_queue_wait = 10ms,
                   .base_backoff = 1ms,
                   .max_backoff = 1ms,
                   .clock = &clock});
    Independent turns;
    std::atomic<std::uint64_t> queued{0};
    std::atomic<std::uint64_t> granted{0};
    std::atomic<std::uint64_t> dropped{0};
    std::atomic<std::uint64_t> direct{0};
    std::atomic<std::uint64_t> cancelled_by_call{0};
    std::atomic<std::uint64_t> expired_by_call{0};
    std::atomic<std::uint64_t> wrong_positions{0};
    std::atomic<std::uint64_t> bad_snapshots{0};
    std::atomic<bool> over{false};
    const std::uint64_t rounds = rounds_per_thread() / 4;
    const auto turn = [&](TurnTicket ticket) {
        turns.begin();
        turns.end();
        ticket.release();
    };
    std::jthread mover([&] {  // time goes on, so that pauses end and waiters expire
        while (!over) {
            clock.advance(100us);
            if (!adds_up(gate.snapshot()))
                bad_snapshots.fetch_add(1);
            std::this_thread::yield();
        }
    });
    test::run_together(16, [&](unsigned me) {
        test::Random random(me);
        const std::string session = std::to_string(me % 5);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            const std::uint64_t what = random.below(64);
            if (what == 0) {
                cancelled_by_call.fetch_add(gate.cancel_session(session));
            } else if (what == 1) {
                expired_by_call.fetch_add(gate.expire_stale());
            } else if (what == 2) {
                gate.note_rate_limit();
            } else if (what < 24) {
                if (TurnTicket ticket = gate.try_admit()) {
                    direct.fetch_add(1);
                    turn(std::move(ticket));
                }
            } else {
                // Its last known position, which only news may make smaller.
                auto known = std::make_shared<std::atomic<std::size_t>>(1'000);
                Submitted submitted = gate.submit({
                    .session = session,
                    .on_admitted =
                        [&](TurnTicket ticket) {
                            granted.fetch_add(1);
                            turn(std::move(ticket));
                        },
                    .on_expired = [&](const Error&) { dropped.fetch_add(1); },
                    .on_dropped = [&](const Error&) { dropped.fetch_add(1); },
                    .on_position_changed =
                        [&, known](std::size_t position) {
                            if (known->exchange(position) <= position)
                                wrong_positions.fetch_add(1);
                        },
                });
                if (auto* ticket = std::get_if<TurnTicket>(&submitted)) {
                    direct.fetch_add(1);
                    turn(std::move(*ticket));
                } else if (std::holds_alternative<Queued>(submitted)) {
                    queued.fetch_add(1);
                }
            }
        }
    });
    over = true;
    mover.join();
    clock.advance(1s);
    CHECK(turns.most() <= cap);
    CHECK(turns.running() == 0);
    CHECK(wrong_positions == 0);
    CHECK(bad_snapshots == 0);
    CHECK(queued == granted + dropped);
    const TurnGateSnapshot seen = gate.snapshot();
    CHECK(adds_up(seen));
    CHECK(seen.waiting == 0);
    CHECK(seen.in_flight == 0);
    // Whoever joined and was granted before submit() returned got his ticket from it: he is among `direct`.
    CHECK(seen.admitted == direct + granted);
    CHECK(seen.admitted_from_queue == granted + (seen.queued - queued));
    CHECK(seen.cancelled >= cancelled_by_call);
    CHECK(seen.expired >= expired_by_call);
    CHECK(seen.cancelled + seen.expired == dropped);
    CHECK(gate.submit({}).index() == 0);
}

TEST_CASE("T3: no slot is idle while somebody waits: whenever all threads rest, nobody waits beside room") {
    constexpr int cap = 3;
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = cap, .max_queue_length = 64, .clock = &clock});
    std::atomic<std::uint64_t> idle{0};
    std::atomic<std::uint64_t> arrived{0};
    constexpr unsigned threads = 4;
    const std::uint64_t rounds = rounds_per_thread();
    std::atomic<bool> over{false};
    const auto deadline = std::chrono::steady_clock::now() + longest();
    std::array<std::array<TurnTicket, 8>, threads> held;
    test::run_together(threads, [&](unsigned me) {
        test::Random random(me);
        std::uint64_t meetings = 0;
        const auto meet = [&] {
            ++meetings;
            arrived.fetch_add(1);
            while (arrived.load() < meetings * threads)
                std::this_thread::yield();
        };
        std::vector<TurnPlace> places;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            for (int i = 0; i < 4; ++i) {
                const std::uint64_t what = random.below(3);
                if (what == 0) {
                    // Held until this thread lets go: the callback may run on any thread.
                    Submitted submitted =
                        gate.submit({.session = std::to_string(me), .on_admitted = [](TurnTicket) {}});
                    if (auto* ticket = std::get_if<TurnTicket>(&submitted))
                        held[me][random.below(8)] = std::move(*ticket);
                    else if (const auto* place = std::get_if<Queued>(&submitted))
                        places.push_back(place->place);
                } else if (what == 1) {
                    held[me][random.below(8)].release();
                } else if (!places.empty()) {
                    gate.leave(places.back());
                    places.pop_back();
                }
            }
            meet();
            if (me == 0) {
                const TurnGateSnapshot seen = gate.snapshot();
                idle.fetch_add(seen.waiting > 0 && seen.in_flight < cap ? 1U : 0U);
                over = idle != 0 || std::chrono::steady_clock::now() > deadline;
            }
            meet();
            if (over)
                return;
        }
    });
    CHECK(idle == 0);
}

TEST_CASE(
    "G06 T21: a deadline and a release at once, on two threads: exactly one outcome, and the totals "
    "balance") {
    const std::uint64_t rounds = std::min<std::uint64_t>(rounds_per_thread() / 10, 20'000);
    std::uint64_t expired = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        ManualClock clock;
        TurnGate gate(
            {.max_concurrent_turns = 1, .max_queue_length = 4, .max_queue_wait = 1ms, .clock = &clock});
        TurnTicket first = gate.try_admit();
        std::atomic<int> head{0};
        std::atomic<int> next{0};
        std::optional<TurnTicket> kept;
        const auto count = [](std::atomic<int>& outcome, int by) {
            return [&outcome, by](auto&&...) { outcome += by; };
        };
        static_cast<void>(gate.submit({.on_admitted =
                                           [&](TurnTicket ticket) {
                                               head += 1;
                                               kept = std::move(ticket);
                                           },
                                       .on_expired = count(head, 100)}));
        clock.advance(500us);
        static_cast<void>(gate.submit({.on_admitted =
                                           [&](TurnTicket ticket) {
                                               next += 1;
                                               kept = std::move(ticket);
                                           },
                                       .on_expired = count(next, 100)}));
        test::run_together(2, [&](unsigned me) {
            if (me == 0)
                clock.advance(500us);
            else
                first.release();
        });
        const TurnGateSnapshot seen = gate.snapshot();
        REQUIRE(adds_up(seen));
        REQUIRE(seen.in_flight == 1);  // the head's, or the next one's in the same step
        REQUIRE((head == 1 || head == 100));
        REQUIRE(next == (head == 1 ? 0 : 1));
        expired += head == 100 ? 1U : 0U;
        gate.shutdown();  // nobody is admitted into what is about to go
    }
    MESSAGE("the deadline won ", expired, " of ", rounds);
}
