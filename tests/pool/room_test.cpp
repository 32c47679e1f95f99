// Goal (P13): enqueue_for waits for room, first come first served; newcomers do not overtake; a full lane holds up no other;
// whoever runs out of time, or finds the pool closed, is let go at once and leaves nothing behind.
// Method: held workers, so that room is made by cancelling; then many threads with short patience.
#include "pool/harness.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

const auto nothing = [] {};

PoolConfig two_lanes() {
    PoolConfig config;
    config.max_queued = 4;
    config.max_queued_bytes = 100;
    config.lanes = {{"a", 2, {}}, {"b", 4, {}}};
    config.kinds = {{"all", 1, {"a", "b"}}};
    return config;
}
constexpr PoolLane a{0};
constexpr PoolLane b{1};

[[nodiscard]] bool waiting_is(BoundedPool& pool, std::size_t lane, std::uint64_t count) {
    return eventually([&] { return pool.snapshot().lanes[lane].waiting == count; });
}

}  // namespace

TEST_CASE("P13: room made by a cancellation, or by a worker, admits the first who waits") {
    BoundedPool pool(two_lanes());
    AllHeld held(pool);
    auto first = pool.enqueue(a, {}, nothing);
    REQUIRE(first);
    REQUIRE(pool.post(a, {}, nothing));
    std::atomic<int> ran{0};
    std::jthread waiter([&] {
        const auto item = pool.enqueue_for(patience, a, {}, [&] { ran.fetch_add(1); });
        CHECK(item.has_value());
    });
    REQUIRE(waiting_is(pool, 0, 1));
    CHECK(first->cancel());
    waiter.join();
    CHECK(pool.snapshot().lanes[0].queued == 2);
    CHECK(pool.snapshot().lanes[0].waiting == 0);
    std::jthread second(
        [&] { CHECK(pool.enqueue_for(patience, a, {}, [&] { ran.fetch_add(1); }).has_value()); });
    REQUIRE(waiting_is(pool, 0, 1));
    held.open();
    second.join();
    CHECK(pool.wait_idle());
    CHECK(ran.load() == 2);
}

TEST_CASE(
    "P13: first come, first served; a newcomer of the lane does not overtake, another lane is not held up") {
    BoundedPool pool(two_lanes());
    AllHeld held(pool);
    auto large = pool.enqueue(b, {.bytes = 60}, nothing);
    REQUIRE(large);
    std::vector<std::jthread> waiters;
    std::atomic<int> order{0};
    std::array<std::atomic<int>, 3> came{};
    for (std::size_t i = 0; i < 3; ++i) {
        // The first needs more bytes than there are; the others would fit.
        waiters.emplace_back([&, i] {
            const auto item = pool.enqueue_for(patience, b, {.bytes = i == 0 ? 50U : 1U}, nothing);
            CHECK(item.has_value());
            came[i].store(order.fetch_add(1) + 1);
        });
        REQUIRE(waiting_is(pool, 1, i + 1));
    }
    const Error behind = refusal_of(pool.enqueue(b, {.bytes = 1}, nothing));
    CHECK(behind.value() == ErrorCode::queue_full);
    CHECK(behind.limit().name == "waiting");
    CHECK(behind.limit().count == 3);
    CHECK(pool.snapshot().refused.waiters == 1);
    CHECK(pool.enqueue(a, {.bytes = 1}, nothing));
    CHECK(stays([&] { return order.load() == 0; }));
    CHECK(large->cancel());
    waiters.clear();
    CHECK(order.load() == 3);
    CHECK(pool.snapshot().lanes[1].queued == 3);
    CHECK(pool.cancel_all_queued() == 4);
    held.open();
}

TEST_CASE("P13: the order of arrival is the order of admission") {
    BoundedPool pool(two_lanes());
    AllHeld held(pool);
    REQUIRE(pool.post(a, {.call_id = "old"}, nothing));
    REQUIRE(pool.post(a, {.call_id = "old"}, nothing));
    std::vector<std::jthread> waiters;
    std::array<std::atomic<bool>, 5> in{};
    for (std::size_t i = 0; i < 5; ++i) {
        waiters.emplace_back([&, i] {
            CHECK(pool.enqueue_for(patience, a, {.call_id = "new"}, nothing).has_value());
            in[i].store(true);
        });
        REQUIRE(waiting_is(pool, 0, i + 1));
    }
    for (std::size_t i = 0; i < 5; ++i) {
        CHECK((pool.cancel_call("old") || pool.cancel_call("new")));
        REQUIRE(eventually([&] { return in[i].load(); }));
        for (std::size_t later = i + 1; later < 5; ++later)
            CHECK_FALSE(in[later].load());
    }
    held.open();
}

