#include "items/pool_options.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace sluice::replay {
namespace {

std::optional<PoolLane> find_lane(const PoolConfig& config, std::string_view name) {
    const auto found = std::ranges::find(config.lanes, name, &PoolLaneConfig::name);
    if (found == config.lanes.end())
        return std::nullopt;
    return PoolLane{static_cast<std::uint8_t>(found - config.lanes.begin())};
}

// "left=right"; the right is empty where there is no sign.
std::pair<std::string_view, std::string_view> halves(std::string_view text) {
    const std::size_t sign = text.find('=');
    return {text.substr(0, sign),
            sign == std::string_view::npos ? std::string_view{} : text.substr(sign + 1)};
}

// False: no lane and class of a trace are called so.
bool map_rows(LaneMap& map, std::string_view rows, PoolLane to) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        for (unsigned c = 0; c < job_class_count; ++c) {
            const std::string name = fmt::format("{}/{}", lane_word(static_cast<Lane>(lane)),
                                                 class_word(static_cast<JobClass>(c)));
            if (name == rows) {
                map.at(lane).at(c) = to;
                return true;
            }
        }
    }
    return false;
}

}  // namespace

LaneMap default_lane_map() noexcept {
    using namespace pool_lanes;
    LaneMap map;
    for (auto& classes : map)
        classes.fill(bulk);
    constexpr auto interactive = static_cast<std::size_t>(JobClass::interactive);
    map[static_cast<std::size_t>(Lane::serial_status)][interactive] = control;
    map[static_cast<std::size_t>(Lane::mutating)][interactive] = user;
    map[static_cast<std::size_t>(Lane::pure_read)][interactive] = cheap;
    return map;
}

void declare_pool_options(CLI::App& app, PoolOptions& options) {
    const char* const group = "Pool (--engine pool)";
    app.add_option("--map", options.map,
                   "Send rows of a lane and class to a pool lane, as read/maintenance=cheap (repeatable)")
        ->type_name("ROWS=LANE")
        ->take_all()
        ->group(group);
    app.add_option("--lane-limit", options.lane_limits,
                   "Items that a lane may queue, as bulk=256; default: the pool's (repeatable)")
        ->type_name("LANE=N")
        ->take_all()
        ->group(group);
    app.add_option("--queued-bytes", options.queued_bytes, "Bytes that may be queued (default: the pool's)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 62))
        ->type_name("N")
        ->group(group);
}

std::expected<PoolSetup, std::string> make_pool_setup(const PoolOptions& options, unsigned workers,
                                                      std::uint64_t max_queued) {
    PoolSetup setup{.config = {}, .map = default_lane_map()};
    PoolConfig& config = setup.config;
    config.thread_name_prefix = "replay";
    if (workers > 0)
        config.kinds = {{"general", workers, {"control", "user", "cheap", "bulk"}}};
    if (max_queued > 0)
        config.max_queued = static_cast<std::int64_t>(max_queued);
    if (options.queued_bytes > 0)
        config.max_queued_bytes = static_cast<std::int64_t>(options.queued_bytes);
    for (const std::string& entry : options.lane_limits) {
        const auto [name, text] = halves(entry);
        const auto lane = find_lane(config, name);
        std::int64_t items = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), items);
        if (!lane || text.empty() || error != std::errc{} || end != text.data() + text.size())
            return std::unexpected(
                fmt::format("--lane-limit {}: not a lane of the pool and a number, as bulk=256", entry));
        config.lanes[lane->index].limit = items;
    }
    for (const std::string& entry : options.map) {
        const auto [rows, name] = halves(entry);
        const auto lane = find_lane(config, name);
        if (!lane || !map_rows(setup.map, rows, *lane))
            return std::unexpected(
                fmt::format("--map {}: not a lane and class of the trace and a lane of the pool, as "
                            "read/maintenance=cheap",
                            entry));
    }
    return setup;
}

}  // namespace sluice::replay
