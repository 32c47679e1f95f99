// Goal (P1 to P4, P2's errors, P15, field case P01): who gets in, who is refused, why, and in which order items are taken.
// Method: all workers are held at a gate, so what is queued stays queued.
#include "pool/harness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;
namespace lanes = sluice::pool_lanes;

namespace {

const auto nothing = [] {};

}  // namespace

TEST_CASE(
    "P2: each bound refuses with its name, its value, the count and a sentence, in the order total, lane, "
    "bytes") {
    BoundedPool pool;
    AllHeld held(pool);
    for (int i = 0; i < 16; ++i)
        REQUIRE(pool.post(lanes::control, {}, nothing));
    Error full = refusal_of(pool.enqueue(lanes::control, {.call_id = "c17"}, nothing));
    CHECK(full.value() == ErrorCode::queue_full);
    CHECK(full.limit().name == "lane");
    CHECK(full.limit().value == 16);
    CHECK(full.limit().count == 16);
    CHECK(full.message() ==
          "request 'c17': too many items are queued in lane 'control' (lane is 16, count is 16)");

    REQUIRE(pool.post(lanes::user, {.bytes = 1024 * 1024 - 10}, nothing));
    full = refusal_of(pool.enqueue(lanes::user, {.bytes = 11}, nothing));
    CHECK(full.value() == ErrorCode::queue_full);
    CHECK(full.limit().name == "bytes");
    CHECK(full.limit().value == 1024 * 1024);
    CHECK(full.limit().count == 1024 * 1024 - 10);
    CHECK(full.message() == "too many bytes are queued (bytes is 1048576, count is 1048566)");
    CHECK(refusal_of(pool.enqueue(lanes::control, {.bytes = 11}, nothing)).limit().name ==
          "lane");  // and bytes

    for (int i = 0; i < 32; ++i)
        REQUIRE(pool.post(lanes::bulk, {}, nothing));
    for (int i = 0; i < 15; ++i)
        REQUIRE(pool.post(lanes::cheap, {}, nothing));
    full = refusal_of(pool.enqueue(lanes::control, {.bytes = 11}, nothing));  // and lane, and bytes
    CHECK(full.value() == ErrorCode::queue_full);
    CHECK(full.limit().name == "total");
    CHECK(full.limit().value == 64);
    CHECK(full.limit().count == 64);
    CHECK(full.message() == "too many items are queued (total is 64, count is 64)");
    CHECK(full.code() == make_error_code(ErrorCode::queue_full));

    const PoolSnapshot now = pool.snapshot();
    CHECK(now.items.queued == 64);
    CHECK(now.queued_bytes == 1024 * 1024 - 10);
    CHECK(now.items.running == 16);
    CHECK((now.refused.total == 1 && now.refused.bytes == 1));
    CHECK(now.refused.lane == now.lanes[0].refused.lane);
    held.open();
    CHECK(pool.wait_idle());
    CHECK(pool.snapshot().items.ran >= 64 + 16);
    CHECK(pool.snapshot().queued_bytes == 0);
}

TEST_CASE("P01, P2: an item larger than the whole budget never fits, on an empty pool as on a full one") {
    PoolConfig config = small_pool(1, 2);
    config.max_queued_bytes = 100;
    BoundedPool pool(config);
    int calls = 0;
    const Error error = refusal_of(pool.enqueue(only, {.call_id = "big", .bytes = 101}, [&] { ++calls; }));
    CHECK(error.value() == ErrorCode::never_fits);
    CHECK(error.code() != make_error_code(ErrorCode::queue_full));
    CHECK(error.limit().name == "bytes");
    CHECK(error.limit().value == 100);
    CHECK(error.limit().count == 101);
    CHECK(error.message() ==
          "request 'big': the item's bytes exceed the whole budget for queued bytes (bytes is 100, count is "
          "101)");
    CHECK(refusal_of(pool.enqueue(only, {.bytes = ~std::uint64_t{0}}, nothing)).value() ==
          ErrorCode::never_fits);
    CHECK(pool.snapshot().items.accepted == 0);
    CHECK(pool.snapshot().refused.never_fits == 2);
    AllHeld held(pool);
    REQUIRE(pool.post(only, {.bytes = 100}, nothing));
    REQUIRE(pool.post(only, {.bytes = 0}, nothing));
    CHECK(refusal_of(pool.enqueue(only, {.bytes = 101}, nothing)).value() == ErrorCode::never_fits);
    held.open();
    CHECK(pool.wait_idle());
    CHECK(calls == 0);
}

TEST_CASE("P2: running items do not count, and their room is there before they begin") {
    BoundedPool pool(small_pool(3, 1));
    Gate gate;
    std::atomic<int> refused{0};
    for (unsigned i = 0; i < 3; ++i) {
        REQUIRE(pool.post(only, {}, [gate] { gate.pass(); }));
        REQUIRE(gate.reached_by(i + 1));
    }
    auto item = pool.enqueue(only, {}, nothing);
    REQUIRE(item);
    CHECK(item->state() == ItemState::queued);
    CHECK_FALSE(pool.enqueue(only, {}, nothing));
    gate.open();
    CHECK(pool.wait_idle());
    // Each job finds the room that it has left.
    for (int i = 0; i < 200; ++i) {
        REQUIRE(pool.post(only, {}, [&] { refused.fetch_add(pool.post(only, {}, nothing) ? 0 : 1); }));
        CHECK(pool.wait_idle());
    }
    CHECK(refused.load() == 0);
}

