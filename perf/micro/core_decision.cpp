// What one job costs in the scheduler alone: enqueue, decision, end of run (E13, target: 40 ns, whatever is registered).
//
// No threads: the loop plays submitter, worker and role in turn, and nothing is executed. Jobs are recycled, so memory is
// warm as it is with recycled nodes. "per_job" is the figure; spread comes from --benchmark_repetitions.
//   hot          one job at a time, submitted, decided and ended: a round trip (W4a)
//   batches      64 jobs over 64 actors among all registered ones, submitted together (W2, W2c), with or without run-ahead
//   every_actor  the same, but the 64 actors are others each time, so that all registered ones take turns (W2b): bound by
//                cache misses on the actors, not by decisions
//   blocked      batches beside 10,000 actors that cannot run: a writer behind a reader, or a heavy job without a permit
// Baseline: `floor` does the queueing alone, one FIFO without any rule.

#include "core/scheduler.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

using namespace sluice;
using namespace sluice::core;

namespace {

constexpr std::size_t burst = 64;
constexpr Nanos job_ns = 100;

class Permits final : public HeavyPermits {
public:
    explicit Permits(unsigned free) : free_(free) {}
    [[nodiscard]] bool try_take() noexcept override {
        if (free_ == 0)
            return false;
        --free_;
        return true;
    }
    void give_back() noexcept override {
        ++free_;
    }

private:
    unsigned free_;
};

[[nodiscard]] Limits limits_for(std::uint32_t pool_size, bool run_ahead) {
    Limits limits;
    limits.pool_size = pool_size;
    limits.actor_cap = 3;
    limits.read_cap = 3;
    limits.interactive_reserve = 2;
    limits.maintenance_cap = pool_size - 2;
    limits.deficit_cap = 12;
    return run_ahead ? limits : limits.without_run_ahead();
}

/// Spreads 64 actors over all of them; a stride that is odd visits every one.
[[nodiscard]] std::size_t stride_over(std::size_t registered) {
    return registered <= burst ? 1 : registered / burst | 1U;
}

struct Bench {
    Bench(const Limits& limits, std::size_t registered, unsigned permits = 2)
        : permit_counter(permits), scheduler(limits, permit_counter), actors(registered), jobs(burst) {
        for (std::size_t i = 0; i < burst; ++i)
            warm(actors[i * stride_over(registered) % registered]);
    }

    /// Estimates settle, so that runs form from the start.
    void warm(Actor& actor) {
        for (int i = 0; i < 40; ++i) {
            submit(jobs[0], actor);
            drain();
        }
    }

    void submit(Job& job, Actor& actor) {
        job.actor = &actor;
        job.lane = Lane::mutating;
        scheduler.enqueue(job);
    }

    /// Decides and ends until nothing is left, in the order of a pool whose workers all finish a turn later.
    void drain() {
        for (;;) {
            std::size_t count = 0;
            while (count < running.size()) {
                const auto run = scheduler.next_run();
                if (!run)
                    break;
                running[count++] = *run;
            }
            if (count == 0)
                return;
            for (std::size_t i = 0; i < count; ++i)
                scheduler.run_ended(end_of(running[i], job_ns * running[i].jobs.count));
        }
    }

    void submit_burst(std::size_t first, std::size_t stride) {
        std::size_t at = first;
        for (Job& job : jobs) {
            submit(job, actors[at]);
            at += stride;
            if (at >= actors.size())
                at -= actors.size();
        }
    }

    Permits permit_counter;
    Scheduler scheduler;
    std::vector<Actor> actors;
    std::vector<Job> jobs;
    std::vector<Run> running = std::vector<Run>(burst);
};

void report(benchmark::State& state, std::size_t jobs_each) {
    const auto jobs = static_cast<double>(state.iterations()) * static_cast<double>(jobs_each);
    state.counters["per_job"] =
        benchmark::Counter(jobs, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void floor(benchmark::State& state) {
    std::vector<Job> jobs(burst);
    for (auto _ : state) {
        JobChain fifo;
        for (Job& job : jobs)
            fifo.append(job);
        for (Job* job = fifo.first; job != nullptr; job = job->next)
            benchmark::DoNotOptimize(job->number += 1);
    }
    report(state, burst);
}

void hot(benchmark::State& state) {
    Bench bench(limits_for(8, true), static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        bench.submit(bench.jobs[0], bench.actors[0]);
        bench.drain();
    }
    report(state, 1);
}

void batches(benchmark::State& state) {
    const auto registered = static_cast<std::size_t>(state.range(0));
    Bench bench(limits_for(8, state.range(1) != 0), registered);
    for (auto _ : state) {
        bench.submit_burst(0, stride_over(registered));
        bench.drain();
    }
    report(state, burst);
}

void every_actor(benchmark::State& state) {
    const auto registered = static_cast<std::size_t>(state.range(0));
    Bench bench(limits_for(8, true), registered);
    std::size_t first = 0;
    for (auto _ : state) {
        bench.submit_burst(first, 1);
        bench.drain();
        first = (first + burst) % registered;
    }
    report(state, burst);
}

constexpr std::size_t blocked_actors = 10'000;

void blocked_by_readers(benchmark::State& state) {
    const auto blocked = static_cast<std::size_t>(state.range(0));
    Bench bench(limits_for(static_cast<std::uint32_t>(blocked) + 8, true), 1000 + blocked);
    std::vector<Job> readers(blocked), writers(blocked);
    for (std::size_t i = 0; i < blocked; ++i) {
        readers[i].actor = &bench.actors[1000 + i];
        bench.scheduler.enqueue(readers[i]);
        benchmark::DoNotOptimize(bench.scheduler.next_run());  // in flight for good
        bench.submit(writers[i], bench.actors[1000 + i]);
    }
    bench.drain();
    for (auto _ : state) {
        bench.submit_burst(0, 1);
        bench.drain();
    }
    report(state, burst);
}

void blocked_by_permits(benchmark::State& state) {
    const auto blocked = static_cast<std::size_t>(state.range(0));
    Bench bench(limits_for(8, true), 1000 + blocked, 0);
    std::vector<Job> heavy(blocked);
    for (std::size_t i = 0; i < blocked; ++i) {
        heavy[i].actor = &bench.actors[1000 + i];
        heavy[i].lane = Lane::heavy_init;
        heavy[i].step = Step::build;
        bench.scheduler.enqueue(heavy[i]);
    }
    bench.drain();
    for (auto _ : state) {
        bench.submit_burst(0, 1);
        bench.drain();
    }
    report(state, burst);
}

BENCHMARK(floor);
BENCHMARK(hot)->Arg(10)->Arg(1'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(batches)
    ->ArgNames({"registered", "run_ahead"})
    ->ArgsProduct({{10, 1'000, 100'000, 1'000'000}, {0, 1}});
BENCHMARK(every_actor)->Arg(64)->Arg(1'000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(blocked_by_readers)->Arg(0)->Arg(blocked_actors);
BENCHMARK(blocked_by_permits)->Arg(0)->Arg(blocked_actors);

}  // namespace

BENCHMARK_MAIN();