TEST_CASE("P13: out of time names the bound, leaves the line, and lets the next one come to the front") {
    BoundedPool pool(two_lanes());
    AllHeld held(pool);
    REQUIRE(pool.post(b, {.bytes = 60}, nothing));
    int calls = 0;
    const auto begin = steady_clock::now();
    const Error late = refusal_of(pool.enqueue_for(20ms, b, {.bytes = 50}, [&] { ++calls; }));
    CHECK(steady_clock::now() - begin >= 20ms);
    CHECK(late.value() == ErrorCode::queue_full);
    CHECK(late.limit().name == "bytes");
    CHECK(pool.snapshot().lanes[1].waiting == 0);
    // The one in front gives up: the next is admitted at once, without any further room.
    std::jthread front([&] { CHECK_FALSE(pool.enqueue_for(100ms, b, {.bytes = 50}, nothing).has_value()); });
    REQUIRE(waiting_is(pool, 1, 1));
    std::jthread next([&] { CHECK(pool.enqueue_for(patience, b, {.bytes = 1}, nothing).has_value()); });
    next.join();
    front.join();
    CHECK(pool.snapshot().lanes[1].queued == 2);
    CHECK(refusal_of(pool.enqueue_for(0ms, b, {.bytes = 50}, nothing)).limit().name == "bytes");
    CHECK(refusal_of(pool.enqueue_for(patience, b, {.bytes = 101}, nothing)).value() ==
          ErrorCode::never_fits);
    CHECK(pool.enqueue_for(patience, b, {.bytes = 2}, nothing));
    held.open();
    CHECK(pool.wait_idle());
    CHECK(calls == 0);
}

TEST_CASE(
    "P13, P9: the end of the pool lets all go who wait; a job of the pool is not made to wait for itself") {
    for (int round = 0; round < scaled(60); ++round) {
        std::atomic<int> told{0};
        std::vector<std::jthread> waiters;
        {
            BoundedPool pool(two_lanes());
            AllHeld held(pool);
            REQUIRE(pool.post(a, {}, nothing));
            REQUIRE(pool.post(a, {}, nothing));
            for (int i = 0; i < 3; ++i) {
                waiters.emplace_back([&] {
                    const auto item = pool.enqueue_for(patience, a, {}, nothing);
                    // In the rounds without shutdown() the opened gate may make room before the pool ends.
                    const bool closed = !item && item.error().value() == ErrorCode::shut_down;
                    told.fetch_add(closed || (item && round % 2 != 0) ? 1 : 0);
                });
            }
            REQUIRE(waiting_is(pool, 0, 3));
            if (round % 2 == 0)
                pool.shutdown(Shutdown::drain);
            held.open();
        }
        waiters.clear();
        REQUIRE(told.load() == 3);
    }
    BoundedPool pool(two_lanes());
    ErrorCode inside{};
    REQUIRE(pool.post(b, {}, [&] {
        while (pool.post(a, {}, nothing)) {}
        inside = pool.enqueue_for(patience, a, {}, nothing).error().value();
    }));
    CHECK(pool.wait_idle());
    CHECK(inside == ErrorCode::would_deadlock);
}

TEST_CASE(
    "P13, P16 stress: waiting, running out of time, running and cancelling; all adds up, nobody is left "
    "waiting") {
    BoundedPool pool(two_lanes());
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> ran{0};
    std::atomic<std::uint64_t> wrong{0};
    const auto end = steady_clock::now() + (under_sanitizer ? 2s : 1s);
    run_together(6, [&](unsigned me) {
        Random random(me);
        while (steady_clock::now() < end) {
            const PoolLane lane = random.one_in(2) ? a : b;
            const ItemMeta meta{.group_id = "g", .bytes = random.below(60)};
            const auto span = std::chrono::microseconds(random.one_in(4) ? 20'000 : random.below(300));
            auto item = pool.enqueue_for(span, lane, meta, [&] { ran.fetch_add(1); });
            if (item) {
                accepted.fetch_add(1);
            } else {
                refused.fetch_add(1);
                wrong.fetch_add(item.error().value() == ErrorCode::queue_full ? 0 : 1);
            }
            if (random.one_in(16))
                (void)pool.cancel_group("g");
        }
    });
    REQUIRE(pool.wait_idle_for(patience));
    const PoolSnapshot now = pool.snapshot();
    CHECK(wrong.load() == 0);
    CHECK(now.items.accepted == accepted.load());
    CHECK(now.items.ran == ran.load());
    CHECK(now.items.ran + now.items.cancelled == accepted.load());
    CHECK((now.lanes[0].waiting == 0 && now.lanes[1].waiting == 0 && now.queued_bytes == 0));
    CHECK(accepted.load() > 0);
    MESSAGE(accepted.load() << " admitted, " << refused.load() << " out of time");
}
