// The workloads of the bounded pool, beside the pool of the seed's shape (perf/peers/seed_pool.hpp), in one program so that a
// run interleaves them. Both have the default bounds: 64 items, 16/16/32/32 by lane.
//
//   Throughput/<pool>/workers/producers/mixed
//                                         enqueue-to-run of empty jobs, all in the bulk lane (mixed:0) or round robin over the four
//                                         lanes (mixed:1); a producer that is refused yields and tries again. 16 workers: the
//                                         default kinds; 4: all general.
//   Control/<pool>                        16 workers, bulk kept full of jobs of 20 us; one control item every 300 us:
//                                         from enqueue to start, p50 and p99 in us
//   Cancel/<pool>/...                     all workers held, 32 items queued in the lane: by handle (ours only), by call id, a
//                                         whole group; time of one cancellation, the enqueue that makes up for it not counted
//
// Run with --benchmark_enable_random_interleaving=true --benchmark_repetitions=9 and compare medians; see perf/README.md.

#include "peers/pools.hpp"

#include <sluice/bounded_pool.hpp>

#include <benchmark/benchmark.h>

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Ours = peers::SluicePool;
using Seed = peers::SeedsPool;
using namespace std::chrono_literals;

struct alignas(64) Counter {
    std::atomic<std::int64_t> count{0};
};

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One iteration is `items` items, shared by the producers.
template <class Pool>
void throughput(benchmark::State& state) {
    constexpr std::int64_t items = 20'000;
    const auto producers = static_cast<unsigned>(state.range(1));
    Pool pool(static_cast<unsigned>(state.range(0)));
    Counter done;
    std::atomic<std::int64_t> refused{0};
    const double cpu_before = cpu_seconds();
    const auto produce = [&](std::int64_t count) {
        std::int64_t refusals = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            while (!pool.enqueue(state.range(2) == 0 ? 3U : static_cast<std::size_t>(i % 4), {}, {},
                                 [&done] { done.count.fetch_add(1, std::memory_order_relaxed); })) {
                ++refusals;
                std::this_thread::yield();
            }
        }
        refused.fetch_add(refusals);
    };
    for (auto _ : state) {
        const std::int64_t before = done.count.load();
        std::vector<std::jthread> others;
        for (unsigned p = 1; p < producers; ++p)
            others.emplace_back([&] { produce(items / producers); });
        produce(items / producers);
        others.clear();
        while (done.count.load() < before + items / producers * producers)
            std::this_thread::yield();
    }
    const auto total = static_cast<double>(state.iterations() * items);
    state.SetItemsProcessed(state.iterations() * items);
    state.counters["cpu_ns_per_item"] = (cpu_seconds() - cpu_before) * 1e9 / total;
    state.counters["refused_per_item"] = static_cast<double>(refused.load()) / total;
    if constexpr (requires { pool.wakeups(); })
        state.counters["wakeups_per_item"] = static_cast<double>(pool.wakeups()) / total;
}

void busy(std::chrono::nanoseconds span) {
    const auto end = Clock::now() + span;
    while (Clock::now() < end) {}
}

