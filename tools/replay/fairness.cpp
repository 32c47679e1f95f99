#include "fairness.hpp"

#include <algorithm>
#include <cstddef>

namespace sluice::replay {
namespace {

struct ActorSlowdown {
    std::uint64_t jobs = 0;
    double sum = 0;
    [[nodiscard]] double mean() const noexcept {
        return sum / static_cast<double>(jobs);
    }
};

double slowdown(std::uint64_t latency_ns, std::uint64_t service_ns) noexcept {
    const auto bounded = static_cast<double>(std::max(service_ns, slowdown_floor_ns));
    return std::max(1.0, static_cast<double>(latency_ns) / bounded);
}

std::vector<ActorSlowdown> by_actor(const Trace& trace, const Plan& plan, const Recorder& recorder) {
    std::vector<ActorSlowdown> actors(trace.actors.size());
    for (std::size_t job = 0; job < plan.jobs.size(); ++job) {
        const JobRecord& record = recorder.records()[job];
        const std::uint64_t ended = record.ended();
        if (ended == 0 || record.cut_short.load(std::memory_order_relaxed))
            continue;
        const auto [arrival, row_number] = plan.jobs[job];
        const Row& row = trace.rows[row_number];
        ActorSlowdown& actor = actors[row.actor];
        ++actor.jobs;
        actor.sum += slowdown(ended > arrival ? ended - arrival : 0, plan.service_ns(row));
    }
    return actors;
}

}  // namespace

double jain_index(const std::vector<double>& values) noexcept {
    double sum = 0;
    double squares = 0;
    for (const double value : values) {
        sum += value;
        squares += value * value;
    }
    return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : 1.0;
}

Fairness make_fairness(const Trace& trace, const Plan& plan, const Recorder& recorder) {
    const auto actors = by_actor(trace, plan, recorder);
    Fairness fairness;
    std::vector<double> means;
    for (std::size_t i = 0; i < actors.size(); ++i) {
        if (actors[i].jobs < fairness_min_jobs)
            continue;
        means.push_back(actors[i].mean());
        if (means.back() > fairness.worst_slowdown) {
            fairness.worst_slowdown = means.back();
            fairness.worst_actor = trace.actors[i];
            fairness.worst_jobs = actors[i].jobs;
        }
    }
    if (means.empty())
        return fairness;
    fairness.actors = means.size();
    fairness.jain = jain_index(means);
    const auto middle = means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2);
    std::ranges::nth_element(means, middle);
    fairness.median_slowdown = *middle;
    return fairness;
}

}  // namespace sluice::replay
