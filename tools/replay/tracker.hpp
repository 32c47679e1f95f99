// How far a run has come, found out while it runs by looking at the jobs' records from outside.
//
// One thread owns a Tracker. It reads only what the submitter has published and what jobs have released (recorder.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "observe/histogram.hpp"
#include "pacer.hpp"
#include "recorder.hpp"

namespace sluice::replay {

class Tracker {
public:
    /// Records looked at in one update. A backlog of a million is then seen through in 16 updates, and an update costs
    /// the run under a millisecond of memory traffic.
    static constexpr std::size_t looks_per_update = 65'536;

    Tracker(const Plan& plan, const Recorder& recorder)
        : plan_(plan), recorder_(recorder), seen_(plan.jobs.size()) {}

    /// Looks at jobs among the first `submitted`, whose submissions must have been published to this thread, and notes
    /// which are over.
    void update(std::size_t submitted);

    [[nodiscard]] std::size_t submitted() const noexcept {
        return submitted_;
    }
    [[nodiscard]] std::size_t over() const noexcept {
        return over_;
    }  ///< ran, dropped or refused, as far as seen
    [[nodiscard]] std::size_t open() const noexcept {
        return submitted_ - over_;
    }
    [[nodiscard]] std::uint64_t queue_delay_p99() const noexcept {
        return delay_.quantile(0.99);
    }

private:
    [[nodiscard]] bool look(std::size_t job);

    const Plan& plan_;
    const Recorder& recorder_;
    std::vector<bool> seen_;      // over, and counted
    std::size_t first_open_ = 0;  // all before it are over
    std::size_t cursor_ = 0;      // where the next look goes on
    std::size_t submitted_ = 0;
    std::size_t over_ = 0;
    observe::Histogram delay_;
};

}  // namespace sluice::replay