double percentile(std::vector<double>& values, double which) {
    const auto at = static_cast<std::ptrdiff_t>(which * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

template <class Pool>
void control_latency(benchmark::State& state) {
    Pool pool(16);
    std::vector<double> waits;
    waits.reserve(4'000);
    std::jthread bulk([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            if (!pool.enqueue(3, {}, {}, [] { busy(20us); }))
                std::this_thread::yield();
        }
    });
    for (auto _ : state) {
        for (int i = 0; i < 1'000; ++i) {
            std::this_thread::sleep_for(300us);
            std::atomic<std::int64_t> started{0};
            const auto before = Clock::now();
            while (!pool.enqueue(0, {}, {}, [&] {
                started.store((Clock::now() - before).count());
                started.notify_one();
            })) {}
            started.wait(0);
            waits.push_back(static_cast<double>(started.load()) / 1e3);
        }
    }
    bulk.request_stop();
    bulk.join();
    state.SetItemsProcessed(state.iterations() * 1'000);
    state.counters["p50_us"] = percentile(waits, 0.5);
    state.counters["p99_us"] = percentile(waits, 0.99);
}

/// Holds all workers of a pool until it goes.
template <class Pool>
class Held {
public:
    Held(Pool& pool, unsigned workers) : workers_(workers) {
        for (unsigned i = 0; i < workers; ++i) {
            while (!pool.enqueue(3, {}, {}, [this] {
                inside_.fetch_add(1);
                open_.wait(false);
                left_.fetch_add(1);
            })) {}
        }
        while (inside_.load() < workers)
            std::this_thread::yield();
    }
    ~Held() {
        open_.store(true);
        open_.notify_all();
        while (left_.load() < workers_)
            std::this_thread::yield();
    }

private:
    const unsigned workers_;
    std::atomic<unsigned> inside_{0};
    std::atomic<unsigned> left_{0};
    std::atomic<bool> open_{false};
};

constexpr unsigned held_workers = 4;
constexpr int queued = 32;

std::string name_of(int i) {
    return "call-0123456789-" + std::to_string(i);
}

template <class Pool>
void cancel_by_call(benchmark::State& state) {
    Pool pool(held_workers);
    auto held = std::make_unique<Held<Pool>>(pool, held_workers);
    std::vector<std::string> names;
    for (int i = 0; i < queued; ++i) {
        names.push_back(name_of(i));
        (void)pool.enqueue(3, names.back(), "group", [] {});
    }
    std::size_t next = 0;
    for (auto _ : state) {
        const auto before = Clock::now();
        const bool removed = pool.cancel_call(names[next]);
        state.SetIterationTime(std::chrono::duration<double>(Clock::now() - before).count());
        if (!removed || !pool.enqueue(3, names[next], "group", [] {}))
            state.SkipWithError("not cancelled, or no room for the next");
        next = (next + 7) % names.size();
    }
    (void)pool.cancel_group("group");
    held.reset();
}

template <class Pool>
void cancel_by_group(benchmark::State& state) {
    Pool pool(held_workers);
    auto held = std::make_unique<Held<Pool>>(pool, held_workers);
    for (auto _ : state) {
        for (int i = 0; i < queued; ++i)
            (void)pool.enqueue(3, {}, i % 2 == 0 ? "group-one" : "group-two", [] {});
        const auto before = Clock::now();
        const std::size_t removed = pool.cancel_group("group-one");
        state.SetIterationTime(std::chrono::duration<double>(Clock::now() - before).count());
        if (removed != queued / 2)
            state.SkipWithError("not all cancelled");
        (void)pool.cancel_group("group-two");
    }
    held.reset();
}

void cancel_by_handle(benchmark::State& state) {
    Ours pool(held_workers);
    auto held = std::make_unique<Held<Ours>>(pool, held_workers);
    std::vector<sluice::PoolItem> items(queued);
    const auto refill = [&](std::size_t i) {
        auto item = pool.pool().enqueue(sluice::pool_lanes::bulk, {.call_id = "call"}, [] {});
        if (item)
            items[i] = *std::move(item);
    };
    for (std::size_t i = 0; i < items.size(); ++i)
        refill(i);
    std::size_t next = 0;
    for (auto _ : state) {
        const auto before = Clock::now();
        const bool removed = items[next].cancel();
        state.SetIterationTime(std::chrono::duration<double>(Clock::now() - before).count());
        if (!removed)
            state.SkipWithError("not cancelled");
        refill(next);
        next = (next + 7) % items.size();
    }
    held.reset();
}

void shapes(benchmark::internal::Benchmark* bench) {
    bench->ArgsProduct({{4, 16}, {1, 2, 4}, {0, 1}})
        ->ArgNames({"workers", "producers", "mixed"})
        ->UseRealTime();
}

BENCHMARK(throughput<Ours>)->Name("Throughput/sluice")->Apply(shapes);
BENCHMARK(throughput<Seed>)->Name("Throughput/seed")->Apply(shapes);
BENCHMARK(control_latency<Ours>)->Name("Control/sluice")->Iterations(2)->UseRealTime();
BENCHMARK(control_latency<Seed>)->Name("Control/seed")->Iterations(2)->UseRealTime();
BENCHMARK(cancel_by_handle)->Name("Cancel/sluice/handle")->UseManualTime();
BENCHMARK(cancel_by_call<Ours>)->Name("Cancel/sluice/call")->UseManualTime();
BENCHMARK(cancel_by_call<Seed>)->Name("Cancel/seed/call")->UseManualTime();
BENCHMARK(cancel_by_group<Ours>)->Name("Cancel/sluice/group")->UseManualTime();
BENCHMARK(cancel_by_group<Seed>)->Name("Cancel/seed/group")->UseManualTime();

}  // namespace

BENCHMARK_MAIN();
