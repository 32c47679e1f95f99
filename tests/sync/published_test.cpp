// Goal: a reader sees one publication whole, never an older one after a newer one, and never waits for the
// writer.
// Method: a value whose words all say the same, torn apart by readers on the other CPU. The same stress must
// fail on a twin that does not look at the version again.
#include "sync/published.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace sluice {

namespace {

struct Odd {  // a size that is no multiple of a word, and padding inside
    std::uint8_t a = 0;
    std::uint32_t b = 0;
    std::uint8_t c = 0;
    friend bool operator==(const Odd&, const Odd&) = default;
};

struct Wide {
    std::array<std::uint64_t, 32> words{};
};

struct TrustsTheFirstLook : sync::PublishedRules {
    static constexpr bool check_version_again = false;
};

struct Outcome {
    std::uint64_t torn = 0;
    std::uint64_t backwards = 0;
    std::uint64_t reads = 0;
};

template <typename Rules>
Outcome race(std::uint64_t publications, unsigned readers, std::uint64_t stop_after_torn) {
    sync::Published<Wide, Rules> published;
    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> torn{0};
    std::atomic<std::uint64_t> backwards{0};
    std::atomic<std::uint64_t> reads{0};
    test::run_together(readers + 1, [&](unsigned me) {
        test::Random random(me);
        if (me == 0) {
            Wide value;
            for (std::uint64_t i = 1; i <= publications && torn.load() < stop_after_torn; ++i) {
                value.words.fill(i);
                published.publish(value);
                for (std::uint64_t pause = random.below(32); pause > 0; --pause) {
                    sync::relax();
                }
            }
            done.store(true);
            return;
        }
        std::uint64_t newest = 0;
        while (!done.load()) {
            const std::uint64_t before = published.version();
            const Wide value = published.read();
            for (const std::uint64_t word : value.words) {
                if (word != value.words[0]) {
                    torn.fetch_add(1);
                    break;
                }
            }
            if (value.words[0] < newest || value.words[0] < before) {
                backwards.fetch_add(1);
            }
            newest = value.words[0];
            reads.fetch_add(1, std::memory_order_relaxed);
        }
    });
    return {torn.load(), backwards.load(), reads.load()};
}

}  // namespace

TEST_CASE("the value comes back as it was, whatever its size") {
    sync::Published<Odd> published;
    CHECK(published.read() == Odd{});
    CHECK(published.version() == 0);
    published.publish({1, 0xFFFF'FFFF, 3});
    CHECK(published.read() == Odd{1, 0xFFFF'FFFF, 3});
    published.publish({4, 5, 6});
    CHECK(published.read() == Odd{4, 5, 6});
    CHECK(published.version() == 2);
    sync::Published<char> small('x');
    CHECK(small.read() == 'x');
}

TEST_CASE("E29 stress: readers see whole values in order") {
    const std::uint64_t publications = test::under_thread_sanitizer ? 50'000 : 1'000'000;
    const Outcome outcome = race<sync::PublishedRules>(publications, 2, UINT64_MAX);
    MESSAGE(outcome.reads, " reads");
    CHECK(outcome.torn == 0);
    CHECK(outcome.backwards == 0);
    CHECK(outcome.reads > 0);
}

TEST_CASE("the stress notices a reader that does not look again") {
    CHECK(race<TrustsTheFirstLook>(20'000'000, 2, 1).torn > 0);
}

}  // namespace sluice
