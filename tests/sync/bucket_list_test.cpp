// Goal: of equal nodes one at most is in the list, no node is freed while somebody can reach it, and none stays behind.
// Method: few keys and many threads that insert, find and remove, with pauses where they hurt; nodes are poisoned when they
// are freed and looked at while they are held. The same stress must fail on lists that free too early, that do not look
// again after leaving, and that insert where the head has moved.
#include "sync/bucket_list.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

namespace sluice {

namespace {

constexpr std::uint64_t keys = 3;
constexpr std::uint64_t freed_key = 99;

struct Node {
    std::atomic<std::uint64_t> key{freed_key};  // atomic: a mutant's readers look at it too late
    std::atomic<bool> freed{false};
    sync::atomic<std::uintptr_t> link{0};
    Node* next_retired = nullptr;
};

struct Paused : sync::BucketListRules {
    static void pause() noexcept {
        std::this_thread::yield();
    }
};
struct FreesTooEarly : Paused {
    static constexpr bool waits_for_visitors = false;
};
struct LooksNoMore : Paused {
    static constexpr bool looks_again = false;
};
struct LetsEqualsIn : Paused {
    static constexpr bool keeps_equals_out = false;
};

struct Wrong {
    std::uint64_t reached_freed = 0;
    std::uint64_t two_of_a_key = 0;
    std::uint64_t left_behind = 0;
    std::uint64_t never_freed = 0;
};

// Nodes are never used twice here, so that what is wrong stays visible. In each round all threads end outside.
template <typename Rules>
Wrong play(unsigned threads, unsigned rounds, unsigned steps) {
    Wrong wrong;
    std::atomic<std::uint64_t> reached_freed{0};
    std::atomic<std::uint64_t> two_of_a_key{0};
    for (unsigned round = 0; round < rounds; ++round) {
        sync::BucketList<Node, Rules> list;
        std::array<std::atomic<int>, keys> owners{};
        std::array<std::deque<Node>, 8> nodes;
        const auto free_it = [](Node& node) { node.freed.store(true); };
        test::run_together(threads, [&](unsigned me) {
            test::Random random(std::uint64_t{round} * 64 + me);
            for (unsigned step = 0; step < steps; ++step) {
                const std::uint64_t key = random.below(keys);
                const auto slowly = [&](Node& node) {
                    if (random.one_in(6))
                        std::this_thread::yield();
                    if (node.freed.load())
                        reached_freed.fetch_add(1);
                    return node.key.load() == key;
                };
                list.visit();
                if (random.one_in(2)) {
                    Node& fresh = nodes[me].emplace_back();
                    fresh.key.store(key);
                    if (list.insert(fresh, slowly) == nullptr) {
                        if (owners[key].fetch_add(1) != 0)
                            two_of_a_key.fetch_add(1);
                        if (random.one_in(2))
                            std::this_thread::yield();
                        owners[key].fetch_sub(1);
                        list.remove(fresh);
                    } else {
                        fresh.freed.store(true);  // never was in
                    }
                } else if (Node* const found = list.find(slowly)) {
                    std::this_thread::yield();
                    if (found->freed.load())
                        reached_freed.fetch_add(1);
                }
                list.leave(free_it);
            }
        });
        for (const auto& of_thread : nodes) {
            for (const Node& node : of_thread)
                wrong.left_behind += node.freed.load() ? 0U : 1U;
        }
        wrong.never_freed += list.seems_empty() ? 0U : 1U;
    }
    wrong.reached_freed = reached_freed.load();
    wrong.two_of_a_key = two_of_a_key.load();
    return wrong;
}

constexpr unsigned some_rounds = test::under_sanitizer ? 10 : 50;

}  // namespace

TEST_CASE("S7 S9 the bucket list keeps its promises") {
    for (const Wrong& wrong :
         {play<sync::BucketListRules>(4, some_rounds, 200), play<Paused>(4, some_rounds, 200)}) {
        CHECK(wrong.reached_freed == 0);
        CHECK(wrong.two_of_a_key == 0);
        CHECK(wrong.left_behind == 0);
        CHECK(wrong.never_freed == 0);
    }
}

TEST_CASE("the stress finds a list that frees too early") {
    std::uint64_t found = 0;
    for (int i = 0; i < 200 && found == 0; ++i)
        found = play<FreesTooEarly>(4, some_rounds, 200).reached_freed;
    CHECK(found > 0);
}

TEST_CASE("the stress finds a list that does not look again") {
    std::uint64_t found = 0;
    for (int i = 0; i < 200 && found == 0; ++i)
        found = play<LooksNoMore>(4, some_rounds, 40).left_behind;
    CHECK(found > 0);
}

TEST_CASE("the stress finds a list that lets equals in") {
    std::uint64_t found = 0;
    for (int i = 0; i < 200 && found == 0; ++i)
        found = play<LetsEqualsIn>(4, some_rounds, 200).two_of_a_key;
    CHECK(found > 0);
}

TEST_CASE("S9 a node that was removed makes room for an equal one, and its second removal does nothing") {
    sync::BucketList<Node> list;
    Node first;
    Node second;
    first.key.store(1);
    second.key.store(1);
    int freed = 0;
    const auto count = [&](Node& node) {
        CHECK(&node == &first);
        ++freed;
    };
    const auto is_one = [](const Node& node) { return node.key.load() == 1; };
    list.visit();
    CHECK(list.insert(first, is_one) == nullptr);
    CHECK(list.insert(second, is_one) == &first);
    CHECK(list.remove(first));
    CHECK(list.insert(second, is_one) == nullptr);
    CHECK_FALSE(list.remove(first));
    CHECK(list.find(is_one) == &second);
    CHECK(freed == 0);
    list.leave(count);
    CHECK(freed == 1);
}

}  // namespace sluice
