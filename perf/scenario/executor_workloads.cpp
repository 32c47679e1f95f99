// The workloads of the executor, beside two peers, in one program so that a run interleaves them.
//
//   Throughput/W1, W2, W2b   1, 64, 10,000 actors round robin; empty mutating jobs from one producer, at most 1,024
//                            outstanding. `apart`: the producer on CPU 0, all workers on CPU 1 (stable to 5 %); else free.
//   RoundTrip/hot            submit one empty job, wait for it, at once again: W4a
//   RoundTrip/parked         the same after a pause of 200 us, so that threads park: W4b
// Peers: `naive` (perf/peers/naive_executor.hpp), `tbb` (where oneTBB is installed).
//
// Run with --benchmark_enable_random_interleaving=true --benchmark_repetitions=9 and compare medians; see perf/README.md.

#include "peers/naive_executor.hpp"
#ifdef SLUICE_PERF_TBB
#include "peers/tbb_executor.hpp"
#endif

#include <sluice/executor.hpp>

#include <benchmark/benchmark.h>

#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t window = 1024;
constexpr unsigned workers = 2;

struct alignas(64) Done {
    std::atomic<std::int64_t> count{0};
};

void pin(bool apart) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (unsigned cpu = 0; cpu < (apart ? 1U : std::thread::hardware_concurrency()); ++cpu)
        CPU_SET(cpu, &cpus);
    pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
}

/// Makes what is constructed inside inherit "CPU 1 only": peers have no option for it.
template <class Make>
auto made_apart(bool apart, Make&& make) {
    if (apart) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(1, &cpus);
        pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    }
    auto made = make();
    pin(apart);
    return made;
}

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Submits through `submit(actor)`; each job adds one to `done`. One benchmark iteration is 100,000 jobs.
template <class Submit>
void drive(benchmark::State& state, std::size_t actors, Done& done, Submit&& submit) {
    constexpr std::int64_t jobs = 100'000;
    std::int64_t submitted = done.count.load();
    std::size_t actor = 0;
    const double cpu_before = cpu_seconds();
    for (auto _ : state) {
        for (std::int64_t i = 0; i < jobs; ++i, ++submitted) {
            while (submitted - done.count.load(std::memory_order_relaxed) >= window)
                std::this_thread::yield();
            submit(actor);
            if (++actor == actors)
                actor = 0;
        }
        while (done.count.load(std::memory_order_relaxed) < submitted)
            std::this_thread::yield();
    }
    const auto total = static_cast<double>(state.iterations() * jobs);
    state.SetItemsProcessed(state.iterations() * jobs);
    state.counters["cpu_ns_per_job"] = (cpu_seconds() - cpu_before) * 1e9 / total;
}

sluice::Config config_of(sluice::SchedulerPolicy policy, bool apart) {
    sluice::Config config;
    config.pool_size = workers;
    config.policy = policy;
    if (apart)
        config.cpus = {1};
    return config;
}

void sluice_throughput(benchmark::State& state, sluice::SchedulerPolicy policy, bool apart) {
    const auto actors = static_cast<std::size_t>(state.range(0));
    pin(apart);
    Done done;
    sluice::Executor executor(config_of(policy, apart));
    std::vector<sluice::Actor<long>> handles;
    handles.reserve(actors);
    for (std::size_t i = 0; i < actors; ++i)
        handles.push_back(executor.add_actor(std::string("a").append(std::to_string(i)), 0L));
    drive(state, actors, done, [&](std::size_t actor) {
        if (!handles[actor].post_mutate(
                [&done](long&) { done.count.fetch_add(1, std::memory_order_relaxed); })) {
            state.SkipWithError("refused");
        }
    });
    const auto snapshot = executor.snapshot();
    state.counters["jobs_per_turn"] = static_cast<double>(snapshot.jobs.accepted) /
                                      static_cast<double>(std::max<std::uint64_t>(1, snapshot.turn.turns));
    pin(false);
}

void naive_throughput(benchmark::State& state, bool apart) {
    const auto actors = static_cast<std::size_t>(state.range(0));
    Done done;
    auto peer = made_apart(apart, [&] { return std::make_unique<peers::NaiveExecutor>(workers, actors); });
    drive(state, actors, done, [&](std::size_t actor) {
        peer->submit(actor, [&done] { done.count.fetch_add(1, std::memory_order_relaxed); });
    });
    peer.reset();
    pin(false);
}

#ifdef SLUICE_PERF_TBB
void count_one(void* done) {
    static_cast<Done*>(done)->count.fetch_add(1, std::memory_order_relaxed);
}

void tbb_throughput(benchmark::State& state, bool apart) {
    const auto actors = static_cast<std::size_t>(state.range(0));
    Done done;
    auto peer = made_apart(
        apart, [&] { return std::make_unique<peers::TbbExecutor>(static_cast<int>(workers), actors); });
    drive(state, actors, done, [&](std::size_t actor) { peer->submit(actor, {&count_one, &done}); });
    peer.reset();
    pin(false);
}
#endif

