// What a turn gate is asked to be, and what it is.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory_resource>
#include <string_view>

#include <sluice/clock.hpp>
#include <sluice/detail/export.hpp>

namespace sluice {

/// Who is next among those that wait.
enum class TurnOrder : std::uint8_t {
    fifo,         ///< Whoever came first.
    round_robin,  ///< Sessions take turns; within a session, whoever came first.
};

/// What the number of turns in flight follows.
enum class LimitPolicy : std::uint8_t {
    fixed,  ///< Nothing: it is max_concurrent_turns.
    aimd,  ///< Up by one while turns go well and room is used, down by a tenth when the provider says "too many".
    gradient,  ///< As turns take longer than they usually did, fewer are let in; down by a tenth as with aimd.
};

[[nodiscard]] SLUICE_API std::string_view to_string(TurnOrder order) noexcept;
[[nodiscard]] SLUICE_API std::string_view to_string(LimitPolicy policy) noexcept;

/// What a gate is asked to be. A value outside its range is refused, naming field, value and range. What came of it:
/// EffectiveTurnConfig.
struct TurnGateConfig {
    // Bounds (T1).

    /// Turns in flight. Range 1..65535.
    std::int64_t max_concurrent_turns = 8;
    /// Live sessions. Range 1..1000000.
    std::int64_t max_live_sessions = 64;
    /// Waiting turns. Range 0..32767; 0: nobody waits, whoever finds no room is refused.
    std::int64_t max_queue_length = 256;
    /// Longest wait; checked every quarter of it (T9). Range 1 ms..24 h.
    std::chrono::nanoseconds max_queue_wait = std::chrono::seconds{60};

    // Order (T4, T16).

    TurnOrder order = TurnOrder::fifo;
    /// Waiting turns of one session. Range 1..32767; 0: no limit of its own.
    std::int64_t max_queued_per_session = 0;

    // Sessions (T11).

    /// Least time between two sessions' starts. Range 0..1 h.
    std::chrono::nanoseconds start_interval{0};

    // Backoff (T10).

    /// First pause after a rate limit. Range 1 ms..1 h, whole milliseconds.
    std::chrono::nanoseconds base_backoff = std::chrono::seconds{1};
    /// Longest pause that doubling leads to. Range base_backoff..1 h, whole milliseconds. A provider's own figure may be longer.
    std::chrono::nanoseconds max_backoff = std::chrono::seconds{60};
    /// A pause is lengthened by a random share of it, up to this one. Range 0..1.
    double backoff_jitter = 0;
    /// Seed of that: the same seed and the same calls give the same pauses.
    std::uint64_t jitter_seed = 1;

    // Adaptive limit (T17).

    LimitPolicy limit = LimitPolicy::fixed;
    /// Fewest turns in flight that the limit comes down to. Range 1..max_concurrent_turns.
    std::int64_t min_concurrent_turns = 1;
    /// Where the limit begins. Range min_concurrent_turns..max_concurrent_turns; 0: at max_concurrent_turns.
    std::int64_t initial_concurrent_turns = 0;
    /// Turns that end between two looks at the limit. Range 1..10000.
    std::int64_t limit_window = 10;

    // Surroundings.

    /// Where time comes from; must outlive the gate. nullptr: system_clock().
    Clock* clock = nullptr;
    /// Where memory comes from, all of it when the gate is made; must outlive the gate and its tickets. nullptr: mimalloc.
    std::pmr::memory_resource* memory = nullptr;
};

/// What a gate is: TurnGateConfig with every value filled in. Read it from the gate.
struct EffectiveTurnConfig {
    std::uint32_t max_concurrent_turns = 8;
    std::uint32_t max_live_sessions = 64;
    std::uint32_t max_queue_length = 256;
    std::chrono::nanoseconds max_queue_wait{0};
    std::chrono::nanoseconds sweep_interval{0};  ///< max(1 ms, max_queue_wait / 4)
    TurnOrder order = TurnOrder::fifo;
    std::uint32_t max_queued_per_session = 0;  ///< no_limit: none
    std::chrono::nanoseconds start_interval{0};
    std::chrono::nanoseconds base_backoff{0};
    std::chrono::nanoseconds max_backoff{0};
    double backoff_jitter = 0;
    std::uint64_t jitter_seed = 1;
    LimitPolicy limit = LimitPolicy::fixed;
    std::uint32_t min_concurrent_turns = 1;
    std::uint32_t initial_concurrent_turns = 8;
    std::uint32_t limit_window = 10;
    Clock* clock = nullptr;
    std::pmr::memory_resource* memory = nullptr;

    static constexpr std::uint32_t no_limit = ~std::uint32_t{0};
};

}  // namespace sluice
