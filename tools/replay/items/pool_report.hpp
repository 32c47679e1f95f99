// What came of a replay through the pool, and how it is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sluice/bounded_pool.hpp>

#include "exit_code.hpp"
#include "observe/histogram.hpp"
#include "pacer.hpp"

namespace sluice::replay {

/// What one lane of the pool was given. planned = not_submitted + refused + accepted; accepted = ran + dropped + lost.
struct PoolLaneReport {
    std::string name;
    std::uint64_t limit = 0;
    std::uint64_t planned = 0;
    std::uint64_t not_submitted = 0;
    std::uint64_t refused_total = 0;  ///< by the bound on all items
    std::uint64_t refused_lane = 0;
    std::uint64_t refused_bytes = 0;
    std::uint64_t refused_never_fits = 0;
    std::uint64_t refused_otherwise = 0;
    std::uint64_t accepted = 0;
    std::uint64_t ran = 0;
    std::uint64_t dropped = 0;
    std::uint64_t lost = 0;
    std::uint64_t cut_short = 0;
    std::uint64_t started_again = 0;
    observe::Histogram queue_delay;  ///< start minus intended arrival
    observe::Histogram latency;      ///< end minus intended arrival

    [[nodiscard]] std::uint64_t refused() const noexcept {
        return refused_total + refused_lane + refused_bytes + refused_never_fits + refused_otherwise;
    }
    void add(const PoolLaneReport& other);
};

struct PoolReport {
    std::string trace_name;
    std::uint64_t rows = 0;
    Pace pace;
    double speed = 1;
    double utilisation = 0;
    std::uint64_t workers = 0;
    std::uint64_t max_queued = 0;
    std::uint64_t max_queued_bytes = 0;
    bool interrupted = false;
    bool stuck = false;
    unsigned patience_s = 60;
    std::uint64_t wall_ns = 0;
    std::uint64_t cpu_ns = 0;
    std::uint64_t allocations = 0;  ///< of the pool, while the run lasted
    std::uint64_t snapshots = 0;
    std::uint64_t snapshots_uneven = 0;
    std::vector<PoolLaneReport> lanes;  ///< those of the pool, in their order
    PoolLaneReport total;
    PoolSnapshot last;

    /// No job lost, none started twice, and the pool's own counts agree.
    [[nodiscard]] bool sound() const;
    [[nodiscard]] ExitCode exit_code() const;
};

[[nodiscard]] std::string pool_report_text(const PoolReport& report);
[[nodiscard]] std::string pool_report_json(const PoolReport& report);

}  // namespace sluice::replay
