#pragma once

#include <expected>

#include <sluice/pool_config.hpp>

#include "core/pool_record.hpp"

namespace sluice::core {

/// Checks a pool's configuration and resolves its names (P1, P15).
[[nodiscard]] std::expected<EffectivePoolConfig, ConfigProblem> normalise(const PoolConfig& config);

/// What admission needs of it.
[[nodiscard]] PoolLimits limits_of(const EffectivePoolConfig& config) noexcept;

}  // namespace sluice::core
