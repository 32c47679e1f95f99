// The bounded pool beside the pool of the seed's shape, 16 workers each.
//
//   pool      enqueue-to-run of empty items in the bulk lane, one producer, which yields and tries again when it is refused
//   control   bulk kept full of jobs of 20 us, and every 300 us an item of the control lane: from its enqueue to its start

#include "peers/pools.hpp"
#include "workloads/workloads.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <thread>
#include <vector>

namespace perf {
namespace {

constexpr std::size_t control_lane = 0;
constexpr std::size_t bulk_lane = 3;
constexpr unsigned pool_workers = 16;

template <class Pool>
Figures enqueue_to_run(const Request& request) {
    pin_producer(request.placement);
    Pool pool(pool_workers);
    pin_others(request.placement);
    std::int64_t enqueued = Done::jobs();
    double refusals = 0;
    const auto run_for = [&](std::chrono::nanoseconds length) {
        const auto end = Clock::now() + length;
        do {
            for (int i = 0; i < 64; ++i, ++enqueued) {
                while (!pool.enqueue(bulk_lane, {}, {}, [] { Done::count_one(nullptr); })) {
                    ++refusals;
                    std::this_thread::yield();
                }
            }
        } while (Clock::now() < end);
        while (Done::jobs() < enqueued)
            std::this_thread::yield();
    };
    run_for(warm_up);
    const std::int64_t first = enqueued;
    refusals = 0;
    const Usage before = Usage::now();
    run_for(request.length);
    const Usage after = Usage::now();
    const auto items = static_cast<double>(enqueued - first);
    Figures figures{{"jobs_per_s", items * 1e9 / static_cast<double>(after.at_ns - before.at_ns)},
                    {"refusals_per_job", refusals / items}};
    add_usage(figures, before, after, items);
    return figures;
}

template <class Pool>
Figures control_under_bulk(const Request& request) {
    static const FixedWork work{std::chrono::microseconds(20)};
    Pool pool(pool_workers);
    std::jthread bulk([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            if (!pool.enqueue(bulk_lane, {}, {}, [] { work(); }))
                std::this_thread::yield();
        }
    });
    std::vector<std::int64_t> waits;
    const auto end = Clock::now() + request.length;
    while (Clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        std::atomic<std::int64_t> started{0};
        const std::int64_t begin = now_ns();
        while (!pool.enqueue(control_lane, {}, {}, [&] {
            started.store(now_ns());
            started.notify_one();
        })) {}
        started.wait(0);
        waits.push_back(started.load() - begin);
    }
    bulk.request_stop();
    bulk.join();
    Figures figures;
    add_percentiles(figures, waits);
    return figures;
}

template <class Pool>
constexpr std::array pool_workloads{
    Workload{"pool", "enqueue to run, 16 workers", &enqueue_to_run<Pool>},
    Workload{"control", "a control item while bulk saturates 16 workers", &control_under_bulk<Pool>},
};

}  // namespace

const Peer peer_pool{"sluice-pool", "Sluice's bounded pool", pool_workloads<peers::SluicePool>};
const Peer peer_seed_pool{"seed-pool", "a pool of the seed's shape", pool_workloads<peers::SeedsPool>};

}  // namespace perf
