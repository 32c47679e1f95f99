// Goal:   the gate's rules of order, backoff and pacing as pure functions (T4, T10, T11, T16).
// Method: a line against a naive one, by random sequences with a printed seed and by hand; backoff and pacing at their edges.

#include "core/gate_backoff.hpp"
#include "core/gate_line.hpp"
#include "core/gate_pacing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

using namespace sluice::core;

namespace {

/// A line with its memory, over sessions that are numbers.
struct TestLine {
    explicit TestLine(std::size_t size, bool by_session)
        : waiters(size),
          groups(by_session ? size : 1),
          buckets(by_session ? 4 : 0),
          sessions(size),
          line(waiters, groups, buckets) {}

    void append(std::uint32_t waiter, std::uint64_t session) {
        sessions[waiter] = session;
        // Few hashes for many sessions: the question decides, not the hash.
        line.append(waiter, session % 3, [&](std::uint32_t other) { return sessions[other] == session; });
    }
    std::vector<std::uint32_t> order() {
        std::vector<std::uint32_t> seen;
        line.for_each([&](std::uint32_t waiter, std::uint32_t position) {
            seen.push_back(waiter);
            CHECK(position == seen.size());
        });
        return seen;
    }

    std::vector<LineWaiter> waiters;
    std::vector<LineGroup> groups;
    std::vector<std::uint32_t> buckets;
    std::vector<std::uint64_t> sessions;
    GateLine line;
};

/// Sessions in a ring of queues, written as one would on paper.
struct NaiveLine {
    bool by_session;
    std::deque<std::pair<std::uint64_t, std::deque<std::uint32_t>>> ring;  // the front has its turn

    void append(std::uint32_t waiter, std::uint64_t session) {
        if (!by_session)
            session = 0;
        for (auto& [name, queue] : ring)
            if (name == session)
                return queue.push_back(waiter);
        ring.push_back({session, {waiter}});
    }
    void pop() {
        auto turn = std::move(ring.front());
        ring.pop_front();
        turn.second.pop_front();
        if (!turn.second.empty())
            ring.push_back(std::move(turn));
    }
    void remove(std::uint32_t waiter) {
        for (auto& [name, queue] : ring)
            std::erase(queue, waiter);
        std::erase_if(ring, [](const auto& entry) { return entry.second.empty(); });
    }
    [[nodiscard]] std::vector<std::uint32_t> order() const {
        std::vector<std::uint32_t> seen;
        NaiveLine rest = *this;
        while (!rest.ring.empty()) {
            seen.push_back(rest.ring.front().second.front());
            rest.pop();
        }
        return seen;
    }
};

}  // namespace

TEST_CASE("T4 line: first come, first served, whatever the sessions") {
    TestLine world(8, false);
    CHECK(world.line.empty());
    CHECK(world.line.head() == GateLine::none);
    for (std::uint32_t waiter : {3U, 1U, 2U, 0U})
        world.append(waiter, waiter % 2);
    CHECK(world.order() == std::vector<std::uint32_t>{3, 1, 2, 0});
    world.line.pop();
    CHECK(world.line.remove_if([](std::uint32_t waiter) { return waiter == 2; }) == 1);
    CHECK(world.order() == std::vector<std::uint32_t>{1, 0});
    CHECK(world.line.remove_if([](std::uint32_t) { return true; }) == 2);
    CHECK(world.line.empty());
    world.append(5, 0);
    CHECK(world.order() == std::vector<std::uint32_t>{5});
}

TEST_CASE("T16 line: sessions take turns, a newcomer goes behind every other session's first") {
    TestLine world(16, true);
    for (std::uint32_t waiter : {0U, 1U, 2U})
        world.append(waiter, 100);
    world.append(3, 200);
    world.append(4, 300);
    CHECK(world.order() == std::vector<std::uint32_t>{0, 3, 4, 1, 2});
    world.line.pop();  // 100 had its turn
    CHECK(world.order() == std::vector<std::uint32_t>{3, 4, 1, 2});
    world.append(5, 400);
    CHECK(world.order() == std::vector<std::uint32_t>{3, 4, 1, 5, 2});
}

