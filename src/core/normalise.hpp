#pragma once

#include <expected>

#include <sluice/config.hpp>

#include "core/limits.hpp"

namespace sluice::core {

/// Checks and completes a configuration (E1, E2). Pure: the number of usable CPUs is an argument, 0 if it is not known.
[[nodiscard]] std::expected<EffectiveConfig, ConfigProblem> normalise(const Config& config,
                                                                      unsigned usable_cpus);

/// What the scheduler needs of it.
[[nodiscard]] Limits limits_of(const EffectiveConfig& config) noexcept;

/// Most nodes that may be reserved at once: by Config::reserve_nodes, and by Executor::reserve().
inline constexpr std::uint64_t reserve_max = std::uint64_t{1} << 32U;

}  // namespace sluice::core
