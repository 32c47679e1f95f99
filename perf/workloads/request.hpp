// What one run of the driver is asked for, and what comes back.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace perf {

/// Where the threads go. The driver needs two CPUs for `apart`.
enum class Placement : std::uint8_t {
    free,   ///< nobody is pinned
    apart,  ///< the producer on CPU 0, every other thread of the process on CPU 1
};

struct Request {
    std::string workload;
    Placement placement = Placement::free;
    std::chrono::nanoseconds length = std::chrono::milliseconds(300);  ///< of the measured part
    unsigned workers = 2;
    std::uint64_t seed = 1;
};

/// What an executor under measurement is made for.
struct Shape {
    unsigned workers = 2;
    std::size_t actors = 1;
};

/// Name and value, in the order in which they are printed. A name ends in its unit.
using Figures = std::vector<std::pair<std::string, double>>;

}  // namespace perf
