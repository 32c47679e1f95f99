#include "core/gate_normalise.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/words/gate_word.hpp"

namespace sluice {

std::string_view to_string(TurnOrder order) noexcept {
    switch (order) {
        case TurnOrder::fifo:
            return "fifo";
        case TurnOrder::round_robin:
            return "round_robin";
    }
    return "unknown order";
}

std::string_view to_string(LimitPolicy policy) noexcept {
    switch (policy) {
        case LimitPolicy::fixed:
            return "fixed";
        case LimitPolicy::aimd:
            return "aimd";
        case LimitPolicy::gradient:
            return "gradient";
    }
    return "unknown policy";
}

namespace core {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::int64_t turns_max = GateWord::in_flight_max;
constexpr std::int64_t queue_max = GateWord::waiting_max;
constexpr std::int64_t sessions_max = 1'000'000;
constexpr std::int64_t window_max = 10'000;

static_assert(turns_max == 65'535 && queue_max == 32'767, "the ranges below are written out");
static_assert(hours(1) / milliseconds(1) <= static_cast<std::int64_t>(BackoffWord::length_max_ms));

/// Keeps the first problem.
class Checker {
public:
    void check(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most,
               std::string_view range) {
        if (value < least || value > most)
            refuse(field, std::to_string(value), range);
    }
    void check(std::string_view field, nanoseconds value, nanoseconds least, nanoseconds most,
               std::string_view range) {
        if (value < least || value > most)
            refuse(field, std::to_string(value.count()) + " ns", range);
    }
    void refuse(std::string_view field, std::string value, std::string_view range) {
        if (!problem_)
            problem_ = ConfigProblem{field, std::move(value), range};
    }
    [[nodiscard]] const std::optional<ConfigProblem>& problem() const {
        return problem_;
    }

private:
    std::optional<ConfigProblem> problem_;
};

constexpr std::string_view backoff_range = "1 ms..1 h, in whole milliseconds";

[[nodiscard]] std::optional<ConfigProblem> find_problem(const TurnGateConfig& config) {
    Checker checker;
    checker.check("max_concurrent_turns", config.max_concurrent_turns, 1, turns_max, "1..65535");
    checker.check("max_live_sessions", config.max_live_sessions, 1, sessions_max, "1..1000000");
    checker.check("max_queue_length", config.max_queue_length, 0, queue_max, "0..32767");
    checker.check("max_queue_wait", config.max_queue_wait, milliseconds(1), hours(24), "1 ms..24 h");
    if (config.order != TurnOrder::fifo && config.order != TurnOrder::round_robin)
        checker.refuse("order", std::to_string(static_cast<unsigned>(config.order)), "fifo or round_robin");
    checker.check("max_queued_per_session", config.max_queued_per_session, 0, queue_max,
                  "1..32767, or 0 for no limit");
    checker.check("start_interval", config.start_interval, nanoseconds(0), hours(1), "0..1 h");
    checker.check("base_backoff", config.base_backoff, milliseconds(1), hours(1), backoff_range);
    checker.check("max_backoff", config.max_backoff, config.base_backoff, hours(1),
                  "base_backoff..1 h, in whole milliseconds");
    if (config.base_backoff % milliseconds(1) != nanoseconds(0))
        checker.refuse("base_backoff", std::to_string(config.base_backoff.count()) + " ns", backoff_range);
    if (config.max_backoff % milliseconds(1) != nanoseconds(0))
        checker.refuse("max_backoff", std::to_string(config.max_backoff.count()) + " ns",
                       "base_backoff..1 h, in whole milliseconds");
    if (!(config.backoff_jitter >= 0 && config.backoff_jitter <= 1))  // also if it is no number
        checker.refuse("backoff_jitter", std::to_string(config.backoff_jitter), "0..1");
    if (config.limit != LimitPolicy::fixed && config.limit != LimitPolicy::aimd &&
        config.limit != LimitPolicy::gradient)
        checker.refuse("limit", std::to_string(static_cast<unsigned>(config.limit)),
                       "fixed, aimd or gradient");
    checker.check("min_concurrent_turns", config.min_concurrent_turns, 1, config.max_concurrent_turns,
                  "1..max_concurrent_turns");
    if (config.initial_concurrent_turns != 0)
        checker.check("initial_concurrent_turns", config.initial_concurrent_turns,
                      config.min_concurrent_turns, config.max_concurrent_turns,
                      "min_concurrent_turns..max_concurrent_turns, or 0 for the latter");
    checker.check("limit_window", config.limit_window, 1, window_max, "1..10000");
    return checker.problem();
}

}  // namespace

std::expected<EffectiveTurnConfig, ConfigProblem> normalise(const TurnGateConfig& config) {
    if (auto problem = find_problem(config))
        return std::unexpected(*std::move(problem));
    EffectiveTurnConfig effective;
    effective.max_concurrent_turns = static_cast<std::uint32_t>(config.max_concurrent_turns);
    effective.max_live_sessions = static_cast<std::uint32_t>(config.max_live_sessions);
    effective.max_queue_length = static_cast<std::uint32_t>(config.max_queue_length);
    effective.max_queue_wait = config.max_queue_wait;
    effective.sweep_interval = std::max<nanoseconds>(milliseconds(1), config.max_queue_wait / 4);
    effective.order = config.order;
    effective.max_queued_per_session = config.max_queued_per_session == 0
                                           ? EffectiveTurnConfig::no_limit
                                           : static_cast<std::uint32_t>(config.max_queued_per_session);
    effective.start_interval = config.start_interval;
    effective.base_backoff = config.base_backoff;
    effective.max_backoff = config.max_backoff;
    effective.backoff_jitter = config.backoff_jitter;
    effective.jitter_seed = config.jitter_seed;
    effective.limit = config.limit;
    effective.min_concurrent_turns = static_cast<std::uint32_t>(
        config.limit == LimitPolicy::fixed ? config.max_concurrent_turns : config.min_concurrent_turns);
    const bool starts_below = config.limit != LimitPolicy::fixed && config.initial_concurrent_turns != 0;
    effective.initial_concurrent_turns = static_cast<std::uint32_t>(
        starts_below ? config.initial_concurrent_turns : config.max_concurrent_turns);
    effective.limit_window = static_cast<std::uint32_t>(config.limit_window);
    effective.clock = config.clock;
    effective.memory = config.memory;
    return effective;
}

BackoffRules backoff_rules_of(const EffectiveTurnConfig& config) noexcept {
    return {.base_ms = static_cast<std::uint32_t>(config.base_backoff / milliseconds(1)),
            .max_ms = static_cast<std::uint32_t>(config.max_backoff / milliseconds(1)),
            .jitter = config.backoff_jitter};
}

}  // namespace core
}  // namespace sluice
