// Durations in a few figures, and how long after its intended time something happened. PURE.
#pragma once

#include <cstdint>

#include "observe/histogram.hpp"

namespace sluice::replay {

/// Durations in nanoseconds; quantiles carry the histogram's error (below 0.8 %, upwards), the rest is exact.
struct Durations {
    std::uint64_t count = 0;
    double mean = 0;
    std::uint64_t p50 = 0;
    std::uint64_t p90 = 0;
    std::uint64_t p99 = 0;
    std::uint64_t p999 = 0;
    std::uint64_t max = 0;
};

[[nodiscard]] inline Durations durations(const observe::Histogram& histogram) noexcept {
    return {.count = histogram.count(),
            .mean = histogram.mean(),
            .p50 = histogram.quantile(0.5),
            .p90 = histogram.quantile(0.9),
            .p99 = histogram.quantile(0.99),
            .p999 = histogram.quantile(0.999),
            .max = histogram.max()};
}

/// A clock reading can be a hair before the intended time that it was waited for; that is a delay of nothing.
[[nodiscard]] constexpr std::uint64_t since(std::uint64_t later, std::uint64_t earlier) noexcept {
    return later > earlier ? later - earlier : 0;
}

}  // namespace sluice::replay
