#pragma once

// How far apart sessions start (T11). PURE.

#include <algorithm>
#include <cstdint>
#include <limits>

namespace sluice::core {

/// No session has started yet.
inline constexpr std::int64_t never_started = std::numeric_limits<std::int64_t>::min();

struct PacedStart {
    std::int64_t last_start_at = never_started;  ///< The new value.
    std::int64_t wait_ns = 0;                    ///< How long the session waits before it starts.
};

/// A session is reserved at `now_ns`. It starts at the earliest an interval after the one before it *starts*, not after that one
/// was reserved: many reservations at once are spread over as many intervals.
[[nodiscard]] constexpr PacedStart paced_start(std::int64_t last_start_at, std::int64_t now_ns,
                                               std::int64_t interval_ns) noexcept {
    if (last_start_at == never_started)
        return {now_ns, 0};
    const std::int64_t start = std::max(now_ns, last_start_at + interval_ns);
    return {start, start - now_ns};
}

}  // namespace sluice::core
