// What a call of a single flight costs beside a mutex and a map: joining a run that is in the air (and giving up at once, so
// that the sleep is not measured), and a run without any follower. One key for all threads, or one for each.

#include <sluice/single_flight.hpp>

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "peers/mutex_flight.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int most_threads = 4;

/// The two under one name: whether a value came.
struct Ours {
    sluice::SingleFlight<std::string, std::uint64_t> flights;
    template <class F>
    bool run(const std::string& key, std::optional<std::chrono::nanoseconds> patience, F&& fn) {
        return flights.run(key, {.patience = patience}, std::forward<F>(fn)).result.has_value();
    }
};
struct Mutex {
    peers::MutexFlight<std::string, std::uint64_t> flights;
    template <class F>
    bool run(const std::string& key, std::optional<std::chrono::nanoseconds> patience, F&& fn) {
        return flights.run(key, patience, std::forward<F>(fn)).has_value();
    }
};

std::string key_of(int thread) {
    return "a key of usual length " + std::to_string(thread);
}

/// Runs of all keys that stay in the air until it goes.
template <class Flights>
class InTheAir {
public:
    InTheAir() {
        std::counting_semaphore<> flying(0);
        for (int i = 0; i < most_threads; ++i) {
            leaders_.emplace_back([this, i, &flying] {
                flights.run(key_of(i), std::nullopt, [&] {
                    flying.release();
                    land_.acquire();
                    return std::uint64_t{1};
                });
            });
        }
        for (int i = 0; i < most_threads; ++i)
            flying.acquire();
    }
    ~InTheAir() {
        land_.release(most_threads);
    }
    InTheAir(const InTheAir&) = delete;
    InTheAir& operator=(const InTheAir&) = delete;

    Flights flights;

private:
    std::counting_semaphore<> land_{0};
    std::vector<std::jthread> leaders_;
};

template <class Flights>
void join(benchmark::State& state) {
    static std::unique_ptr<InTheAir<Flights>> air;  // threads start and end their measurement together
    if (state.thread_index() == 0)
        air = std::make_unique<InTheAir<Flights>>();
    const std::string key = key_of(state.range(0) == 1 ? 0 : state.thread_index());
    for (auto _ : state) {
        if (air->flights.run(key, 0ns, [] { return std::uint64_t{0}; }))
            state.SkipWithError("the run has ended");
    }
    if (state.thread_index() == 0)
        air.reset();
}

template <class Flights>
void lead(benchmark::State& state) {
    static std::unique_ptr<Flights> flights;
    if (state.thread_index() == 0)
        flights = std::make_unique<Flights>();
    const std::string key = key_of(state.thread_index());
    for (auto _ : state)
        benchmark::DoNotOptimize(flights->run(key, std::nullopt, [] { return std::uint64_t{1}; }));
    if (state.thread_index() == 0)
        flights.reset();
}

BENCHMARK(join<Ours>)->ArgName("keys")->Arg(1)->Arg(4)->Threads(1)->Threads(most_threads)->UseRealTime();
BENCHMARK(join<Mutex>)->ArgName("keys")->Arg(1)->Arg(4)->Threads(1)->Threads(most_threads)->UseRealTime();
BENCHMARK(lead<Ours>)->Threads(1)->Threads(most_threads)->UseRealTime();
BENCHMARK(lead<Mutex>)->Threads(1)->Threads(most_threads)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
