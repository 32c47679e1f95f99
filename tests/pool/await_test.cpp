// Goal (P13): coroutines wait for room as threads do, in one line with them, and hold none: admitted once, or refused once, or
// withdrawn by a stop; the job of one that gets in runs, however late the coroutine goes on; any other is destroyed.
// Method: held workers, so that room is made by cancelling. A job stands in a statement of its own: see docs/guide/waiting.md.
#include "pool/await_room.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("P13: with room nothing is suspended; without, the coroutine goes on where room was made") {
    Full full(1);
    std::atomic<int> ran{0};
    Outcome waits;
    enqueue(full.pool, waits, {}, [&ran] { ran.fetch_add(1); });
    CHECK_FALSE(waits.item);
    CHECK(full.waiting() == 1);
    CHECK(refusal_of(full.pool.enqueue(only, {}, nothing)).value() == ErrorCode::queue_full);
    CHECK(full.pool.cancel_call("old"));
    REQUIRE(waits.in());
    CHECK(waits.item->value().state() == ItemState::queued);
    CHECK(full.waiting() == 0);
    full.held.open();
    REQUIRE(full.pool.wait_idle());
    CHECK(ran == 1);
    CHECK(waits.item->value().state() == ItemState::ran);
    Outcome at_once;
    enqueue(full.pool, at_once, {}, [&ran] { ran.fetch_add(1); });
    CHECK(at_once.in());
    CHECK(full.pool.wait_idle());
    CHECK(ran == 2);
}

TEST_CASE(
    "P13: a worker that makes room lets the coroutine in; the job runs before the coroutine goes on "
    "elsewhere") {
    std::vector<std::function<void()>> posted;
    std::atomic<bool> is_posted{false};
    const auto poster = [&](auto go) {
        posted.emplace_back(go);
        is_posted = true;
    };
    std::atomic<int> ran{0};
    std::optional<Result<PoolItem>> item;
    {
        Full full(1);
        [](BoundedPool& pool, decltype(poster)& there, std::atomic<int>& count,
           std::optional<Result<PoolItem>>& into) -> Detached {
            const auto job = [&count] { count.fetch_add(1); };
            into.emplace(co_await pool.enqueue_when_room(only, {}, job).resume_on(there));
        }(full.pool, poster, ran, item);
        full.held.open();
        REQUIRE(eventually([&] { return is_posted.load() && ran.load() == 1; }));
        CHECK_FALSE(item);
    }
    REQUIRE(posted.size() == 1);
    posted.front()();  // the pool has gone
    REQUIRE(item);
    CHECK(item->value().state() == ItemState::ran);
}

TEST_CASE("P13: threads and coroutines stand in one line") {
    Full full(1);
    std::atomic<bool> first_thread{false};
    std::atomic<bool> second_thread{false};
    Outcome first;
    Outcome second;
    const auto thread = [&](std::atomic<bool>& in, std::uint64_t place) {
        std::jthread made([&] {
            CHECK(full.pool.enqueue_for(patience, only, {.call_id = "new"}, nothing));
            in = true;
        });
        REQUIRE(eventually([&] { return full.waiting() == place; }));
        return made;
    };
    enqueue(full.pool, first, {.call_id = "new"}, nothing);
    const std::jthread one = thread(first_thread, 2);
    enqueue(full.pool, second, {.call_id = "new"}, nothing);
    const std::jthread two = thread(second_thread, 4);
    // Who is counted stands in line; who lets the next one in may be a thread that is still about to sleep.
    CHECK(full.pool.cancel_call("old"));
    REQUIRE(eventually([&] { return first.in(); }));
    CHECK((!first_thread && !second.there && !second_thread));
    CHECK(full.pool.cancel_call("new"));
    REQUIRE(eventually([&] { return first_thread.load(); }));
    CHECK((!second.there && !second_thread));
    CHECK(full.pool.cancel_call("new"));
    REQUIRE(eventually([&] { return second.in(); }));
    CHECK_FALSE(second_thread);
    CHECK(full.pool.cancel_call("new"));
    REQUIRE(eventually([&] { return second_thread.load(); }));
}

TEST_CASE("P13 P2: what can never get in is refused at once, and its job destroyed") {
    Full full(1);
    Tracked::Counts jobs;
    const auto code = [&](PoolLane lane, const ItemMeta& meta, std::stop_token stop) {
        ErrorCode seen = no_error;
        [](BoundedPool& pool, PoolLane in, ItemMeta with, std::stop_token token, Tracked::Counts& counts,
           ErrorCode& into) -> Detached {
            auto job = [mine = Tracked(counts)] {};
            const auto item = co_await pool.enqueue_when_room(in, with, std::move(job), std::move(token));
            into = item ? no_error : item.error().value();
        }(full.pool, lane, meta, std::move(stop), jobs, seen);
        return seen;
    };
    std::stop_source stopped;
    stopped.request_stop();
    CHECK(code(only, {.bytes = 1U << 30U}, {}) == ErrorCode::never_fits);
    CHECK(code({7}, {}, {}) == ErrorCode::invalid_argument);
    CHECK(code(only, {.call_id = std::string(200, 'x')}, {}) == ErrorCode::invalid_argument);
    CHECK(code(only, {}, stopped.get_token()) == ErrorCode::cancelled);
    full.pool.shutdown(Shutdown::drain);
    CHECK(code(only, {}, {}) == ErrorCode::shut_down);
    CHECK(jobs.alive == 0);
    CHECK(full.waiting() == 0);
}

