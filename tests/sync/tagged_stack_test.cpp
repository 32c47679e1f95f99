// Goal: each index has one owner at a time, and none is lost.
// Method: few indices, many threads, and a pause between a popper's load and its CAS, which is where ABA
// strikes. The same stress must fail on a stack whose tag stands still.
#include "sync/tagged_stack.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

namespace sluice {

namespace {

constexpr std::uint32_t elements = 4;

struct TagStandsStill : sync::TaggedStackRules {
    static constexpr std::uint32_t tag_step = 0;
};

// A link that rests after it was read, so that much happens before the reader's CAS.
struct SlowLink {
    std::atomic<std::uint32_t>& link;
    test::Random& random;

    [[nodiscard]] std::uint32_t load(std::memory_order order) const {
        const std::uint32_t below = link.load(order);
        if (random.one_in(8)) {
            std::this_thread::yield();
        }
        return below;
    }
    void store(std::uint32_t below, std::memory_order order) const {
        link.store(below, order);
    }
};

// How often an index had two owners, plus how many indices were missing in the end.
template <typename Rules>
std::uint64_t violations(unsigned threads, std::uint64_t rounds) {
    sync::BasicTaggedStack<Rules> stack;
    std::array<std::atomic<std::uint32_t>, elements> link{};
    std::array<std::atomic<int>, elements> owners{};
    const auto plain_links = [&link](std::uint32_t i) -> std::atomic<std::uint32_t>& { return link[i]; };
    for (std::uint32_t i = 0; i < elements; ++i) {
        stack.push(i, plain_links);
    }
    std::atomic<std::uint64_t> wrong{0};
    test::run_together(threads, [&](unsigned me) {
        test::Random random(me);
        const auto slow_links = [&](std::uint32_t i) { return SlowLink{link[i], random}; };
        std::vector<std::uint32_t> mine;
        for (std::uint64_t round = 0; round < rounds && wrong.load(std::memory_order_relaxed) == 0; ++round) {
            for (std::uint64_t take = 1 + random.below(3); take > 0; --take) {
                if (const auto index = stack.pop(slow_links)) {
                    wrong.fetch_add(owners[*index].fetch_add(1) == 0 ? 0 : 1);
                    mine.push_back(*index);
                }
            }
            if (random.one_in(8)) {
                std::this_thread::yield();
            }
            while (!mine.empty()) {
                const std::size_t at = random.below(mine.size());
                const std::uint32_t index = mine[at];
                mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(at));
                owners[index].fetch_sub(1);
                stack.push(index, slow_links);
            }
        }
    });
    std::set<std::uint32_t> left;
    for (std::uint32_t i = 0; i <= elements; ++i) {  // bounded: a broken stack may be a ring
        if (const auto index = stack.pop(plain_links)) {
            wrong.fetch_add(left.insert(*index).second ? 0 : 1);
        }
    }
    return wrong.load() + (elements - left.size());
}

}  // namespace

TEST_CASE("last in, first out") {
    sync::TaggedStack stack;
    std::array<std::atomic<std::uint32_t>, 3> link{};
    const auto links = [&link](std::uint32_t i) -> std::atomic<std::uint32_t>& { return link[i]; };
    CHECK_FALSE(stack.pop(links));
    CHECK(stack.seems_empty());
    stack.push(2, links);
    stack.push(0, links);
    stack.push(1, links);
    CHECK_FALSE(stack.seems_empty());
    CHECK(stack.pop(links) == 1U);
    CHECK(stack.pop(links) == 0U);
    stack.push(1, links);
    CHECK(stack.pop(links) == 1U);
    CHECK(stack.pop(links) == 2U);
    CHECK_FALSE(stack.pop(links));
}

TEST_CASE("what the pusher wrote is visible to the popper") {
    const std::uint32_t rounds = test::under_thread_sanitizer ? 20'000 : 200'000;
    sync::TaggedStack stack;
    std::array<std::atomic<std::uint32_t>, elements> link{};
    std::array<std::uint64_t, elements> payload{};  // plain on purpose: ThreadSanitizer checks the order
    const auto links = [&link](std::uint32_t i) -> std::atomic<std::uint32_t>& { return link[i]; };
    for (std::uint32_t i = 0; i < elements; ++i) {
        stack.push(i, links);
    }
    std::atomic<std::uint64_t> total{0};
    test::run_together(3, [&](unsigned) {
        std::uint64_t mine = 0;
        for (std::uint32_t round = 0; round < rounds; ++round) {
            if (const auto index = stack.pop(links)) {
                ++payload[*index];
                ++mine;
                stack.push(*index, links);
            }
        }
        total.fetch_add(mine);
    });
    std::uint64_t sum = 0;
    for (const std::uint64_t n : payload) {
        sum += n;
    }
    CHECK(sum == total.load());
}

TEST_CASE("stress: each index has one owner, and none is lost") {
    CHECK(violations<sync::TaggedStackRules>(4, test::under_thread_sanitizer ? 20'000 : 100'000) == 0);
}

TEST_CASE("the stress notices a stack without a tag") {
    CHECK(violations<TagStandsStill>(4, 1'000'000) > 0);
}

}  // namespace sluice
