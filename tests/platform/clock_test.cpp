// Goal: time runs forward, and the cycle counter measures the same durations as the clock.
// Method: read both around a busy wait.
#include "platform/clock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace sluice {

TEST_CASE("the clock never goes back") {
    std::int64_t last = platform::now_ns();
    for (int i = 0; i < 100'000; ++i) {
        const std::int64_t now = platform::now_ns();
        REQUIRE(now >= last);
        last = now;
    }
}

TEST_CASE("cycles measure what the clock measures") {
    CHECK(platform::ns_per_cycle() > 0.05);  // 20 GHz
    CHECK(platform::ns_per_cycle() < 100.0);
    CHECK(platform::ns_per_cycle() == platform::ns_per_cycle());

    // The best of some tries: a preemption between two readings makes one of them wrong, not the clock.
    double best = 1.0;
    for (int attempt = 0; attempt < 5; ++attempt) {
        const std::int64_t begin = platform::now_ns();
        const std::uint64_t begin_cycles = platform::cycles();
        while (platform::now_ns() - begin < 10'000'000) {
            platform::cpu_relax();
        }
        const std::int64_t elapsed = platform::now_ns() - begin;
        const std::int64_t counted = platform::cycles_to_ns(platform::cycles() - begin_cycles);
        best = std::min(best, std::abs(1.0 - static_cast<double>(counted) / static_cast<double>(elapsed)));
    }
    CHECK(best < 0.01);
}

TEST_CASE("a difference that went below zero is no time at all") {
    CHECK(platform::cycles_to_ns(0) == 0);
    CHECK(platform::cycles_to_ns(std::uint64_t{0} - 40) == 0);
    CHECK(platform::cycles_to_ns(1'000'000) > 0);
}

}  // namespace sluice