TEST_CASE("T4 T16 line: goes as the naive one in random sequences") {
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const bool by_session = seed % 2 == 0;
        constexpr std::uint32_t size = 24;
        TestLine world(size, by_session);
        NaiveLine naive{by_session, {}};
        std::vector<std::uint32_t> free;
        for (std::uint32_t i = 0; i < size; ++i)
            free.push_back(i);
        for (int step = 0; step < 200; ++step) {
            const auto what = random() % 8;
            if (what < 4 && !free.empty()) {
                const std::uint32_t waiter = free.back();
                free.pop_back();
                const std::uint64_t session = random() % 7;
                world.append(waiter, session);
                naive.append(waiter, session);
            } else if (what < 6 && !world.line.empty()) {
                free.push_back(world.line.head());
                world.line.pop();
                naive.pop();
            } else if (what == 6) {
                std::vector<std::uint32_t> gone;
                world.line.remove_if([&](std::uint32_t waiter) {
                    if (random() % 4 != 0)
                        return false;
                    gone.push_back(waiter);
                    return true;
                });
                for (const std::uint32_t waiter : gone) {
                    naive.remove(waiter);
                    free.push_back(waiter);
                }
            }
            REQUIRE(world.order() == naive.order());
            REQUIRE(world.line.empty() == naive.ring.empty());
        }
    }
}

TEST_CASE(
    "T10 backoff word: doubles inside a pause only, up to the maximum; length and end do not touch each "
    "other") {
    constexpr BackoffRules rules{.base_ms = 100, .max_ms = 350, .jitter = 0};
    constexpr std::int64_t ms = 1'000'000;
    BackoffWord word = BackoffWord::of(100, 0);
    word = rate_limited(word, false, rules, 0, 0, 0);
    CHECK(word.length_ms() == 100);
    CHECK(pause_left_ns(word, 0) == 100 * ms);
    word = rate_limited(word, true, rules, 50 * ms, 0, 0);
    CHECK(word.length_ms() == 200);
    CHECK(pause_left_ns(word, 50 * ms) == 200 * ms);
    word = rate_limited(word, true, rules, 60 * ms, 0, 0);
    CHECK(word.length_ms() == 350);
    CHECK(pause_left_ns(word, 410 * ms) == 0);
    word = rate_limited(word, true, rules, 500 * ms, 0, 0);  // the flag is late: the pause is over
    CHECK(word.length_ms() == 350);
    word = went_well(word, rules);
    CHECK(word.length_ms() == 175);
    CHECK(pause_left_ns(word, 500 * ms) == 350 * ms);
    CHECK(went_well(word, rules).length_ms() == 100);
    // A stale end does not count when the gate is not paused.
    CHECK(pause_left_ns(rate_limited(word, false, rules, 510 * ms, 0, 0), 510 * ms) == 175 * ms);
}

TEST_CASE(
    "T10 backoff word: the end is good to the microsecond, never too early, and over wraps of its 42 bits") {
    constexpr BackoffRules rules{.base_ms = 1, .max_ms = 3'600'000, .jitter = 0};
    for (const std::int64_t start :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{999}, std::int64_t{1'234'567},
          (std::int64_t{1} << 42) * 1'000 - 500'000, (std::int64_t{1} << 43) * 1'000 + 17}) {
        const BackoffWord word = rate_limited(BackoffWord::of(1, 0), false, rules, start, 0, 0);
        CHECK(pause_left_ns(word, start) >= 1'000'000);
        CHECK(pause_left_ns(word, start) < 1'001'000);
        CHECK(pause_left_ns(word, start + 999'000) > 0);
        CHECK(pause_left_ns(word, start + 1'001'000) <= 0);
        CHECK(pause_left_ns(word, start + 86'400'000'000'000) <= 0);
    }
    const BackoffWord longest =
        rate_limited(BackoffWord::of(1, 0), false, rules, 5, 1'000'000'000'000'000'000, 0.5);
    CHECK(pause_left_ns(longest, 5) == longest_pause_ns + 995);
}

TEST_CASE("T10 jitter: a number of a seed and a count, in [0, 1), and not the same one") {
    double least = 1, most = 0;
    for (std::uint64_t n = 0; n < 1'000; ++n) {
        const double x = jitter_number(3, n);
        CHECK(x == jitter_number(3, n));
        CHECK(x != jitter_number(4, n));
        least = std::min(least, x);
        most = std::max(most, x);
    }
    CHECK(least >= 0);
    CHECK(most < 1);
    CHECK(least < 0.01);
    CHECK(most > 0.99);
}

TEST_CASE("T11 pacing: each start an interval after the start before, none early, the first at once") {
    const PacedStart first = paced_start(never_started, 1'000, 100);
    CHECK(first.wait_ns == 0);
    CHECK(first.last_start_at == 1'000);
    const PacedStart second = paced_start(first.last_start_at, 1'000, 100);
    CHECK(second.wait_ns == 100);
    const PacedStart third = paced_start(second.last_start_at, 1'050, 100);
    CHECK(third.wait_ns == 150);
    CHECK(third.last_start_at == 1'200);
    CHECK(paced_start(third.last_start_at, 5'000, 100).wait_ns == 0);
    CHECK(paced_start(7, 7, 0).wait_ns == 0);
}
