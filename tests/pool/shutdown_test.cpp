// Goal (P9, field cases P05, X01, X02): the end of a pool, whoever brings it about, and whatever is under way.
#include "pool/harness.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;
namespace lanes = sluice::pool_lanes;

namespace {

const auto nothing = [] {};

}  // namespace

TEST_CASE("P9: destruction discards what is queued, joins what runs, and handles say so afterwards") {
    Tracked::Counts counts;
    std::atomic<bool> ended{false};
    std::optional<PoolItem> queued;
    std::optional<PoolItem> running;
    std::optional<PoolItem> cancelled;
    {
        Gate gate;
        auto pool = std::make_optional<BoundedPool>(small_pool(1, 8));
        running = *pool->enqueue(only, {}, [&, gate] {
            gate.pass();
            std::this_thread::sleep_for(5ms);
            ended.store(true);
        });
        REQUIRE(gate.reached_by(1));
        queued = *pool->enqueue(only, {}, [tracked = Tracked(counts)] {});
        cancelled = *pool->enqueue(only, {}, nothing);
        CHECK(cancelled->cancel());
        std::jthread opener([gate] {
            std::this_thread::sleep_for(5ms);
            gate.open();
        });
        pool.reset();
    }
    CHECK(ended.load());
    CHECK(counts.alive.load() == 0);
    CHECK(queued->state() == ItemState::discarded);
    CHECK(running->state() == ItemState::ran);
    CHECK(cancelled->state() == ItemState::cancelled);
    CHECK_FALSE(queued->cancel());
}

TEST_CASE("P9: after shutdown(), and from a job during destruction, items are refused with shut_down") {
    std::atomic<int> refused{0};
    {
        BoundedPool pool(small_pool(1, 8));
        Gate gate;
        REQUIRE(pool.post(only, {}, [&, gate] {
            gate.pass();
            for (int i = 0; i < 100; ++i) {
                const auto item = pool.enqueue(only, {}, nothing);
                if (!item && item.error().value() == ErrorCode::shut_down)
                    refused.fetch_add(1);
                std::this_thread::sleep_for(100us);
            }
        }));
        REQUIRE(gate.reached_by(1));
        gate.open();
        std::this_thread::sleep_for(2ms);
    }
    CHECK(refused.load() > 0);
    BoundedPool pool(small_pool(1, 8));
    CHECK(pool.wait_shut_down_for(1ms).error().value() == ErrorCode::would_deadlock);
    pool.shutdown(Shutdown::drain);
    const Error error = refusal_of(pool.enqueue(only, {.call_id = "late"}, nothing));
    CHECK(error.value() == ErrorCode::shut_down);
    CHECK(error.message() == "request 'late': the pool is shut down");
    CHECK(pool.wait_shut_down());
    CHECK(pool.snapshot().refused.shut_down == 1);
}

TEST_CASE("P9: drain runs all that was accepted; a drain can be turned into a cancel") {
    {
        BoundedPool pool;
        std::atomic<int> ran{0};
        AllHeld held(pool);
        for (int i = 0; i < 16; ++i) {
            for (const PoolLane lane : {lanes::control, lanes::user, lanes::cheap, lanes::bulk})
                REQUIRE(pool.post(lane, {}, [&] { ran.fetch_add(1); }));
        }
        pool.shutdown(Shutdown::drain);
        CHECK(pool.wait_shut_down_for(5ms).error().value() == ErrorCode::timed_out);
        held.open();
        CHECK(pool.wait_shut_down());
        CHECK(ran.load() == 64);
        CHECK(pool.snapshot().items.discarded == 0);
    }
    BoundedPool pool(small_pool(1, 8));
    Gate gate;
    REQUIRE(pool.post(only, {}, [gate] { gate.pass(); }));
    REQUIRE(gate.reached_by(1));
    auto item = pool.enqueue(only, {}, nothing);
    pool.shutdown(Shutdown::drain);
    CHECK(item->state() == ItemState::queued);
    pool.shutdown(Shutdown::cancel);
    CHECK(item->state() == ItemState::discarded);
    gate.open();
    CHECK(pool.wait_shut_down());
    CHECK(balanced(pool.snapshot().items));
    CHECK(pool.snapshot().items.discarded == 1);
}

