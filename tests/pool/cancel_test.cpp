// Goal (P5, P6, field case P03): withdrawing by handle, call, group and altogether; run or cancelled, never both, never
// neither; place, bytes and closure are free when the call returns.
// Method: queued items behind held workers; then a million races between a worker and two cancellers over one item.
#include "pool/harness.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;
namespace lanes = sluice::pool_lanes;

namespace {

const auto nothing = [] {};

/// Destroyed on this thread, as its destructor says.
struct DiesHere {
    std::atomic<int>* count;
    std::thread::id here = std::this_thread::get_id();
    explicit DiesHere(std::atomic<int>& counter) : count(&counter) {}
    DiesHere(DiesHere&& other) noexcept : count(std::exchange(other.count, nullptr)), here(other.here) {}
    DiesHere(const DiesHere&) = delete;
    DiesHere& operator=(const DiesHere&) = delete;
    DiesHere& operator=(DiesHere&&) = delete;
    ~DiesHere() {
        if (count != nullptr)
            count->fetch_add(std::this_thread::get_id() == here ? 1 : 1000);
    }
};

}  // namespace

TEST_CASE("P6: cancel() by handle frees place and bytes, and destroys the closure here, before it returns") {
    PoolConfig config = small_pool(1, 2);
    config.max_queued_bytes = 10;
    BoundedPool pool(config);
    AllHeld held(pool);
    std::atomic<int> died{0};
    auto item = pool.enqueue(only, {.bytes = 10}, [d = DiesHere(died)] {});
    REQUIRE(item);
    CHECK(item->state() == ItemState::queued);
    CHECK_FALSE(pool.enqueue(only, {.bytes = 1}, nothing));
    CHECK(item->cancel());
    CHECK(died.load() == 1);
    CHECK(item->state() == ItemState::cancelled);
    CHECK_FALSE(item->cancel());
    CHECK(pool.snapshot().queued_bytes == 0);
    auto next = pool.enqueue(only, {.bytes = 10}, nothing);
    REQUIRE(next);
    held.open();
    CHECK(pool.wait_idle());
    CHECK(next->state() == ItemState::ran);
    CHECK_FALSE(next->cancel());
    CHECK(item->state() == ItemState::cancelled);  // whatever became of its neighbours
    const PoolTotals totals = pool.snapshot().items;
    CHECK((totals.cancelled == 1 && totals.ran == 2 && totals.accepted == 3));
    PoolItem empty;
    CHECK(empty.state() == ItemState::none);
    CHECK_FALSE(empty.cancel());
}

TEST_CASE(
    "P5: cancel_call removes the first of that id, in the order of the lanes, then of arrival; never the "
    "running one") {
    BoundedPool pool;
    AllHeld held(pool);
    auto late = pool.enqueue(lanes::bulk, {.call_id = "a"}, nothing);
    auto second = pool.enqueue(lanes::user, {.call_id = "a"}, nothing);
    auto other = pool.enqueue(lanes::control, {.call_id = "b"}, nothing);
    auto third = pool.enqueue(lanes::user, {.call_id = "a"}, nothing);
    auto first = pool.enqueue(lanes::control, {.call_id = "a", .group_id = "g"}, nothing);
    REQUIRE((late && second && other && third && first));
    for (PoolItem* expected : {&*first, &*second, &*third, &*late}) {
        CHECK(expected->state() == ItemState::queued);
        CHECK(pool.cancel_call("a"));
        CHECK(expected->state() == ItemState::cancelled);
    }
    CHECK_FALSE(pool.cancel_call("a"));
    CHECK_FALSE(pool.cancel_call(""));
    CHECK(other->state() == ItemState::queued);
    held.open();
    CHECK(pool.wait_idle());
    CHECK_FALSE(pool.cancel_call("b"));
    Gate gate;
    auto running = pool.enqueue(lanes::bulk, {.call_id = "r", .group_id = "r"}, [gate] { gate.pass(); });
    REQUIRE(running);
    REQUIRE(gate.reached_by(1));
    CHECK_FALSE(pool.cancel_call("r"));
    CHECK(pool.cancel_group("r") == 0);
    CHECK(pool.cancel_all_queued() == 0);
    CHECK(running->state() == ItemState::running);
    gate.open();
    CHECK(pool.wait_idle());
    CHECK(running->state() == ItemState::ran);
}

