// What the stress test counts, and the contexts and jobs by which it sees who is not alone or out of order.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>

#include "executor/harness.hpp"

namespace sluice::test {

inline constexpr unsigned most_threads = 8;
inline constexpr std::uint64_t ids = 9;

/// What the test counts itself.
struct Counts {
    std::atomic<std::uint64_t> submissions{0};
    std::atomic<std::uint64_t> plain_values{0};  ///< jobs of one step that ran to their end
    std::atomic<std::uint64_t> plain_threw{0};
    std::atomic<std::uint64_t> heavy_values{0};  ///< heavy jobs, by what their handles said
    std::atomic<std::uint64_t> heavy_threw{0};
    std::atomic<std::int64_t> closures{0};  ///< alive
    std::atomic<std::uint64_t> violations{0};
    std::atomic<std::uint64_t> out_of_order{0};
    std::atomic<std::uint64_t> hung{0};
    std::atomic<std::uint64_t> ill_answered{0};
};

/// Captured by every closure: a closure that is lost, or destroyed twice, shows.
class Token {
public:
    explicit Token(Counts& counts) : counts_(&counts) {
        counts.closures.fetch_add(1);
    }
    Token(Token&& other) noexcept : counts_(std::exchange(other.counts_, nullptr)) {}
    Token& operator=(Token&&) = delete;
    ~Token() {
        if (counts_ != nullptr)
            counts_->closures.fetch_sub(1);
    }

private:
    Counts* counts_;
};

/// A context. Everything in it that is not atomic belongs to whoever is alone.
struct State {
    explicit State(Counts& all) : counts(&all) {}
    Counts* counts;
    mutable std::atomic<int> readers{0};
    mutable std::atomic<int> statuses{0};
    std::atomic<int> writers{0};
    // Plain: only writers write them, readers and statuses read.
    std::uint64_t last[job_class_count][most_threads] = {};
    mutable std::uint64_t status_runs = 0;  // statuses exclude each other
    std::uint64_t writes = 0;

    void violated(bool wrong) const {
        if (wrong)
            counts->violations.fetch_add(1);
    }
    void write() {
        violated(writers.fetch_add(1) != 0);
        ++writes;
        violated(readers.load() != 0 || statuses.load() != 0 || writers.fetch_sub(1) != 1);
    }
};

/// What one job does.
struct Step {
    Counts* counts;
    unsigned thread;
    JobClass job_class;
    std::uint64_t number;  ///< of this thread, rising
    std::uint64_t before;  ///< of its last mutation in this class, through this handle; 0: none
    bool throws;
    bool sleeps;
};

inline void mutate(const Step& step, State& state) {
    state.write();
    std::uint64_t& last = state.last[static_cast<std::size_t>(step.job_class)][step.thread];
    if (step.number <= last || (step.before != 0 && last != step.before))
        step.counts->out_of_order.fetch_add(1);
    last = step.number;
    if (step.sleeps)
        std::this_thread::sleep_for(200us);
    (step.throws ? step.counts->plain_threw : step.counts->plain_values).fetch_add(1);
    if (step.throws)
        throw std::runtime_error("from a mutation");
}

inline void look(const Step& step, const State& state, std::atomic<int>& level) {
    level.fetch_add(1);
    state.violated(state.writers.load() != 0);
    // What this thread had submitted before, in this class, has run; what it submitted later has not.
    const std::uint64_t last = state.last[static_cast<std::size_t>(step.job_class)][step.thread];
    if (step.before != 0 && last != step.before)
        step.counts->out_of_order.fetch_add(1);
    if (&level == &state.statuses) {
        state.violated(level.load() != 1);
        ++state.status_runs;
    }
    if (step.sleeps)
        std::this_thread::sleep_for(100us);
    state.violated(state.writers.load() != 0);
    level.fetch_sub(1);
    (step.throws ? step.counts->plain_threw : step.counts->plain_values).fetch_add(1);
    if (step.throws)
        throw std::runtime_error("from a read");
}

}  // namespace sluice::test
