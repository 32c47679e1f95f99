#include "replay/rounds.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <utility>

namespace perf::replay {
namespace {

using sluice::replay::Durations;

template <Durations RunFigures::* which, std::uint64_t Durations::* quantile>
double us(const RunFigures& run) {
    return static_cast<double>(run.*which.*quantile) / 1e3;
}

}  // namespace

std::optional<Spread> spread_of(std::vector<double> values) {
    if (values.empty())
        return std::nullopt;
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    return Spread{median, values.front(), values.back()};
}

std::vector<std::size_t> order_of_round(std::size_t peers, std::uint64_t seed, std::uint64_t round) {
    std::vector<std::size_t> order(peers);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::seed_seq both{seed, round};
    std::mt19937_64 random(both);
    // Not std::shuffle: the same seed gives the same order with every standard library.
    for (std::size_t left = peers; left > 1; --left)
        std::swap(order[left - 1], order[random() % left]);
    return order;
}

std::span<const Figure> start_figures() {
    static constexpr std::array figures{
        Figure{"start_p50_us", "p50", us<&RunFigures::start, &Durations::p50>},
        Figure{"start_p90_us", "p90", us<&RunFigures::start, &Durations::p90>},
        Figure{"start_p99_us", "p99", us<&RunFigures::start, &Durations::p99>},
        Figure{"start_p999_us", "p99.9", us<&RunFigures::start, &Durations::p999>},
    };
    return figures;
}

std::span<const Figure> end_figures() {
    static constexpr std::array figures{
        Figure{"end_p50_us", "p50", us<&RunFigures::end, &Durations::p50>},
        Figure{"end_p90_us", "p90", us<&RunFigures::end, &Durations::p90>},
        Figure{"end_p99_us", "p99", us<&RunFigures::end, &Durations::p99>},
        Figure{"end_p999_us", "p99.9", us<&RunFigures::end, &Durations::p999>},
    };
    return figures;
}

std::span<const Figure> cost_figures() {
    static constexpr std::array figures{
        Figure{"cpu_us_per_job", "CPU us", [](const RunFigures& run) { return run.cpu_ns_per_job / 1e3; }},
        Figure{"peer_cpu_us_per_job", "of it peer",
               [](const RunFigures& run) { return run.peer_cpu_ns_per_job / 1e3; }},
        Figure{"switches_per_job", "switches", [](const RunFigures& run) { return run.switches_per_job; }},
        Figure{"submitter_lag_p99_us", "late p99 us", us<&RunFigures::lag, &Durations::p99>},
    };
    return figures;
}

std::vector<double> values_of(const Figure& figure, std::span<const RunFigures> rounds) {
    std::vector<double> values;
    for (const RunFigures& run : rounds)
        values.push_back(figure.of(run));
    return values;
}

std::vector<double> ratios_of(const Figure& figure, std::span<const RunFigures> left,
                              std::span<const RunFigures> right) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < std::min(left.size(), right.size()); ++round) {
        const double over = figure.of(left[round]);
        const double under = figure.of(right[round]);
        if (over > 0 && under > 0)
            ratios.push_back(over / under);
    }
    return ratios;
}

}  // namespace perf::replay
