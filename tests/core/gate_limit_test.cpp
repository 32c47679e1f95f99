// Goal:   the adaptive limit moves as its rules say, between floor and ceiling (T17).
// Method: windows by hand; a toy provider whose turns take longer the more there are.

#include "core/gate_limit.hpp"
#include "core/words/window_word.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace sluice;
using namespace sluice::core;

namespace {
constexpr double ms = 1e6;
}

TEST_CASE(
    "T17 AIMD: one more a window, a tenth less at a rate limit, once a window, between floor and ceiling") {
    AdaptiveLimit limit({LimitPolicy::aimd, 2, 12}, 10);
    limit.window_ended({5 * ms, 10});
    CHECK(limit.limit() == 11);
    limit.window_ended({5 * ms, 11});
    limit.window_ended({5 * ms, 12});
    CHECK(limit.limit() == 12);
    limit.rate_limited();
    CHECK(limit.limit() == 10);
    limit.rate_limited();  // the turns of the same window heard it too
    CHECK(limit.limit() == 10);
    limit.window_ended({5 * ms, 12});  // a window with a rate limit does not raise
    CHECK(limit.limit() == 10);
    for (int i = 0; i < 100; ++i) {
        limit.rate_limited();
        limit.window_ended({5 * ms, 12});
    }
    CHECK(limit.limit() == 2);
}

TEST_CASE("T17: a window in which less than half was used says nothing") {
    for (const LimitPolicy policy : {LimitPolicy::aimd, LimitPolicy::gradient}) {
        AdaptiveLimit limit({policy, 1, 100}, 10);
        for (int i = 0; i < 50; ++i)
            limit.window_ended({5 * ms, 4});
        CHECK(limit.limit() == 10);
        limit.window_ended({5 * ms, 5});
        limit.window_ended({5 * ms, 6});
        CHECK(limit.limit() >= 11);
    }
}

TEST_CASE(
    "T17 gradient: grows while turns take what they usually take, shrinks when they take longer, recovers") {
    AdaptiveLimit limit({LimitPolicy::gradient, 1, 64}, 8);
    for (int i = 0; i < 20; ++i)
        limit.window_ended({100 * ms, limit.limit()});
    const std::uint32_t grown = limit.limit();
    CHECK(grown > 16);
    for (int i = 0; i < 10; ++i)
        limit.window_ended({400 * ms, limit.limit()});
    const std::uint32_t shrunk = limit.limit();
    CHECK(shrunk < grown * 3 / 4);
    for (int i = 0; i < 40; ++i)
        limit.window_ended({100 * ms, limit.limit()});
    CHECK(limit.limit() > shrunk);
}

TEST_CASE("T17 gradient: comes to rest near what the provider can do at once") {
    AdaptiveLimit limit({LimitPolicy::gradient, 1, 200}, 50);
    std::uint32_t capacity = 30;
    // Turns take 100 ms while there is capacity, and share it beyond.
    const auto settle = [&] {
        for (int i = 0; i < 300; ++i) {
            const double in_flight = limit.limit();
            limit.window_ended({100 * ms * std::max(1.0, in_flight / capacity), limit.limit()});
        }
        return limit.limit();
    };
    const std::uint32_t wide = settle();
    CHECK(wide >= 30);
    capacity = 10;
    for (int i = 0; i < 20; ++i)
        limit.window_ended({100 * ms * std::max(1.0, limit.limit() / 10.0), limit.limit()});
    CHECK(limit.limit() < wide);
}

TEST_CASE("Window word: count and time do not touch each other, and nothing overflows") {
    WindowWord word;
    for (int i = 0; i < 70'000; ++i)
        word = one_ended(word, 3'000'000'999);
    CHECK(word.count() == 60'000);
    CHECK(word.total_us() == 60'000ULL * 3'000'000);
    CHECK(one_ended({}, -5) == WindowWord{1});
}
