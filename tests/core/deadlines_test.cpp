// Goal:   the timing wheel ends what is due, all of it and nothing else, and says in time when to be called (E24).
// Method: random histories at every scale of time, from a nanosecond to beyond the wheel's top level, beside a sorted set.

#include "core/deadlines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <set>
#include <utility>
#include <vector>

using namespace sluice::core;

namespace {

struct Wheel {
    Deadlines deadlines;
    std::deque<JobTimer> timers;
    std::set<std::pair<Nanos, JobTimer*>> standing;

    void add(Nanos deadline) {
        JobTimer& timer = timers.emplace_back();
        timer.deadline = deadline;
        deadlines.add(timer);
        standing.emplace(deadline, &timer);
    }
    void remove(std::size_t which) {
        auto at = std::next(standing.begin(), static_cast<std::ptrdiff_t>(which % standing.size()));
        deadlines.remove(*at->second);
        standing.erase(at);
    }
    /// What ended, sorted.
    std::vector<Nanos> expire(Nanos now, std::uint32_t most = ~0U) {
        std::vector<Nanos> ended;
        more = deadlines.expire(now, most, [&](JobTimer& timer) {
            deadlines.remove(timer);
            REQUIRE(standing.erase({timer.deadline, &timer}) == 1);
            ended.push_back(timer.deadline);
        });
        std::ranges::sort(ended);
        return ended;
    }
    [[nodiscard]] Nanos earliest() const {
        return standing.empty() ? Deadlines::never : standing.begin()->first;
    }
    bool more = false;
};

}  // namespace

TEST_CASE("E24 what is due ends, nothing else does, and the next call is never asked for too late") {
    for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        Wheel wheel;
        Nanos now = static_cast<Nanos>(random() % 1'000'000'000'000);
        (void)wheel.expire(now);
        for (int step = 0; step < 20'000; ++step) {
            // A distance of any scale: 2^0 to 2^57 ns.
            const auto distance = [&] {
                return static_cast<Nanos>(random() % (std::uint64_t{1} << (1 + random() % 57)));
            };
            switch (random() % 4) {
                case 0:
                case 1:
                    wheel.add(now + distance() - (random() % 8 == 0 ? 100'000 : 0));
                    break;
                case 2:
                    if (!wheel.standing.empty())
                        wheel.remove(random());
                    break;
                default: {
                    // Mostly small steps, sometimes years.
                    now += random() % 200 == 0 ? distance() : static_cast<Nanos>(random() % 3'000'000);
                    const auto due =
                        std::ranges::count_if(wheel.standing, [&](const auto& d) { return d.first <= now; });
                    CHECK(wheel.expire(now).size() == static_cast<std::size_t>(due));
                    CHECK_FALSE(wheel.more);
                    CHECK((wheel.standing.empty() || wheel.earliest() > now));
                }
            }
            REQUIRE(wheel.deadlines.size() == wheel.standing.size());
            REQUIRE(wheel.deadlines.next_call() <= wheel.earliest());
            REQUIRE((wheel.deadlines.next_call() == Deadlines::never) == wheel.standing.empty());
        }
    }
}

TEST_CASE("E24 who calls when asked ends each deadline at its time, after a few calls at most") {
    std::mt19937_64 random(7);
    Wheel wheel;
    for (int i = 0; i < 500; ++i)
        wheel.add(static_cast<Nanos>(random() % (std::uint64_t{1} << (10 + random() % 46))));
    int calls = 0;
    while (!wheel.standing.empty()) {
        const Nanos earliest = wheel.earliest();
        const Nanos now = wheel.deadlines.next_call();
        REQUIRE(now <= earliest);
        const auto ended = wheel.expire(now);
        if (now < earliest)
            CHECK(ended.empty());
        else
            CHECK(std::ranges::all_of(ended, [&](Nanos deadline) { return deadline == now; }));
        ++calls;
    }
    CHECK(calls <= 500 * 7);
}

TEST_CASE("E24 a call may be bounded, and the rest ends in later ones") {
    Wheel wheel;
    for (int i = 0; i < 100; ++i)
        wheel.add(5'000 + i % 3);
    CHECK(wheel.expire(4'999).empty());
    CHECK(wheel.expire(6'000, 30).size() == 30);
    CHECK(wheel.more);
    CHECK(wheel.deadlines.next_call() <= 6'000);
    CHECK(wheel.expire(6'000, 70).size() == 70);
    CHECK(wheel.expire(6'000).empty());
    CHECK_FALSE(wheel.more);
    CHECK(wheel.deadlines.next_call() == Deadlines::never);
}
