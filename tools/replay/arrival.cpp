#include "arrival.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sluice::replay {

bool wait_for_arrival(const Recorder& run, std::uint64_t arrival_ns, const std::atomic<bool>& interrupted) {
    // A sleep ends tens of microseconds late, which would drown the delays that are to be measured: the last bit is
    // spent awake, yielding. What it costs is reported as the submitter's CPU time.
    constexpr std::uint64_t awake_ns = 80'000;
    // How late an interrupt is noticed.
    constexpr std::uint64_t longest_nap_ns = 10'000'000;
    while (!interrupted.load(std::memory_order_relaxed)) {
        const std::uint64_t now = run.now();
        if (now >= arrival_ns)
            return true;
        const std::uint64_t left = arrival_ns - now;
        if (left > awake_ns) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left - awake_ns, longest_nap_ns)));
        } else {
            std::this_thread::yield();
        }
    }
    return false;
}

}  // namespace sluice::replay
