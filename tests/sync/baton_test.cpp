// Goal:   one holder at a time, and no work is left behind by a holder that was asked, whoever asks when.
// Method: threads put numbers into a shared count and ask; holders take the count with a plain variable that only they may
//         touch. Two mutants (put down although asked; look, then take) must fail the same stress.
#include "sync/baton.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace sluice {

namespace {

struct PutsDownAsked : sync::BatonRules {
    static constexpr bool go_round = false;
};
struct LooksThenTakes : sync::BatonRules {
    static constexpr bool take_by_cas = false;
    static void rest() noexcept {
        std::this_thread::yield();
    }
};

// How often two held the baton at once, plus the rounds after which work was left although nobody held it. After `together`
// rounds all threads meet and look, for at most some seconds: on a loaded machine a meeting takes milliseconds.
template <typename Rules>
std::uint64_t violations(unsigned threads, std::uint64_t rounds, std::uint64_t together,
                         std::chrono::seconds at_most = std::chrono::seconds(2)) {
    sync::BasicBaton<Rules> baton;
    std::atomic<std::uint64_t> to_do{0};
    std::atomic<unsigned> holders{0};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> arrived{0};
    std::atomic<bool> over{false};
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + at_most;
    test::run_together(threads, [&](unsigned me) {
        test::Random random(me);
        std::uint64_t meetings = 0;
        const auto meet = [&] {
            ++meetings;
            arrived.fetch_add(1);
            while (arrived.load() < meetings * threads)
                std::this_thread::yield();
        };
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            // Relaxed: that the holder sees it is what the baton promises.
            to_do.fetch_add(1, std::memory_order_relaxed);
            if (baton.ask()) {
                do {
                    wrong.fetch_add(holders.fetch_add(1) == 0 ? 0 : 1);
                    const std::uint64_t found = to_do.load(std::memory_order_relaxed);
                    if (random.one_in(4 * together))
                        std::this_thread::yield();
                    to_do.fetch_sub(found, std::memory_order_relaxed);
                    holders.fetch_sub(1);
                    // A mutant may have lost its word to another holder's, and would go round for ever.
                } while (wrong.load(std::memory_order_relaxed) == 0 && !baton.put_down());
            }
            if (round % together != 0)
                continue;
            meet();
            if (me == 0) {
                wrong.fetch_add(to_do.load());
                over.store(wrong.load() != 0 || Clock::now() >= deadline);
            }
            meet();
            if (over.load())
                return;
        }
    });
    return wrong.load();
}

}  // namespace

TEST_CASE("Baton: who asks first holds it, who asks later is looked after") {
    sync::Baton baton;
    CHECK_FALSE(baton.held());
    REQUIRE(baton.ask());
    CHECK(baton.held());
    CHECK_FALSE(baton.ask());
    CHECK_FALSE(baton.ask());
    CHECK_FALSE(baton.put_down());  // two asked, one look is enough for both
    CHECK(baton.put_down());
    CHECK_FALSE(baton.held());
    CHECK(baton.ask());
    CHECK(baton.put_down());
}

TEST_CASE("Baton stress: one holder at a time, and nothing is left behind") {
    const std::uint64_t rounds = test::under_thread_sanitizer ? 20'000 : 200'000;
    CHECK(violations<sync::BatonRules>(4, rounds, 1'000) == 0);
    CHECK(violations<sync::BatonRules>(2, rounds / 10, 1) == 0);
    CHECK(violations<sync::BatonRules>(3, rounds / 10, 1) == 0);
}

TEST_CASE("the stress notices a baton that is put down although somebody asked") {
    CHECK(violations<PutsDownAsked>(3, 1'000'000, 1, std::chrono::seconds(60)) > 0);
}

TEST_CASE("the stress notices a baton that is looked at and then taken") {
    CHECK(violations<LooksThenTakes>(3, 1'000'000, 1, std::chrono::seconds(60)) > 0);
}

TEST_CASE("Baton: what a holder wrote is visible to the next one") {
    const std::uint64_t rounds = test::under_thread_sanitizer ? 20'000 : 100'000;
    sync::Baton baton;
    std::uint64_t guarded = 0;  // plain on purpose: ThreadSanitizer checks the order
    std::atomic<std::uint64_t> turns{0};
    test::run_together(3, [&](unsigned) {
        std::uint64_t mine = 0;
        for (std::uint64_t round = 0; round < rounds; ++round) {
            if (!baton.ask())
                continue;
            do {
                ++guarded;
                ++mine;
            } while (!baton.put_down());
        }
        turns.fetch_add(mine);
    });
    CHECK(guarded == turns.load());
}

}  // namespace sluice
