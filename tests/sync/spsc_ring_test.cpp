// Goal: every element comes out once, whole, in order; full and empty are told truly.
// Method: a small ring, so that both ends are hit all the time, and elements that show if they were torn. The
// same stress must fail on a ring that publishes before it fills, and on one that overruns its consumer.
#include "sync/spsc_ring.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace sluice {

namespace {

struct Element {
    std::uint64_t number = 0;
    std::array<std::uint64_t, 3> check{};
    [[nodiscard]] static Element of(std::uint64_t n) {
        return {n, {~n, n * 3, n + 7}};
    }
    [[nodiscard]] bool whole() const {
        return check == of(number).check;
    }
};

struct PublishesBeforeFilling : sync::SpscRingRules {
    static constexpr bool fill_before_publish = false;
    static void rest() noexcept {
        std::this_thread::yield();
    }
};
struct OverrunsByOne : sync::SpscRingRules {
    static constexpr std::size_t overrun = 1;
};

template <typename Rules, std::size_t Capacity>
std::uint64_t violations(std::uint64_t count) {
    sync::SpscRing<Element, Capacity, Rules> ring;
    std::atomic<std::uint64_t> wrong{0};
    test::run_together(2, [&](unsigned me) {
        test::Random random(me);
        const auto pause = [&random] {
            if (random.one_in(8)) {
                std::this_thread::yield();
            }
        };
        if (me == 0) {
            for (std::uint64_t n = 0; n < count && wrong.load(std::memory_order_relaxed) == 0; ++n) {
                while (!ring.try_push(Element::of(n)) && wrong.load(std::memory_order_relaxed) == 0) {
                    pause();
                }
            }
            return;
        }
        Element element;
        for (std::uint64_t n = 0; n < count && wrong.load(std::memory_order_relaxed) == 0; ++n) {
            while (!ring.try_pop(element)) {
                pause();
            }
            if (element.number != n || !element.whole()) {
                wrong.fetch_add(1);
            }
        }
        wrong.fetch_add(ring.try_pop(element) && wrong.load() == 0 ? 1 : 0);
    });
    return wrong.load();
}

}  // namespace

TEST_CASE("in order, up to the capacity, round and round") {
    sync::SpscRing<int, 4> ring;
    int out = -1;
    CHECK(ring.empty());
    CHECK_FALSE(ring.try_pop(out));
    CHECK(out == -1);
    for (int lap = 0; lap < 10; ++lap) {
        for (int i = 0; i < 4; ++i) {
            CHECK(ring.try_push(10 * lap + i));
        }
        CHECK_FALSE(ring.try_push(99));
        CHECK_FALSE(ring.empty());
        for (int i = 0; i < 4; ++i) {
            CHECK(ring.try_pop(out));
            CHECK(out == 10 * lap + i);
        }
        CHECK_FALSE(ring.try_pop(out));
        CHECK(ring.empty());
        CHECK(ring.try_push(1));  // shift the lap against the slots
        CHECK(ring.try_pop(out));
    }
}

TEST_CASE("the smallest ring holds one") {
    sync::SpscRing<char, 1> ring;
    char out = 0;
    CHECK(ring.try_push('a'));
    CHECK_FALSE(ring.try_push('b'));
    CHECK(ring.try_pop(out));
    CHECK(out == 'a');
}

TEST_CASE("producer and consumer do not share a line") {
    using Ring = sync::SpscRing<char, 64>;
    static_assert(alignof(Ring) == sync::cache_line);
    static_assert(sizeof(Ring) == 3 * sync::cache_line);
}

TEST_CASE("stress: every element comes out once, whole, in order") {
    const std::uint64_t count = test::under_sanitizer ? 100'000 : 500'000;
    CHECK(violations<sync::SpscRingRules, 4>(count) == 0);
    CHECK(violations<sync::SpscRingRules, 256>(count) == 0);
}

// The planted bugs are data races, which is what ThreadSanitizer would say, and end the program.
TEST_CASE("the stress notices a ring that publishes before it fills" *
          doctest::skip(test::under_thread_sanitizer)) {
    CHECK(violations<PublishesBeforeFilling, 4>(1'000'000) > 0);
}

TEST_CASE("the stress notices a ring that overruns its consumer" *
          doctest::skip(test::under_thread_sanitizer)) {
    CHECK(violations<OverrunsByOne, 4>(20'000'000) > 0);
}

}  // namespace sluice
