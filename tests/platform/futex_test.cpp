// Goal: nobody sleeps through a change; a timeout lasts as long as asked; a wake needs no live word.
// Method: hand a word back and forth, count time, and wake addresses that are gone.
#include "platform/futex.hpp"

#include "platform/clock.hpp"
#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <thread>

namespace sluice {
using platform::WaitResult;

TEST_CASE("a wait on a word that has another value returns at once") {
    const std::atomic<std::uint32_t> word{1};
    platform::address_wait(word, 0);
    CHECK(platform::address_wait_for(word, 0, 1'000'000'000'000) == WaitResult::changed_or_woken);
    CHECK(platform::address_wait_for(word, 0, 0) == WaitResult::changed_or_woken);
}

TEST_CASE("a timed wait lasts at least as long as asked, and not much longer") {
    const std::atomic<std::uint32_t> word{0};
    CHECK(platform::address_wait_for(word, 0, 0) == WaitResult::timed_out);
    CHECK(platform::address_wait_for(word, 0, -1) == WaitResult::timed_out);
    const std::int64_t begin = platform::now_ns();
    while (platform::address_wait_for(word, 0, 20'000'000) != WaitResult::timed_out) {
        // an early return is allowed
    }
    const std::int64_t elapsed = platform::now_ns() - begin;
    CHECK(elapsed >= 20'000'000);
    CHECK(elapsed < 5'000'000'000);  // loaded machine
}

TEST_CASE("the longest timeout does not overflow") {
    std::atomic<std::uint32_t> word{0};
    std::jthread waker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        word.store(1);
        platform::address_wake_all(word);
    });
    while (word.load() == 0) {
        CHECK(platform::address_wait_for(word, 0, INT64_MAX) == WaitResult::changed_or_woken);
    }
}

TEST_CASE("a wake on an address without a word behind it is harmless") {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): no object is there, that is the point
    const auto& unmapped = *reinterpret_cast<const std::atomic<std::uint32_t>*>(std::uintptr_t{64});
    platform::address_wake_one(unmapped);
    platform::address_wake_all(unmapped);
}

TEST_CASE("wake_all reaches every sleeper") {
    constexpr std::uint32_t sleepers = 6;
    std::atomic<std::uint32_t> word{0};
    std::atomic<std::uint32_t> asleep{0};
    test::run_together(sleepers + 1, [&](unsigned i) {
        if (i < sleepers) {
            asleep.fetch_add(1);
            while (word.load() == 0) {
                platform::address_wait(word, 0);
            }
            return;
        }
        while (asleep.load() != sleepers) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        word.store(1);
        platform::address_wake_all(word);
    });
}

// One of the two would sleep for ever if a wake were lost between the look at the word and the sleep. The
// orders are the weakest that the contract allows, because the portable twin must not lean on a seq_cst store
// of its caller.
TEST_CASE("stress: turns handed back and forth are never lost") {
    const std::uint32_t turns = test::under_thread_sanitizer ? 10'000 : 50'000;
    std::atomic<std::uint32_t> word{0};
    test::run_together(2, [&](unsigned me) {
        test::Random random(me);
        for (std::uint32_t turn = me; turn < turns; turn += 2) {
            for (;;) {
                const std::uint32_t now = word.load(std::memory_order_acquire);
                if (now == turn) {
                    break;
                }
                if (random.one_in(2)) {
                    platform::address_wait(word, now);
                } else {
                    static_cast<void>(platform::address_wait_for(word, now, 3'600'000'000'000));
                }
            }
            word.store(turn + 1, std::memory_order_release);
            random.one_in(2) ? platform::address_wake_one(word) : platform::address_wake_all(word);
        }
    });
    CHECK(word.load() >= turns);
}

}  // namespace sluice
