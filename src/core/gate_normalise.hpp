#pragma once

#include <expected>

#include <sluice/config.hpp>
#include <sluice/turn_config.hpp>

#include "core/gate_backoff.hpp"

namespace sluice::core {

/// Checks and completes the configuration of a turn gate. Pure; `clock` and `memory` pass through.
[[nodiscard]] std::expected<EffectiveTurnConfig, ConfigProblem> normalise(const TurnGateConfig& config);

/// What the backoff needs of it.
[[nodiscard]] BackoffRules backoff_rules_of(const EffectiveTurnConfig& config) noexcept;

}  // namespace sluice::core
