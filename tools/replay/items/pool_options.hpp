// What `--engine pool` can be told.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <sluice/bounded_pool.hpp>

#include "trace/row.hpp"

namespace sluice::replay {

struct PoolOptions {
    std::vector<std::string> map;          ///< "lane/class=pool lane", over the default
    std::vector<std::string> lane_limits;  ///< "pool lane=items"
    std::uint64_t queued_bytes = 0;        ///< 0: the pool's default
};

/// Which lane of the pool a row of the trace goes to, by lane and class.
using LaneMap = std::array<std::array<PoolLane, job_class_count>, lane_count>;

/// Interactive status to control, mutations to user, reads to cheap; builds and all maintenance to bulk.
[[nodiscard]] LaneMap default_lane_map() noexcept;

/// Adds the options of the group "Pool" to a command line.
void declare_pool_options(CLI::App& app, PoolOptions& options);

/// The pool that a run asks for, and the map. **Errors**: a sentence about an option that names no lane.
struct PoolSetup {
    PoolConfig config;
    LaneMap map;
};
[[nodiscard]] std::expected<PoolSetup, std::string> make_pool_setup(const PoolOptions& options,
                                                                    unsigned workers,
                                                                    std::uint64_t max_queued);

}  // namespace sluice::replay
