// Goal (P10, P11, issue's item 4): no memory and no mutex per item in steady state, a plateau of slots, a balance of zero, and
// refusals that leave everything as it was when there is no memory.
// Method: a counting resource under the pool, and the calls of malloc and of pthread_mutex_lock of the whole process, over
// 100,000 items after a warm-up. Then resources that fail at the n-th call.
#include "executor/coroutine.hpp"
#include "pool/harness.hpp"

#include "support/counting_resource.hpp"
#include "support/malloc_counter.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;
namespace lanes = sluice::pool_lanes;

namespace {

/// Items of every lane from several threads, each with a window of handles; some posted, some cancelled by each of the
/// means, some that throw. Allocates nothing itself.
class Traffic {
public:
    static constexpr unsigned threads = 3;

    explicit Traffic(BoundedPool& pool) : pool_(pool) {
        for (unsigned t = 0; t < threads; ++t)
            workers_[t] = std::jthread([this, t] { enqueue(t); });
    }
    ~Traffic() {
        rounds_.store(-1);
        rounds_.notify_all();
    }
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;

    void run(int items_each) {
        done_.store(0);
        items_each_.store(items_each);
        rounds_.fetch_add(1);
        rounds_.notify_all();
        for (unsigned done = done_.load(); done != threads; done = done_.load())
            done_.wait(done);
    }
    [[nodiscard]] int failures() const {
        return failures_.load();
    }

private:
    void enqueue(unsigned self) {
        std::array<PoolItem, 16> window;
        const std::array<std::string_view, threads> groups{"group 0", "group 1", "group 2"};
        for (int seen = 0;;) {
            rounds_.wait(seen);
            seen = rounds_.load();
            if (seen < 0)
                return;
            for (int i = 0; i < items_each_.load(); ++i)
                one(window[static_cast<std::size_t>(i) % window.size()], i, groups[self]);
            for (PoolItem& item : window)
                await(item);
            done_.fetch_add(1);
            done_.notify_all();
        }
    }

    void one(PoolItem& place, int i, std::string_view group) {
        await(place);
        const PoolLane lane{static_cast<std::uint8_t>(i % 4)};
        const ItemMeta meta{.call_id = i % 3 == 0 ? std::string_view("call") : std::string_view{},
                            .group_id = group,
                            .bytes = 5};
        const std::array<long, 8> captured{i, 1, 2, 3, 4, 5, 6, 7};
        auto item = pool_.enqueue(lane, meta, [this, captured] { sum_.fetch_add(captured[1]); });
        if (!item) {
            failures_.fetch_add(1);
            return;
        }
        place = *std::move(item);
        if (i % 8 == 0)
            failures_.fetch_add(pool_.post(lane, meta, [this] { sum_.fetch_add(1); }) ? 0 : 1);
        if (i % 5 == 0)
            (void)place.cancel();
        if (i % 7 == 0)
            (void)pool_.cancel_call("call");
        if (i % 11 == 0)
            (void)pool_.cancel_group(group);
    }

    static void await(PoolItem& item) {
        while (item.state() == ItemState::queued || item.state() == ItemState::running)
            std::this_thread::yield();
    }

    BoundedPool& pool_;
    std::atomic<long> sum_{0};
    std::atomic<int> rounds_{0};
    std::atomic<int> items_each_{0};
    std::atomic<unsigned> done_{0};
    std::atomic<int> failures_{0};
    std::array<std::jthread, threads> workers_;
};

}  // namespace

