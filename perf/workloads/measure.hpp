// Clocks, placement and counters of one process: what every workload measures with.
#pragma once

#include "workloads/request.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace perf {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

/// Puts the calling thread on CPU 0, so that what it starts next can be told from it by pin_others().
void pin_producer(Placement placement);
/// Puts every other thread of the process on CPU 1. To be called when all of them have started: some peers start theirs when
/// work comes, and those would inherit the producer's CPU.
void pin_others(Placement placement);

/// What the process has used up to now.
struct Usage {
    double process_cpu_ns = 0;
    double caller_cpu_ns = 0;  ///< of the thread that asks: the producer
    double context_switches = 0;
    double allocations =
        0;  ///< malloc and the library's resource, all threads; negative: not counted in this program
    std::int64_t at_ns = 0;

    static Usage now();
};

/// The figures of a stretch in which `jobs` jobs ran.
void add_usage(Figures& figures, const Usage& before, const Usage& after, double jobs);
/// p50, p99 and p99.9 of nanoseconds, as microseconds. Sorts.
void add_percentiles(Figures& figures, std::vector<std::int64_t>& times_ns);

/// Work of a fixed number of steps that took `span` where nobody interrupted it: not of a fixed time, since a clock would count
/// the time in which the thread was preempted as work done.
class FixedWork {
public:
    explicit FixedWork(std::chrono::nanoseconds span);
    void operator()() const;

private:
    static void steps(std::uint64_t count);
    std::uint64_t count_ = 0;
};

/// Resident bytes of the process.
[[nodiscard]] double resident_bytes();

}  // namespace perf
