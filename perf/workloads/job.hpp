// The job of every workload, the same 16 bytes for each peer, and how the producer learns how many have run.
//
// Threads: any thread of a peer runs jobs, the producer reads. Each thread counts in a line of its own, which it alone writes: a
// counter shared by the workers would bounce between them at every job, and one that the producer reads at every submission
// would bounce to it as well; either is dearer than a good executor's whole job, and would be what is measured.
// Invariant: the cells add up to the jobs that have run. Relaxed throughout: a count orders nothing, the jobs are empty.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace perf {

/// A function and its argument: what every peer can carry without an allocation of ours.
struct Job {
    void (*run)(void*) = nullptr;
    void* argument = nullptr;
    void operator()() const {
        run(argument);
    }
};

enum class Access : std::uint8_t { read, write };

class Done {
public:
    /// As many threads as may ever run jobs of one process; a peer that starts more ends the run with a message.
    static constexpr std::size_t most_threads = 256;

    static void count_one(void*) {
        thread_local Cell& mine = new_cell();
        mine.jobs.store(mine.jobs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    [[nodiscard]] static std::int64_t jobs() {
        std::int64_t sum = 0;
        const std::size_t used = used_.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < used; ++i)
            sum += cells_[i].jobs.load(std::memory_order_relaxed);
        return sum;
    }

private:
    struct alignas(64) Cell {
        std::atomic<std::int64_t> jobs;  // zero: C++20
    };
    static Cell& new_cell() {
        const std::size_t mine = used_.fetch_add(1, std::memory_order_acq_rel);
        if (mine >= most_threads)
            std::abort();
        return cells_[mine];
    }
    static inline std::array<Cell, most_threads> cells_{};
    alignas(64) static inline std::atomic<std::size_t> used_{0};
};

}  // namespace perf