TEST_CASE("P10, P11: 100,000 items in steady state: no allocation and no mutex, on any thread") {
    for (const SpinPolicy spin : {SpinPolicy::adaptive, SpinPolicy::park}) {
        CountingResource resource;
        PoolConfig config;
        config.memory = &resource;
        config.spin = spin;
        config.max_queued = 512;
        for (auto& lane : config.lanes)
            lane.limit = 256;
        {
            BoundedPool pool(config);
            Traffic traffic(pool);
            traffic.run(scaled(8'000));
            const std::uint64_t allocations = resource.allocations();
            const std::uint64_t slots = pool.snapshot().slots;
            const CallCounts before = call_counts();  // the snapshot itself allocates its vectors
            traffic.run(scaled(34'000));
            const CallCounts used = call_counts() - before;
            CHECK(resource.allocations() == allocations);
            CHECK(pool.snapshot().slots == slots);
            if (call_counting_available()) {
                CHECK(used.allocations == 0);
#ifndef SLUICE_PLATFORM_PORTABLE  // which sleeps and wakes by a mutex and a condition variable, for want of better
                CHECK(used.mutex_locks == 0);
#endif
            }
            CHECK(traffic.failures() == 0);
            CHECK(balanced(pool.snapshot().items));
        }
        CHECK(resource.blocks_in_use() == 0);
        CHECK(resource.bytes_in_use() == 0);
    }
}

TEST_CASE(
    "P10: a larger closure costs one allocation from the pool's resource, given back when it ends in any "
    "way") {
    CountingResource resource;
    PoolConfig config = small_pool(1, 8);
    config.memory = &resource;
    {
        BoundedPool pool(config);
        const std::uint64_t before = resource.allocations();
        const std::uint64_t blocks = resource.blocks_in_use();
        std::array<char, 200> bulk{};
        for (int i = 0; i < 100; ++i) {
            REQUIRE(pool.post(only, {}, [bulk] { static_cast<void>(bulk[5]); }));
            REQUIRE(pool.wait_idle());
        }
        CHECK(resource.allocations() == before + 100);
        CHECK(resource.blocks_in_use() == blocks);
        CHECK(pool.snapshot().oversized == 100);
        AllHeld held(pool);
        auto item = pool.enqueue(only, {}, [bulk] { static_cast<void>(bulk[5]); });
        REQUIRE(item);
        CHECK(resource.blocks_in_use() == blocks + 1);
        CHECK(item->cancel());
        CHECK(resource.blocks_in_use() == blocks);
        REQUIRE(pool.post(only, {}, [bulk] { static_cast<void>(bulk[5]); }));
        held.open();
    }
    CHECK(resource.blocks_in_use() == 0);
}

TEST_CASE("P10: handles kept of ended items keep their slots, and give them back; the memory levels off") {
    CountingResource resource;
    PoolConfig config = small_pool(2, 8);
    config.memory = &resource;
    std::vector<PoolItem> kept;
    {
        BoundedPool pool(config);
        const auto keep = [&](int count) {
            for (int i = 0; i < count; ++i) {
                auto item = pool.enqueue(only, {}, [] {});
                while (!item) {
                    std::this_thread::yield();
                    item = pool.enqueue(only, {}, [] {});
                }
                kept.push_back(*std::move(item));
            }
            REQUIRE(pool.wait_idle());
        };
        keep(1'000);
        const std::uint64_t slots = pool.snapshot().slots;
        CHECK(slots >= 1'000);
        for (const PoolItem& item : kept)
            REQUIRE(item.state() == ItemState::ran);
        for (int round = 0; round < 5; ++round) {
            kept.clear();
            keep(1'000);
        }
        CHECK(pool.snapshot().slots == slots);
    }
    CHECK(resource.blocks_in_use() > 0);
    CHECK(kept.back().state() == ItemState::ran);
    kept.clear();
    CHECK(resource.blocks_in_use() == 0);
}

TEST_CASE("P10: no memory: the pool is not made, or the item is refused, and nothing leaks") {
    for (std::uint64_t n = 1; n <= 4; ++n) {
        CountingResource resource;
        resource.fail_nth(n);
        PoolConfig config = small_pool(1, 8);
        config.memory = &resource;
        const auto pool = BoundedPool::create(config);
        CHECK(pool.has_value() == (resource.refusals() == 0));
        if (!pool) {
            CHECK(pool.error().value() == ErrorCode::out_of_memory);
            CHECK(resource.blocks_in_use() == 0);
        }
    }
    CountingResource resource;
    PoolConfig config = small_pool(1, 8);
    config.memory = &resource;
    BoundedPool pool(config);
    AllHeld held(pool);
    std::array<char, 200> bulk{};
    resource.fail_all(true);
    const Error error = refusal_of(pool.enqueue(only, {.bytes = 3}, [bulk] { static_cast<void>(bulk[5]); }));
    CHECK(error.value() == ErrorCode::out_of_memory);
    CHECK(pool.snapshot().items.queued == 0);
    CHECK(pool.snapshot().queued_bytes == 0);
    CHECK(pool.post(only, {}, [] {}));  // inline: needs none
    resource.fail_all(false);
    CHECK(pool.post(only, {}, [bulk] { static_cast<void>(bulk[5]); }));
    held.open();
}

TEST_CASE("P13 P10: awaiting room, with a stop that may come: no allocation, no mutex, no further slot" *
          doctest::skip(!call_counting_available())) {
    BoundedPool pool(small_pool(1, 1));
    AllHeld held(pool);
    const std::stop_source stop;
    int admitted = 0;
    PoolItem newest;
    // One frame, allocated at its start: each item that gets in makes the next one wait.
    [](BoundedPool& in, std::stop_token token, int& count, PoolItem& last) -> Detached {
        for (;;) {
            const std::array<long, 8> captured{1, 2, 3, 4, 5, 6, 7, 8};
            const auto job = [captured] { static_cast<void>(captured); };
            auto item = co_await in.enqueue_when_room(only, {.call_id = "call", .bytes = 5}, job, token);
            if (!item)
                co_return;
            ++count;
            last = *std::move(item);
        }
    }(pool, stop.get_token(), admitted, newest);
    const auto rounds = [&] {
        for (int i = 0; i < 1'000; ++i)
            static_cast<void>(newest.cancel());
    };
    rounds();
    const std::uint64_t slots = pool.snapshot().slots;
    const CallCounts before = call_counts();
    rounds();
    CHECK(call_counts() - before == CallCounts{});
    CHECK(pool.snapshot().slots == slots);
    CHECK(admitted == 2'001);
    pool.shutdown(Shutdown::cancel);
}
