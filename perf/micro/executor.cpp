// The executor from outside, one figure each: a round trip (hot, and parked), and throughput with 1, 64 and 10,000 actors;
// under both policies, beside a mutex executor and, where it is installed, oneTBB.
//
//   RoundTrip/hot      submit one empty job, wait for it, at once again
//   RoundTrip/parked   the same after a pause of 200 us, which is not counted: all threads sleep by then
//   Throughput/actors  empty mutating jobs of that many actors in turn, one producer, at most 1,024 outstanding
//
// Nothing is pinned, and these means say nothing of percentiles: for those, and for what is gated on, tools/perf. This is the quick
// look while one works. Compare within one interleaved run, by medians:
//   executor --benchmark_enable_random_interleaving=true --benchmark_repetitions=9 --benchmark_report_aggregates_only=true

#include "peers/naive_executor.hpp"
#include "peers/sluice_executor.hpp"
#ifdef SLUICE_PERF_TBB
#include "peers/tbb_executor.hpp"
#endif
#include "workloads/latency.hpp"
#include "workloads/throughput.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

namespace {

using namespace std::chrono_literals;

using Lent = peers::SluiceExecutor<sluice::SchedulerPolicy::lent>;
using Dedicated = peers::SluiceExecutor<sluice::SchedulerPolicy::dedicated>;
using Naive = peers::NaiveExecutor;

constexpr unsigned workers = 2;

template <class Peer>
void round_trips(benchmark::State& state, std::chrono::microseconds pause) {
    Peer peer(perf::Shape{workers, 1});
    perf::Answer answer;
    for (int i = 0; i < 200; ++i)
        perf::round_trip(peer, answer);
    for (auto _ : state) {
        if (pause.count() != 0)
            std::this_thread::sleep_for(pause);
        const std::int64_t begin = perf::now_ns();
        perf::round_trip(peer, answer);
        state.SetIterationTime(static_cast<double>(perf::now_ns() - begin) * 1e-9);
    }
}

template <class Peer>
void throughput(benchmark::State& state) {
    constexpr std::int64_t jobs = 100'000;
    const auto actors = static_cast<std::size_t>(state.range(0));
    Peer peer(perf::Shape{workers, actors});
    perf::Producer producer({actors, actors}, [&](std::size_t actor) {
        peer.post(actor, perf::Access::write, {&perf::Done::count_one, nullptr});
    });
    producer.run(jobs / 10);
    producer.drain();
    for (auto _ : state) {
        producer.run(jobs);
        producer.drain();
    }
    state.SetItemsProcessed(state.iterations() * jobs);
}

template <class Peer>
void of_peer(const std::string& name) {
    // Iterations are fixed for round trips: a mean over a time of its choosing would let a slow peer be measured less.
    benchmark::RegisterBenchmark(("RoundTrip/hot/" + name).c_str(), round_trips<Peer>, 0us)
        ->UseManualTime()
        ->Iterations(20'000);
    benchmark::RegisterBenchmark(("RoundTrip/parked/" + name).c_str(), round_trips<Peer>, 200us)
        ->UseManualTime()
        ->Iterations(1'000);
    benchmark::RegisterBenchmark(("Throughput/" + name).c_str(), throughput<Peer>)
        ->ArgName("actors")
        ->Arg(1)
        ->Arg(64)
        ->Arg(10'000)
        ->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 2;
    of_peer<Lent>("lent");
    of_peer<Dedicated>("dedicated");
    of_peer<Naive>("naive");
#ifdef SLUICE_PERF_TBB
    of_peer<peers::TbbExecutor>("tbb");
#endif
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
