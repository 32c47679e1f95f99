// Goal:   ten times more than the workers can do, for as long as one likes: no bound is exceeded, refusals are exact and name their
//         bound (P2, P3, P16), nothing is allocated (P10), the lanes above do not feel the one that is flooded (P1), and a second
//         after the load stops it is as one that was never flooded.
// Method: as in executor/overload_test.cpp. SLUICE_TEST_SECONDS=300 makes it five minutes; 3 s without it.
#include "support/overload.hpp"
#include "pool/harness.hpp"
#include "support/counting_resource.hpp"

#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr auto work = 2ms;
constexpr unsigned submitters = 2;

/// Which bound the flood is to meet.
struct Bound {
    std::string_view name;
    std::int64_t total;
    std::int64_t lane;
    std::int64_t bytes;
    std::uint64_t item_bytes;
    std::uint64_t value;  ///< of the bound that is met
    std::int64_t items;   ///< that it lets in
};

PoolConfig config_of(const Bound& bound) {
    PoolConfig config;
    config.max_queued = bound.total;
    config.max_queued_bytes = bound.bytes;
    config.lanes = {{"hurried", 16, {}}, {"bulk", bound.lane, {}}};
    config.kinds = {{"special", 1, {"hurried"}}, {"all", 2, {"hurried", "bulk"}}};
    return config;
}
constexpr PoolLane hurried{0};
constexpr PoolLane bulk{1};

void round_trips(Latencies& latencies, BoundedPool& pool, int count, std::uint64_t& refused) {
    for (int i = 0; i < count; ++i) {
        std::atomic<bool> done{false};
        bool is_in = true;
        latencies.measure([&] {
            is_in = pool.post(hurried, {},
                              [&] {
                                  done.store(true);
                                  done.notify_one();
                              })
                        .has_value();
            if (is_in)
                done.wait(false);
        });
        refused += is_in ? 0 : 1;
    }
}

void flood(const Bound& bound) {
    CountingResource resource;
    PoolConfig config = config_of(bound);
    config.memory = &resource;
    {
        BoundedPool pool(config);
        std::uint64_t refused_hurried = 0;
        Flooding flood(work);
        const std::uint64_t allocations = resource.allocations();
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < submitters; ++i) {
            threads.emplace_back([&](const std::stop_token& stop) {
                flood.submit(
                    stop, [&](auto job) { return pool.post(bulk, {.bytes = bound.item_bytes}, job); },
                    [&](const Error& error) {
                        const LimitHit hit = error.limit();
                        return error == ErrorCode::queue_full && hit.name == bound.name &&
                               hit.value == bound.value && hit.count + bound.item_bytes >= bound.value;
                    });
            });
        }
        Latencies latencies;
        Latencies sleeps;  // how late this thread is that waits for nobody
        std::uint64_t unbounded = 0;
        const auto end = steady_clock::now() + overload_time(3);
        while (steady_clock::now() < end) {
            round_trips(latencies, pool, 1, refused_hurried);
            const PoolSnapshot seen = pool.snapshot();
            const bool good = balanced(seen.items) &&
                              seen.items.queued <= static_cast<std::uint64_t>(bound.total) &&
                              seen.lanes[bulk.index].queued <= static_cast<std::uint64_t>(bound.lane) &&
                              seen.queued_bytes <= static_cast<std::uint64_t>(bound.bytes);
            unbounded += good ? 0 : 1;
            sleeps.measure([] { std::this_thread::sleep_for(1ms); });
        }
        threads.clear();
        const auto stopped = steady_clock::now();
        CHECK(within_steps(1s / work, work, [&] { return pool.wait_idle_for(0ms).has_value(); }));
        const auto took = steady_clock::now() - stopped;
        PoolConfig same = config;
        same.memory = nullptr;
        BoundedPool fresh(same);
        std::uint64_t refused_after = 0;
        const Recovery recovery =
            compare_round_trips([&](Latencies& times) { round_trips(times, pool, 1, refused_after); },
                                [&](Latencies& times) { round_trips(times, fresh, 1, refused_after); });
        CHECK(refused_after == 0);
        CHECK(recovery.as_quick());

        const PoolSnapshot last = pool.snapshot();
        CHECK(unbounded == 0);
        CHECK(flood.wrong.load() == 0);
        CHECK(flood.refused.load() > flood.accepted.load());
        CHECK(flood.load.submitted() == flood.accepted.load() + flood.refused.load());
        CHECK(last.lanes[bulk.index].refused.all() == flood.refused.load());
        CHECK(flood.ran.load() == flood.accepted.load());
        CHECK(flood.queued.highest() <=
              bound.items + 3);  // down when a job begins, which is after it left the queue
        CHECK(flood.queued.highest() > bound.items / 2);
        CHECK(resource.allocations() == allocations);
        // A flood that fills the whole pool leaves the hurried no room; those who get in are quick all the same.
        CHECK((refused_hurried == 0 || bound.name == "total"));
        CHECK(latencies.percentile(50) < work + 2 * sleeps.percentile(50));
        CHECK(latencies.percentile(99) < 50ms + 2 * sleeps.percentile(99));
        MESSAGE(bound.name << ": " << flood.load.submitted() << " submissions, " << flood.refused.load()
                           << " refused; hurried p50 " << latencies.percentile(50) / 1us << " us, p99 "
                           << latencies.percentile(99) / 1us << " us of " << latencies.count()
                           << "; idle after " << took / 1ms << " ms; a round trip takes "
                           << recovery.flooded / 1us << " us, " << recovery.fresh / 1us
                           << " us on one that was never flooded");
    }
    CHECK(resource.blocks_in_use() == 0);
}

}  // namespace

TEST_CASE("P1 P2 P3 P10 P16 overload: ten times too much, against the bound of the lane") {
    flood({"lane", 500, 200, 1 << 20, 0, 200, 200});
}

TEST_CASE("P1 P2 P3 P10 P16 overload: ten times too much, against the bound of the bytes") {
    flood({"bytes", 500, 400, 2'000, 10, 2'000, 200});
}

TEST_CASE("P2 P3 P10 P16 overload: ten times too much, against the bound of the whole pool") {
    flood({"total", 200, 400, 1 << 20, 0, 200, 200});
}
