// Goal: never more permits out than there are, none lost, and a taker who announces itself hears of the next
// one.
// Method: count holders from many threads; then the handshake of permits.hpp with one permit and two threads.
// The same stress must fail on permits that look first and take afterwards.
#include "sync/permits.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace sluice {

namespace {

struct LooksThenTakes : sync::PermitsRules {
    static constexpr bool take_by_cas = false;
    static void rest() noexcept {
        std::this_thread::yield();
    }
};

// How often there were more holders than permits, plus the permits that were missing or surplus in the end.
template <typename Rules>
std::uint64_t violations(std::uint32_t capacity, unsigned threads, std::uint64_t rounds) {
    sync::BasicPermits<Rules> permits(capacity);
    std::atomic<std::uint32_t> holders{0};
    std::atomic<std::uint64_t> wrong{0};
    test::run_together(threads, [&](unsigned me) {
        test::Random random(me);
        for (std::uint64_t round = 0; round < rounds && wrong.load(std::memory_order_relaxed) == 0; ++round) {
            if (!permits.try_take()) {
                continue;
            }
            wrong.fetch_add(holders.fetch_add(1) < capacity ? 0 : 1);
            if (random.one_in(32)) {
                std::this_thread::yield();
            }
            holders.fetch_sub(1);
            permits.give_back();
        }
    });
    return wrong.load() + (capacity - permits.available());
}

}  // namespace

TEST_CASE("E9: as many permits as there are, and no more") {
    sync::Permits permits(2);
    CHECK(permits.capacity() == 2);
    CHECK(permits.try_take());
    CHECK(permits.available() == 1);
    CHECK(permits.try_take());
    CHECK_FALSE(permits.try_take());
    CHECK(permits.available() == 0);
    permits.give_back();
    CHECK(permits.try_take());
    permits.give_back();
    permits.give_back();
    CHECK(permits.available() == 2);
    sync::Permits none(0);
    CHECK_FALSE(none.try_take());
}

TEST_CASE("E9 stress: never more holders than permits, and all are back in the end") {
    const std::uint64_t rounds = test::under_thread_sanitizer ? 50'000 : 500'000;
    CHECK(violations<sync::PermitsRules>(1, 3, rounds) == 0);
    CHECK(violations<sync::PermitsRules>(2, 4, rounds) == 0);
}

TEST_CASE("the stress notices permits that look first and take afterwards") {
    CHECK(violations<LooksThenTakes>(1, 4, 1'000'000) > 0);
}

TEST_CASE("E9: what a holder wrote is visible to the next one") {
    const std::uint64_t rounds = test::under_thread_sanitizer ? 30'000 : 200'000;
    sync::Permits permits(1);
    std::uint64_t guarded = 0;  // plain on purpose: ThreadSanitizer checks the order
    std::atomic<std::uint64_t> total{0};
    test::run_together(3, [&](unsigned) {
        std::uint64_t mine = 0;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (permits.try_take()) {
                ++guarded;
                ++mine;
                permits.give_back();
            }
        }
        total.fetch_add(mine);
    });
    CHECK(guarded == total.load());
}

// Both threads give the permit back before they look for the other's flag. If neither saw the other, both
// would now think that nobody needs to be told, while one of them found no permit.
TEST_CASE("stress: a taker who announced itself gets the permit, or is seen by the giver") {
    const std::uint64_t rounds = test::under_thread_sanitizer ? 5'000 : 30'000;
    sync::Permits permits(1);
    std::atomic<bool> wanted{false};
    std::atomic<std::uint64_t> round_of_giver{0};
    std::atomic<std::uint64_t> round_of_taker{0};
    std::atomic<std::uint64_t> missed{0};
    std::atomic<bool> got{false};
    std::atomic<bool> seen{false};
    const auto meet = [](std::atomic<std::uint64_t>& mine, const std::atomic<std::uint64_t>& other,
                         std::uint64_t round) {
        mine.store(round);
        while (other.load() < round) {
            std::this_thread::yield();
        }
    };
    REQUIRE(permits.try_take());
    test::run_together(2, [&](unsigned me) {
        test::Random random(me);
        for (std::uint64_t round = 0; round < rounds; ++round) {
            // The giver holds the permit here, and the flag is down.
            me == 0 ? meet(round_of_giver, round_of_taker, 2 * round + 1)
                    : meet(round_of_taker, round_of_giver, 2 * round + 1);
            for (std::uint64_t spin = random.below(30); spin > 0; --spin) {
                sync::relax();
            }
            if (me == 0) {
                permits.give_back();
                seen.store(wanted.load(std::memory_order_seq_cst));
            } else {
                wanted.store(true, std::memory_order_seq_cst);
                got.store(permits.try_take());
            }
            me == 0 ? meet(round_of_giver, round_of_taker, 2 * round + 2)
                    : meet(round_of_taker, round_of_giver, 2 * round + 2);
            if (me == 0) {
                missed.fetch_add(!got.load() && !seen.load() ? 1 : 0);
                if (!got.load()) {
                    missed.fetch_add(permits.try_take() ? 0 : 1);
                }
                wanted.store(false);
            }
        }
    });
    CHECK(missed.load() == 0);
}

}  // namespace sluice
