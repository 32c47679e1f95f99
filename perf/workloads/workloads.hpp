// The table of workloads, each for any peer, and the table of peers.
#pragma once

#include "workloads/latency.hpp"
#include "workloads/request.hpp"
#include "workloads/throughput.hpp"

#include <array>
#include <chrono>
#include <span>
#include <string_view>

namespace perf {

using Run = Figures (*)(const Request&);

struct Workload {
    std::string_view name;
    std::string_view what;
    Run run;
};

/// One peer: a name, what it is, and the workloads that it has.
struct Peer {
    std::string_view name;
    std::string_view what;
    std::span<const Workload> workloads;
};

template <class P>
constexpr std::array executor_workloads{
    Workload{"W1", "empty jobs, 1 actor", [](const Request& r) { return empty_jobs<P>(r, {1, 1}); }},
    Workload{"W2", "empty jobs, 64 actors", [](const Request& r) { return empty_jobs<P>(r, {64, 64}); }},
    Workload{"W2b", "empty jobs, 10,000 actors",
             [](const Request& r) { return empty_jobs<P>(r, {10'000, 10'000}); }},
    Workload{"W2c", "empty jobs, 64 of 10,000 actors",
             [](const Request& r) { return empty_jobs<P>(r, {10'000, 64}); }},
    Workload{"W3", "1 us each, 64 actors, 10 % writes", &readers_and_writers<P>},
    Workload{"W4a", "round trip, at once again",
             [](const Request& r) { return round_trips<P>(r, std::chrono::microseconds(0)); }},
    Workload{"W4b", "round trip after a pause of 200 us",
             [](const Request& r) { return round_trips<P>(r, std::chrono::microseconds(200)); }},
    Workload{"W5s", "open loop, Poisson 50,000/s, 64 actors", &open_loop<P>},
    Workload{"tiny", "a tiny job behind a 3 ms job of another actor", &tiny_behind_long<P>},
    Workload{"idle", "a second without work", &idle<P>},
    Workload{"memory", "400,000 idle actors", &memory_of_actors<P>},
};

// Each in a file of its own; those that need a package are there when it is.
extern const Peer peer_inline, peer_lent, peer_dedicated, peer_naive, peer_seed, peer_tbb, peer_asio,
    peer_caf;
extern const Peer peer_pool, peer_seed_pool, peer_gate, peer_seed_gate;

/// All that were built.
[[nodiscard]] std::span<const Peer* const> all_peers();

}  // namespace perf
