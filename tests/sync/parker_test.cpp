// Goal: a token is never lost, never doubled, and a sleeping owner is always woken.
// Method: tokens in known orders; then two owners who hand a turn to each other, where one lost token stops
// both. The same stress must fail on a parker with a planted bug.
#include "sync/parker.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace sluice {

TEST_CASE("an unpark that comes first makes the next park return at once, once") {
    sync::Parker parker;
    parker.unpark();
    parker.unpark();
    parker.park();
    CHECK_FALSE(parker.park_for(0));  // two unparks made one token
    parker.unpark();
    CHECK(parker.park_for(0));
    CHECK_FALSE(parker.park_for(1'000'000));
    parker.unpark();
    CHECK(parker.park_for(INT64_MAX));
}

TEST_CASE("a timeout leaves no trace") {
    sync::Parker parker;
    CHECK_FALSE(parker.park_for(2'000'000));
    CHECK_FALSE(parker.park_for(-1));
    std::jthread waker([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        parker.unpark();
    });
    parker.park();
}

TEST_CASE("the owner may destroy the parker as soon as it has the token") {
    for (int i = 0; i < 2'000; ++i) {
        auto parker = std::make_unique<sync::Parker>();
        const std::jthread waker([address = parker.get()] { address->unpark(); });
        parker->park();
        parker.reset();  // the waker may still be on its way to the system call
    }
}

// The flags are relaxed on purpose: they tell the threads when to act and order nothing, so that
// ThreadSanitizer finds the plain data unordered unless the one token carries what both unparkers did.
TEST_CASE("an owner who takes one token for two unparks sees what came before either") {
    const int rounds = test::under_sanitizer ? 2'000 : 20'000;
    sync::Parker parker;
    std::array<std::atomic<int>, 2> unparked{};
    std::atomic<int> read{0};
    std::array<int, 2> written{};
    std::atomic<int> wrong{0};
    const auto await = [](const std::atomic<int>& flag, int value) {
        while (flag.load(std::memory_order_relaxed) != value) {
            std::this_thread::yield();
        }
    };
    test::run_together(3, [&](unsigned me) {
        for (int round = 1; round <= rounds; ++round) {
            if (me < 2) {
                // Acquire: the owner has read the last round before it is overwritten.
                while (read.load(std::memory_order_acquire) != round - 1) {
                    std::this_thread::yield();
                }
                if (me == 1) {
                    await(unparked[0], round);
                }
                written[me] = round;
                parker.unpark();
                unparked[me].store(round, std::memory_order_relaxed);
                continue;
            }
            await(unparked[1], round);
            parker.park();
            wrong.fetch_add(written[0] == round && written[1] == round ? 0 : 1, std::memory_order_relaxed);
            read.store(round, std::memory_order_release);
        }
    });
    CHECK(wrong.load() == 0);
    CHECK_FALSE(parker.park_for(0));
}

namespace {

// Two threads pass a ball; whoever has it unparks the other. Returns how often a park took so long that a
// token or a wake must have been lost.
template <typename Parker>
int lost_balls(int passes, std::chrono::milliseconds patience, int stop_after) {
    std::array<Parker, 2> parkers;
    std::atomic<int> lost{0};
    std::atomic<bool> stop{false};
    // Each pass is a change of threads, which takes a busy machine a thousand times as long as an idle one.
    const std::int64_t enough = sync::now_ns() + 3'000'000'000;
    const auto patience_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(patience).count();
    test::run_together(2, [&](unsigned me) {
        test::Random random(me);
        for (int i = 0; i < passes && !stop.load(); ++i) {
            if (me == 0 || i > 0) {
                parkers[1 - me].unpark();
            }
            // A short wait of a random length shifts the sleep of one against the unpark of the other.
            for (std::uint64_t spin = random.below(200); spin > 0; --spin) {
                sync::relax();
            }
            const std::int64_t begin = sync::now_ns();
            const bool token = parkers[me].park_for(patience_ns);
            if (!token || sync::now_ns() - begin >= patience_ns) {
                lost.fetch_add(1);
            }
            if (lost.load() >= stop_after || sync::now_ns() > enough) {
                stop.store(true);
            }
        }
        parkers[1 - me].unpark();  // the other one may sleep; it finds the ball, and that all is over
    });
    return lost.load();
}

struct ForgetsTheWake : sync::ParkerRules {
    static constexpr bool wake_a_parked_owner = false;
};
struct OnlySignals : sync::ParkerRules {
    static constexpr bool leave_a_token = false;
};

}  // namespace

TEST_CASE("stress: two owners who unpark each other never lose a token") {
    const int passes = test::under_sanitizer ? 20'000 : 100'000;
    CHECK(lost_balls<sync::Parker>(passes, std::chrono::seconds(20), 1) == 0);
}

TEST_CASE("the stress notices a parker that forgets to wake") {
    CHECK(lost_balls<sync::BasicParker<ForgetsTheWake>>(20'000, std::chrono::milliseconds(50), 3) > 0);
}

TEST_CASE("the stress notices a parker that leaves no token") {
    CHECK(lost_balls<sync::BasicParker<OnlySignals>>(20'000, std::chrono::milliseconds(50), 1) > 0);
}

}  // namespace sluice