/// One round trip an iteration, after `pause`; reports percentiles and CPU beside the mean.
template <class RoundTrip>
void round_trips(benchmark::State& state, std::chrono::microseconds pause, RoundTrip&& once) {
    std::vector<std::int64_t> times;
    times.reserve(1 << 20);
    const double cpu_before = cpu_seconds();
    for (auto _ : state) {
        if (pause.count() != 0)
            std::this_thread::sleep_for(pause);
        const auto begin = Clock::now();
        once();
        const auto took = Clock::now() - begin;
        times.push_back(std::chrono::nanoseconds(took).count());
        state.SetIterationTime(std::chrono::duration<double>(took).count());
    }
    std::ranges::sort(times);
    const auto at = [&](double share) {
        return static_cast<double>(
                   times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))]) /
               1e3;
    };
    state.counters["p50_us"] = at(0.5);
    state.counters["p99_us"] = at(0.99);
    state.counters["p99.9_us"] = at(0.999);
    state.counters["cpu_us"] = (cpu_seconds() - cpu_before) * 1e6 / static_cast<double>(times.size());
}

void sluice_round_trip(benchmark::State& state, sluice::SchedulerPolicy policy,
                       std::chrono::microseconds pause) {
    sluice::Executor executor(config_of(policy, false));
    auto actor = executor.add_actor("a", 0L);
    round_trips(state, pause, [&] {
        if (!actor.mutate([](long& value) { return ++value; }).wait())
            state.SkipWithError("refused");
    });
}

/// What a peer's submitter waits on; libstdc++'s semaphore has lost wake-ups, so not that. Spins as std::atomic::wait does.
class Answer {
public:
    void give() {
        given_.fetch_add(1);
        given_.notify_one();
    }
    void wait_for_next() {
        given_.wait(seen_);
        ++seen_;
    }

private:
    std::atomic<int> given_{0};
    int seen_ = 0;
};

void naive_round_trip(benchmark::State& state, std::chrono::microseconds pause) {
    peers::NaiveExecutor peer(workers, 1);
    Answer answer;
    round_trips(state, pause, [&] {
        peer.submit(0, [&answer] { answer.give(); });
        answer.wait_for_next();
    });
}

#ifdef SLUICE_PERF_TBB
void tbb_round_trip(benchmark::State& state, std::chrono::microseconds pause) {
    peers::TbbExecutor peer(static_cast<int>(workers), 1);
    Answer answer;
    round_trips(state, pause, [&] {
        peer.submit(0, {[](void* waiter) { static_cast<Answer*>(waiter)->give(); }, &answer});
        answer.wait_for_next();
    });
}
#endif

void actor_counts(benchmark::internal::Benchmark* b) {
    b->ArgName("actors")
        ->Arg(1)
        ->Arg(64)
        ->Arg(10'000)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond)
        ->MinTime(0.3);
}
void hot(benchmark::internal::Benchmark* b) {
    b->UseManualTime()->Unit(benchmark::kMicrosecond)->MinTime(0.3);
}
void parked(benchmark::internal::Benchmark* b) {
    b->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(2'000);
}

using sluice::SchedulerPolicy;
using std::chrono::microseconds;

BENCHMARK_CAPTURE(sluice_throughput, lent_apart, SchedulerPolicy::lent, true)->Apply(actor_counts);
BENCHMARK_CAPTURE(sluice_throughput, dedicated_apart, SchedulerPolicy::dedicated, true)->Apply(actor_counts);
BENCHMARK_CAPTURE(naive_throughput, apart, true)->Apply(actor_counts);
BENCHMARK_CAPTURE(sluice_throughput, lent_free, SchedulerPolicy::lent, false)->Apply(actor_counts);
BENCHMARK_CAPTURE(sluice_throughput, dedicated_free, SchedulerPolicy::dedicated, false)->Apply(actor_counts);
BENCHMARK_CAPTURE(naive_throughput, free, false)->Apply(actor_counts);
BENCHMARK_CAPTURE(sluice_round_trip, lent_hot, SchedulerPolicy::lent, microseconds(0))->Apply(hot);
BENCHMARK_CAPTURE(sluice_round_trip, dedicated_hot, SchedulerPolicy::dedicated, microseconds(0))->Apply(hot);
BENCHMARK_CAPTURE(naive_round_trip, hot, microseconds(0))->Apply(hot);
BENCHMARK_CAPTURE(sluice_round_trip, lent_parked, SchedulerPolicy::lent, microseconds(200))->Apply(parked);
BENCHMARK_CAPTURE(sluice_round_trip, dedicated_parked, SchedulerPolicy::dedicated, microseconds(200))
    ->Apply(parked);
BENCHMARK_CAPTURE(naive_round_trip, parked, microseconds(200))->Apply(parked);
#ifdef SLUICE_PERF_TBB
BENCHMARK_CAPTURE(tbb_throughput, apart, true)->Apply(actor_counts);
BENCHMARK_CAPTURE(tbb_throughput, free, false)->Apply(actor_counts);
BENCHMARK_CAPTURE(tbb_round_trip, hot, microseconds(0))->Apply(hot);
BENCHMARK_CAPTURE(tbb_round_trip, parked, microseconds(200))->Apply(parked);
#endif

}  // namespace

BENCHMARK_MAIN();