TEST_CASE("P1, P15: the highest lane first, FIFO within a lane") {
    BoundedPool pool;
    AllHeld held(pool);
    std::mutex mutex;
    std::vector<std::string> order;
    // One general worker comes free: the others stay inside.
    PoolConfig one;
    one.kinds = {{"general", 1, {"control", "user", "cheap", "bulk"}}};
    BoundedPool single(one);
    Gate gate;
    REQUIRE(single.post(lanes::bulk, {}, [gate] { gate.pass(); }));
    REQUIRE(gate.reached_by(1));
    const std::array<PoolLane, 4> table{lanes::control, lanes::user, lanes::cheap, lanes::bulk};
    for (int n = 0; n < 5; ++n) {
        for (std::size_t lane = 4; lane-- > 0;) {
            REQUIRE(single.post(table[lane], {}, [&, lane, n] {
                const std::lock_guard lock(mutex);
                order.push_back(std::to_string(lane) + std::to_string(n));
            }));
        }
    }
    gate.open();
    REQUIRE(single.wait_idle());
    std::vector<std::string> expected = order;
    std::ranges::sort(expected);
    CHECK(order.size() == 20);
    CHECK(order == expected);
    held.open();
}

TEST_CASE("P1: a worker runs only the lanes of its kind") {
    BoundedPool pool;
    Gate gate;
    for (unsigned i = 0; i < 10; ++i)
        REQUIRE(pool.post(lanes::bulk, {}, [gate] { gate.pass(); }));
    REQUIRE(gate.reached_by(10));
    REQUIRE(pool.post(lanes::bulk, {}, [gate] { gate.pass(); }));  // the six that sleep may not run it
    CHECK(stays([&] { return gate.entered() == 10; }));
    for (unsigned i = 0; i < 3; ++i)
        REQUIRE(pool.post(lanes::cheap, {}, [gate] { gate.pass(); }));
    REQUIRE(gate.reached_by(13));
    REQUIRE(pool.post(lanes::cheap, {}, [gate] { gate.pass(); }));
    CHECK(stays([&] { return gate.entered() == 13; }));
    for (unsigned i = 0; i < 2; ++i)
        REQUIRE(pool.post(lanes::user, {}, [gate] { gate.pass(); }));
    REQUIRE(gate.reached_by(15));
    REQUIRE(pool.post(lanes::user, {}, [gate] { gate.pass(); }));
    CHECK(stays([&] { return gate.entered() == 15; }));
    REQUIRE(pool.post(lanes::control, {}, [gate] { gate.pass(); }));
    REQUIRE(gate.reached_by(16));
    const PoolSnapshot now = pool.snapshot();
    CHECK((now.kinds[0].running == 1 && now.kinds[1].running == 2 && now.kinds[2].running == 3));
    CHECK(now.kinds[3].running == 10);
    CHECK(now.items.queued == 3);
    gate.open();
    CHECK(pool.wait_idle());
}

TEST_CASE("P4: ids are copied; too long ones and unknown lanes are refused with the value") {
    BoundedPool pool(small_pool(1, 4));
    const std::string longest(max_name_bytes, 'x');
    CHECK(pool.post(only, {.call_id = longest}, nothing));
    CHECK(pool.post(only, {.group_id = longest}, nothing));
    const Error error = refusal_of(pool.enqueue(only, {.call_id = longest, .group_id = "y"}, nothing));
    CHECK(error.value() == ErrorCode::invalid_argument);
    CHECK(error.limit().count == max_name_bytes + 1);
    const Error lane = refusal_of(pool.enqueue(PoolLane{1}, {}, nothing));
    CHECK(lane.value() == ErrorCode::invalid_argument);
    CHECK(lane.message() == "the pool has no such lane (lanes is 1, count is 1)");
    CHECK(pool.lane("only") == only);
    CHECK_FALSE(pool.lane("other").has_value());
    CHECK(pool.snapshot().refused.other == 2);
}

TEST_CASE("P2: refused, the job is untouched; accepted, it is destroyed once") {
    Tracked::Counts counts;
    {
        BoundedPool pool(small_pool(1, 1));
        AllHeld held(pool);
        auto job = [tracked = Tracked(counts)]() {};
        REQUIRE(pool.post(only, {}, nothing));
        CHECK_FALSE(pool.enqueue(only, {}, std::move(job)));
        CHECK(counts.alive.load() == 1);
        CHECK(counts.destroyed.load() == 0);
        CHECK(pool.cancel_all_queued() == 1);
        CHECK(pool.enqueue(only, {}, std::move(job)));
        held.open();
        CHECK(pool.wait_idle());
        CHECK(counts.alive.load() == 0);
    }
    CHECK(counts.destroyed.load() == 1);
}

TEST_CASE("a closure whose constructor throws gives its place back, and counts as discarded") {
    struct Throws {
        bool armed = true;
        Throws() = default;
        Throws(const Throws&) {
            throw 7;
        }
        void operator()() const {}
    };
    BoundedPool pool(small_pool(1, 1));
    AllHeld held(pool);
    const Throws job;
    CHECK_THROWS_AS((void)pool.post(only, {.bytes = 5}, job), int);
    const PoolSnapshot now = pool.snapshot();
    CHECK((now.items.discarded == 1 && now.items.queued == 0 && now.queued_bytes == 0));
    CHECK(balanced(now.items));
    CHECK(pool.post(only, {}, nothing));
    held.open();
    CHECK(pool.wait_idle());
}

TEST_CASE("a configuration that makes no sense is refused with a sentence") {
    PoolConfig config;
    config.max_queued = 0;
    const auto pool = BoundedPool::create(config);
    REQUIRE_FALSE(pool.has_value());
    CHECK(pool.error().value() == ErrorCode::invalid_argument);
    CHECK(pool.error().message() == "max_queued is 0, but must be 1..2^20");
    CHECK_THROWS_AS(BoundedPool{config}, Exception);
}
