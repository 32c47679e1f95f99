// The turn gate beside a gate of the seed's shape: one pair is an admission and its release.
//
//   gate1   on one thread, in a process that has a second one (without, the C library's mutexes skip their locked instructions)
//   gate2   two threads, pinned to a CPU each where placement says apart; time is that of one thread for one of its pairs

#include "peers/seed_gate.hpp"
#include "workloads/workloads.hpp"

#include <sluice/turn_gate.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

namespace perf {
namespace {

constexpr int cap = 64;

struct OurGate {
    sluice::TurnGate gate{{.max_concurrent_turns = cap}};
    void pair() {
        sluice::TurnTicket ticket = gate.try_admit();
        ticket.release();
    }
};
struct SeedsGate {
    peers::SeedGate gate{cap};
    void pair() {
        std::optional<peers::SeedGate::Ticket> ticket;
        if (gate.try_admit(ticket))
            gate.release(*ticket);
    }
};

/// Pairs for a time; CPU nanoseconds of the calling thread for each.
template <class Gate>
double pairs(Gate& gate, std::chrono::nanoseconds length) {
    const Usage before = Usage::now();
    const auto end = Clock::now() + length;
    double count = 0;
    do {
        for (int i = 0; i < 1'000; ++i)
            gate.pair();
        count += 1'000;
    } while (Clock::now() < end);
    return (Usage::now().caller_cpu_ns - before.caller_cpu_ns) / count;
}

template <class Gate>
Figures one_thread(const Request& request) {
    Gate gate;
    std::atomic<bool> over{false};
    std::jthread sleeper([&] { over.wait(false); });
    (void)pairs(gate, request.length / 10);
    const double each = pairs(gate, request.length);
    over.store(true);
    over.notify_one();
    return {{"ns_per_pair", each}};
}

template <class Gate>
Figures two_threads(const Request& request) {
    Gate gate;
    pin_producer(request.placement);
    double other_each = 0;
    std::atomic<int> here{0};
    const auto meet = [&] {
        here.fetch_add(1);
        while (here.load() < 2)
            std::this_thread::yield();
    };
    std::jthread other([&] {
        meet();
        other_each = pairs(gate, request.length);
    });
    pin_others(request.placement);
    meet();
    const double each = pairs(gate, request.length);
    other.join();
    return {{"ns_per_pair", (each + other_each) / 2}};
}

template <class Gate>
constexpr std::array gate_workloads{
    Workload{"gate1", "admit and release, one thread", &one_thread<Gate>},
    Workload{"gate2", "admit and release, two threads", &two_threads<Gate>},
};

}  // namespace

const Peer peer_gate{"sluice-gate", "Sluice's turn gate", gate_workloads<OurGate>};
const Peer peer_seed_gate{"seed-gate", "a gate of the seed's shape", gate_workloads<SeedsGate>};

}  // namespace perf