TEST_CASE(
    "P5: cancel_group and cancel_all_queued remove all that they mean, count them, and free what they held") {
    BoundedPool pool;
    AllHeld held(pool);
    std::atomic<int> died{0};
    std::vector<PoolItem> mine;
    std::vector<PoolItem> others;
    for (const PoolLane lane : {lanes::control, lanes::user, lanes::cheap, lanes::bulk}) {
        for (int i = 0; i < 5; ++i) {
            auto a = pool.enqueue(lane, {.group_id = "mine", .bytes = 3}, [d = DiesHere(died)] {});
            auto b = pool.enqueue(lane, {.call_id = "mine", .group_id = "others", .bytes = 4},
                                  [d = DiesHere(died)] {});
            REQUIRE((a && b));
            mine.push_back(*std::move(a));
            others.push_back(*std::move(b));
        }
    }
    CHECK(pool.cancel_group("mine") == 20);
    CHECK(died.load() == 20);
    CHECK(pool.snapshot().queued_bytes == 80);
    CHECK(pool.cancel_group("mine") == 0);
    CHECK(pool.cancel_group("") == 0);
    for (const PoolItem& item : others)
        CHECK(item.state() == ItemState::queued);
    CHECK(pool.cancel_all_queued() == 20);
    CHECK(died.load() == 40);
    CHECK(pool.snapshot().queued_bytes == 0);
    CHECK(pool.snapshot().items.queued == 0);
    CHECK(pool.snapshot().items.cancelled == 40);
    held.open();
}

TEST_CASE("P5: at any load: a hundred thousand items come and are cancelled behind one that cannot run") {
    BoundedPool pool(small_pool(1, 4));
    AllHeld held(pool);
    auto old = pool.enqueue(only, {}, nothing);
    REQUIRE(old);
    for (int i = 0; i < scaled(100'000); ++i) {
        auto item = pool.enqueue(only, {.call_id = "x"}, nothing);
        REQUIRE(item);
        REQUIRE(pool.enqueue(only, {.call_id = "y"}, nothing));
        REQUIRE(item->cancel());
        REQUIRE(pool.cancel_call("y"));
    }
    CHECK(pool.snapshot().compactions > 100);
    CHECK(old->state() == ItemState::queued);
    held.open();
    CHECK(pool.wait_idle());
    CHECK(old->state() == ItemState::ran);
}

TEST_CASE("P6, P03: run or cancelled, exactly one of them, in a million races") {
    BoundedPool pool(small_pool(2, 8));
    std::atomic<std::uint64_t> ran{0};
    std::uint64_t cancelled = 0;
    std::uint64_t neither = 0;
    std::uint64_t both = 0;
    const int rounds = under_sanitizer ? 50'000 : 1'000'000;
    std::int64_t delay_ns = 0;
    Random random(1);
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t before = ran.load();
        auto item = pool.enqueue(only, {.call_id = "c", .group_id = "g"}, [&] { ran.fetch_add(1); });
        REQUIRE(item);
        // So long that the worker and the cancellers win about equally often.
        const auto begin = steady_clock::now();
        while (steady_clock::now() - begin < std::chrono::nanoseconds(delay_ns) &&
               item->state() == ItemState::queued) {}
        bool won = false;
        switch (random.below(4)) {
            case 0:
                won = item->cancel();
                break;
            case 1:
                won = pool.cancel_call("c");
                break;
            case 2:
                won = pool.cancel_group("g") == 1;
                break;
            default:
                won = pool.cancel_all_queued() == 1;
        }
        cancelled += won ? 1 : 0;
        delay_ns = won ? delay_ns + 50 : delay_ns * 7 / 8;
        while (item->state() == ItemState::running || item->state() == ItemState::queued)
            std::this_thread::yield();
        const bool did_run = ran.load() != before;
        both += won && did_run ? 1 : 0;
        neither += !won && !did_run ? 1 : 0;
        REQUIRE(item->state() == (won ? ItemState::cancelled : ItemState::ran));
    }
    CHECK(both == 0);
    CHECK(neither == 0);
    CHECK(ran.load() + cancelled == static_cast<std::uint64_t>(rounds));
    CHECK(ran.load() > 0);
    CHECK(cancelled > 0);
    CHECK(pool.wait_idle());
    const PoolTotals totals = pool.snapshot().items;
    CHECK((totals.ran == ran.load() && totals.cancelled == cancelled));
    MESSAGE(ran.load() << " ran, " << cancelled << " were cancelled");
}

TEST_CASE("P6, P03: several cancellers of one item: one of them wins") {
    BoundedPool pool(small_pool(1, 4));
    const int rounds = scaled(20'000);
    std::optional<PoolItem> item;
    std::atomic<int> round{0};
    std::atomic<unsigned> arrived{0};
    std::atomic<int> wins{0};
    std::atomic<int> runs{0};
    int wrong = 0;
    run_together(3, [&](unsigned me) {
        for (int r = 1; r <= rounds; ++r) {
            if (me == 0) {
                wins.store(0);
                runs.store(0);
                auto next = pool.enqueue(only, {.call_id = "c", .group_id = "g"}, [&] { runs.fetch_add(1); });
                item.emplace(*std::move(next));
                arrived.store(0);
                round.store(r);
            }
            while (round.load() < r)
                std::this_thread::yield();
            const bool won = me == 0   ? item->cancel()
                             : me == 1 ? pool.cancel_call("c")
                                       : pool.cancel_group("g") != 0;
            wins.fetch_add(won ? 1 : 0);
            arrived.fetch_add(1);
            if (me != 0)
                continue;
            while (arrived.load() < 3 || item->state() == ItemState::running)
                std::this_thread::yield();
            wrong += wins.load() + runs.load() == 1 ? 0 : 1;
        }
    });
    CHECK(wrong == 0);
}
