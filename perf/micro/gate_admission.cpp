// What a ticket costs when nobody waits: try_admit and release (T13; targets: 20 ns on one thread, 120 ns a pair with two threads).
//
// Load: each thread takes a ticket and gives it back, without pause. The cap is above the number of threads, so every try succeeds.
// Time is of one pair on one thread; with several threads it is the wall time in which each of them makes one pair.
// Peer: peers/seed_gate.hpp, a mutex gate of the seed's shape.
// Floor: two CAS on one line, which is all that the gate's pair may cost.

#include "peers/seed_gate.hpp"

#include <sluice/turn_gate.hpp>

#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <optional>

namespace {

constexpr std::int64_t cap = 64;

void gate(benchmark::State& state) {
    static sluice::TurnGate shared({.max_concurrent_turns = cap});
    for (auto _ : state) {
        sluice::TurnTicket ticket = shared.try_admit();
        benchmark::DoNotOptimize(ticket);
        ticket.release();
    }
}

void seed(benchmark::State& state) {
    static peers::SeedGate shared(cap);
    for (auto _ : state) {
        std::optional<peers::SeedGate::Ticket> ticket;
        if (shared.try_admit(ticket))
            shared.release(*ticket);
    }
}

void floor_of_two_cas(benchmark::State& state) {
    alignas(64) static std::atomic<std::uint64_t> word{0};
    for (auto _ : state) {
        for (const std::uint64_t step : {std::uint64_t{1}, ~std::uint64_t{0}}) {
            std::uint64_t seen = word.load(std::memory_order_relaxed);
            while (!word.compare_exchange_weak(seen, seen + step)) {}
        }
    }
}

// One joins behind a turn, and is admitted by its end: the way through the line, callback included.
void queue_and_grant(benchmark::State& state) {
    sluice::ManualClock clock;
    sluice::TurnGate mine({.max_concurrent_turns = 1, .clock = &clock});
    sluice::TurnTicket held = mine.try_admit();
    for (auto _ : state) {
        auto submitted =
            mine.submit({.on_admitted = [&](sluice::TurnTicket ticket) { held = std::move(ticket); }});
        benchmark::DoNotOptimize(submitted);
        sluice::TurnTicket ending = std::move(held);
        ending.release();
    }
}

}  // namespace

BENCHMARK(gate)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK(seed)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK(floor_of_two_cas)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK(queue_and_grant);

BENCHMARK_MAIN();