TEST_CASE(
    "P05: every item before, during and after shutdown is accepted or refused, and each accepted one ends "
    "once") {
    for (int round = 0; round < scaled(150); ++round) {
        const Shutdown mode = round % 2 == 0 ? Shutdown::cancel : Shutdown::drain;
        BoundedPool pool(small_pool(2, 32));
        std::atomic<std::uint64_t> accepted{0};
        std::atomic<std::uint64_t> ran{0};
        std::atomic<std::uint64_t> wrong{0};
        std::atomic<std::uint64_t> discarded{0};
        run_together(4, [&](unsigned me) {
            if (me == 3) {
                std::this_thread::sleep_for(std::chrono::microseconds(round % 40));
                pool.shutdown(mode);
                return;
            }
            std::vector<PoolItem> mine;
            for (;;) {
                auto item = pool.enqueue(only, {}, [&] { ran.fetch_add(1); });
                if (item) {
                    accepted.fetch_add(1);
                    mine.push_back(*std::move(item));
                } else if (item.error().value() == ErrorCode::shut_down) {
                    break;
                } else if (item.error().value() != ErrorCode::queue_full) {
                    wrong.fetch_add(1);
                }
            }
            wrong.fetch_add(pool.wait_shut_down_for(patience) ? 0 : 1);
            for (const PoolItem& item : mine) {
                discarded.fetch_add(item.state() == ItemState::discarded ? 1 : 0);
                wrong.fetch_add(item.state() == ItemState::discarded || item.state() == ItemState::ran ? 0
                                                                                                       : 1);
            }
        });
        REQUIRE(wrong.load() == 0);
        REQUIRE(accepted.load() == ran.load() + discarded.load());
        const PoolTotals totals = pool.snapshot().items;
        REQUIRE((totals.accepted == accepted.load() && totals.ran == ran.load() &&
                 totals.discarded == discarded.load()));
        REQUIRE((mode == Shutdown::cancel || discarded.load() == 0));
    }
}

TEST_CASE("X02: destroying the pool from one of its own workers does not join itself; the threads end") {
    for (int round = 0; round < scaled(100); ++round) {
        auto threads = std::make_shared<ThreadCounts>();
        PoolConfig config = small_pool(3, 8);
        config.on_thread_start = [threads](std::string_view) { threads->started.fetch_add(1); };
        config.on_thread_stop = [threads](std::string_view) { threads->stopped.fetch_add(1); };
        auto pool = std::make_unique<BoundedPool>(config);
        BoundedPool& raw = *pool;
        Gate gate;
        auto left = std::make_shared<std::atomic<bool>>(false);
        auto item = raw.enqueue(only, {}, [p = std::move(pool), gate, left]() mutable {
            gate.pass();
            p.reset();
            left->store(true);
        });
        REQUIRE(item);
        REQUIRE(gate.reached_by(1));
        auto other = raw.enqueue(only, {}, nothing);
        gate.open();
        REQUIRE(eventually([&] { return left->load() && threads->stopped.load() == 3; }));
        REQUIRE(eventually([&] { return item->state() == ItemState::ran; }));
        CHECK((!other || other->state() == ItemState::ran || other->state() == ItemState::discarded));
    }
}

TEST_CASE("X01: enqueue, look, destroy at once, many rounds; handles are dropped before, during and after") {
    for (int round = 0; round < scaled(300); ++round) {
        std::array<std::optional<PoolItem>, 3> items;
        std::jthread dropper;
        {
            BoundedPool pool(small_pool(2, 8));
            for (auto& item : items)
                item = *pool.enqueue(only, {}, nothing);
            if (round % 2 == 0)
                CHECK(pool.wait_idle());
            items[0].reset();
            dropper = std::jthread([&] { items[1].reset(); });
        }
        dropper.join();
        CHECK((items[2]->state() == ItemState::ran || items[2]->state() == ItemState::discarded));
    }
}

TEST_CASE("a moved pool is the same pool, and the old one it is assigned to ends") {
    BoundedPool first(small_pool(1, 8));
    std::atomic<int> ran{0};
    REQUIRE(first.post(only, {}, [&] { ran.fetch_add(1); }));
    BoundedPool second(std::move(first));
    CHECK(second.wait_idle());
    CHECK(ran.load() == 1);
    BoundedPool third(small_pool(1, 4));
    third = std::move(second);
    CHECK(third.config().max_queued == 8);
    CHECK(third.post(only, {}, [&] { ran.fetch_add(1); }));
    CHECK(third.wait_idle());
}
