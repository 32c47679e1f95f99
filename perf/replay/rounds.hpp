// What several rounds say: medians with their range, and ratios that are taken within a round. PURE.
#pragma once

#include "replay/one_run.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace perf::replay {

struct Spread {
    double median = 0;
    double least = 0;
    double most = 0;
};
/// Nothing of no values. The median of an even number is the mean of the middle two.
[[nodiscard]] std::optional<Spread> spread_of(std::vector<double> values);

/// 0 to `peers` - 1 in an order that the seed and the round settle.
[[nodiscard]] std::vector<std::size_t> order_of_round(std::size_t peers, std::uint64_t seed,
                                                      std::uint64_t round);

/// A figure of a run: how it is called in the JSON, and at the head of its column.
struct Figure {
    std::string_view name;
    std::string_view title;
    double (*of)(const RunFigures&);
};
[[nodiscard]] std::span<const Figure> start_figures();  ///< microseconds
[[nodiscard]] std::span<const Figure> end_figures();    ///< microseconds
[[nodiscard]] std::span<const Figure> cost_figures();

/// Of each round in turn.
[[nodiscard]] std::vector<double> values_of(const Figure& figure, std::span<const RunFigures> rounds);
/// `left` over `right`, round by round; rounds in which one of them is 0 have no ratio.
[[nodiscard]] std::vector<double> ratios_of(const Figure& figure, std::span<const RunFigures> left,
                                            std::span<const RunFigures> right);

}  // namespace perf::replay
