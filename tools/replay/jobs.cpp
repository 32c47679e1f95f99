#include "jobs.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sluice::replay {

std::uint64_t spend(const JobSetting& setting, JobRecord& record, std::uint64_t started,
                    std::uint64_t service_ns) {
    // How late a sleeping job notices an interrupt; waking so often costs nothing that could be measured.
    constexpr std::uint64_t longest_nap_ns = 10'000'000;
    const std::uint64_t deadline = started + service_ns;
    std::uint64_t now = started;
    while (now < deadline) {
        if (setting.stop.load(std::memory_order_relaxed)) {
            record.cut_short.store(true, std::memory_order_relaxed);
            break;
        }
        if (setting.work == WorkKind::sleep) {
            std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(deadline - now, longest_nap_ns)));
        }
        now = setting.recorder.now();
    }
    // A job without work ends at its own instant and needs no second look at the clock.
    return now;
}

}  // namespace sluice::replay