TEST_CASE("P13: a stop leaves the line, destroys the job, and lets the next one come to the front") {
    BoundedPool pool([] {
        PoolConfig config = small_pool(1, 4);
        config.max_queued_bytes = 100;
        return config;
    }());
    AllHeld held(pool);
    REQUIRE(pool.post(only, {.bytes = 60}, nothing));
    Tracked::Counts jobs;
    std::stop_source stop;
    Outcome large;
    Outcome small;
    enqueue(pool, large, {.call_id = "large", .bytes = 50}, [mine = Tracked(jobs)] {}, stop.get_token());
    enqueue(pool, small, {.bytes = 1}, nothing);
    CHECK(jobs.alive == 1);
    CHECK_FALSE(small.item);
    stop.request_stop();
    CHECK(large.code() == ErrorCode::cancelled);
    CHECK(large.item->error().request_id() == "large");
    CHECK(jobs.alive == 0);
    CHECK(small.in());
    CHECK(pool.snapshot().lanes[0].waiting == 0);
    CHECK(pool.snapshot().refused.other == 1);
    // After it got in a stop changes nothing.
    std::stop_source late;
    Outcome in;
    enqueue(pool, in, {}, nothing, late.get_token());
    late.request_stop();
    CHECK(in.item->value().state() == ItemState::queued);
}

TEST_CASE("P13 P9: the end of the pool tells those who wait; a stop that comes later finds nothing") {
    for (const bool by_call : {true, false}) {
        std::stop_source stop;
        Tracked::Counts jobs;
        Outcome one;
        Outcome other;
        {
            Full full(1);
            enqueue(full.pool, one, {}, [mine = Tracked(jobs)] {}, stop.get_token());
            enqueue(full.pool, other, {}, [mine = Tracked(jobs)] {}, stop.get_token());
            CHECK(full.waiting() == 2);
            if (by_call) {
                full.pool.shutdown(Shutdown::cancel);
                CHECK(one.code() == ErrorCode::shut_down);
                CHECK(other.code() == ErrorCode::shut_down);
            }
            full.held.open();
        }
        REQUIRE((one.item && other.item));  // the opened gate may have let one in before the end
        CHECK(jobs.alive == 0);
        stop.request_stop();
    }
}

TEST_CASE("P13: a coroutine that is destroyed while it waits leaves the line, and nobody calls it") {
    Full full(1);
    Tracked::Counts jobs;
    std::stop_source stop;
    Outcome gone;
    Outcome next;
    Detached waits = enqueue(full.pool, gone, {}, [mine = Tracked(jobs)] {}, stop.get_token());
    enqueue(full.pool, next, {}, nothing);
    waits.destroy();
    CHECK(jobs.alive == 0);
    CHECK(full.waiting() == 1);
    stop.request_stop();
    CHECK(full.pool.cancel_call("old"));
    CHECK(next.in());
    CHECK_FALSE(gone.item);
}

TEST_CASE(
    "P13: a job of the pool may await room; what goes on may enqueue again, and destroy the pool by a stop") {
    auto pool = std::make_unique<BoundedPool>(small_pool(1, 1));
    Gate gate;
    std::stop_source stop;
    std::atomic<bool> gone{false};
    REQUIRE(pool->post(only, {}, [gate] { gate.pass(); }));
    REQUIRE(gate.reached_by(1));
    REQUIRE(pool->post(only, {}, nothing));
    [](std::unique_ptr<BoundedPool>& owner, std::stop_token token, std::atomic<bool>& done) -> Detached {
        const auto item = co_await owner->enqueue_when_room(only, {}, nothing, std::move(token));
        CHECK(refusal_of(item).value() == ErrorCode::cancelled);
        owner.reset();
        done = true;
    }(pool, stop.get_token(), gone);
    std::jthread opens([&] {
        std::this_thread::sleep_for(a_while);
        gate.open();
    });
    stop.request_stop();
    CHECK(gone);

    BoundedPool other(small_pool(1, 1));
    std::atomic<int> ran{0};
    REQUIRE(other.post(only, {}, [&] {
        (void)other.post(only, {}, nothing);
        [](BoundedPool& own, std::atomic<int>& count) -> Detached {
            const auto job = [&count] { count.fetch_add(1); };
            for (int i = 0; i < 3; ++i) {
                const auto item = co_await own.enqueue_when_room(only, {}, job);
                CHECK(item);
            }
        }(other, ran);
    }));
    CHECK(eventually([&] { return ran == 3; }));
    CHECK(other.wait_idle());
}
