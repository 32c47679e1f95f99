// Goal: a pool that may grow never says that it has nothing, however many threads take at the same time (E31); and with a
//       fixed capacity everybody gets what was promised.
// Method: threads that take until slab after slab is made, and give everything back; the moments at which slabs are made are
//       the ones that matter, so slabs are many and threads yield.
#include "memory/node_pool.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory_resource>
#include <thread>
#include <vector>

using namespace sluice;

namespace {

struct Node {
    std::atomic<int> users{0};
};

}  // namespace

TEST_CASE("E31 threads that take at the same time all get nodes, and no node is given twice") {
    constexpr unsigned threads = 8;
    for (int round = 0; round < 30; ++round) {
        memory::NodePool<Node> pool(std::pmr::new_delete_resource(), false);
        std::atomic<int> refused{0};
        std::atomic<int> doubled{0};
        test::run_together(threads, [&](unsigned) {
            memory::Cache cache;
            REQUIRE(pool.open(cache));
            std::vector<Node*> mine;
            for (int i = 0; i < 2'000; ++i) {
                Node* node = pool.take(cache);
                if (node == nullptr) {
                    refused.fetch_add(1);
                    continue;
                }
                doubled.fetch_add(node->users.fetch_add(1) == 0 ? 0 : 1);
                mine.push_back(node);
                if (i % 64 == 0)
                    std::this_thread::yield();
            }
            for (Node* node : mine) {
                node->users.fetch_sub(1);
                pool.give(cache, node);
            }
        });
        CHECK(refused.load() == 0);
        CHECK(doubled.load() == 0);
        CHECK(pool.close([](Node&) { return false; }));
    }
}

TEST_CASE("E31 a fixed capacity is there for one thread whatever the caches of the others hold back") {
    memory::NodePool<Node> pool(std::pmr::new_delete_resource(), true);
    REQUIRE(pool.reserve(500));
    memory::Cache mine;
    memory::Cache other;
    REQUIRE(pool.open(mine));
    REQUIRE(pool.open(other));
    std::vector<Node*> taken;
    for (int i = 0; i < 128; ++i)
        pool.give(other, pool.take(mine));
    while (Node* node = pool.take(mine))
        taken.push_back(node);
    CHECK(taken.size() >= 500);
    const std::uint64_t allocated = pool.allocated();
    CHECK(pool.take(mine) == nullptr);
    CHECK(pool.allocated() == allocated);
    for (Node* node : taken)
        pool.give(mine, node);
    CHECK(pool.close([](Node&) { return false; }));
}
