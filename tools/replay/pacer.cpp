#include "pacer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text.hpp"

namespace sluice::replay {
namespace {

// SplitMix64: the same numbers from the same seed with every standard library.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    // From [0, 1).
    double next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
    }

private:
    std::uint64_t state_;
};

double service_sum_us(std::span<const Row> rows) {
    double sum = 0;
    for (const Row& row : rows)
        sum += static_cast<double>(row.service_us);
    return sum;
}

std::expected<double, std::string> speed_for(const Pace& pace, const Plan& plan, unsigned workers) {
    if (pace.kind != PaceKind::utilisation)
        return pace.kind == PaceKind::speed ? pace.value : 1.0;
    if (plan.work_ns == 0) {
        return std::unexpected(
            "a utilisation was asked for, but all service times are 0; use --speed or --asap");
    }
    // All at once is an infinite load at every speed: there is nothing to divide, and nothing to get wrong.
    if (plan.offered_workers == 0)
        return 1.0;
    return pace.value * workers / plan.offered_workers;
}

}  // namespace

std::expected<Plan, std::string> make_plan(std::span<const Row> rows, const PlanOptions& options) {
    if (rows.size() > max_jobs / options.repeat) {
        return std::unexpected(
            fmt::format("{} times {} are more than the {} jobs that one run may have; use --limit",
                        counted(rows.size(), "row"), grouped(options.repeat), grouped(max_jobs)));
    }
    Plan plan;
    plan.pace = options.pace;
    plan.service_scale = options.service_scale;
    const double work_us = service_sum_us(rows) * options.service_scale;
    const auto span_us = static_cast<double>(rows.back().arrival_us);
    plan.work_ns = static_cast<std::uint64_t>(work_us * 1000.0) * options.repeat;
    plan.offered_workers = span_us > 0 ? work_us / span_us : 0;
    const auto speed = speed_for(options.pace, plan, options.workers);
    if (!speed)
        return std::unexpected(speed.error());
    plan.speed = *speed;

    const bool at_once = options.pace.kind == PaceKind::asap;
    if (!at_once)
        plan.utilisation = plan.offered_workers * plan.speed / options.workers;
    const double ns_per_us = at_once ? 0 : 1000.0 / plan.speed;
    const double gap_us = rows.size() > 1 ? span_us / static_cast<double>(rows.size() - 1) : 0;
    Random random(options.seed);
    plan.jobs.reserve(rows.size() * options.repeat);
    for (std::uint64_t lap = 0; lap < options.repeat; ++lap) {
        const double lap_us = static_cast<double>(lap) * (span_us + gap_us);
        for (std::uint32_t row = 0; row < rows.size(); ++row) {
            double at_us = lap_us + static_cast<double>(rows[row].arrival_us);
            if (options.jitter > 0)
                at_us += random.next() * options.jitter * gap_us;
            plan.jobs.push_back({static_cast<std::uint64_t>(at_us * ns_per_us), row});
        }
    }
    // Ties in the order of the trace. Not stable_sort: libstdc++ 12 uses there what it has deprecated itself.
    const auto key = [](const PlannedJob& job) { return std::pair(job.arrival_ns, job.row); };
    if (options.jitter > 0)
        std::ranges::sort(plan.jobs, {}, key);
    return plan;
}

}  // namespace sluice::replay
