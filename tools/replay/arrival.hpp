// Waiting for the moment at which a job is meant to arrive.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder.hpp"

namespace sluice::replay {

/// Returns when the run is `arrival_ns` old, at once if it is older; false if `interrupted` was set before. Sleeps,
/// and yields for the last 80 us. **Thread**: any; os::sleep_precisely() before the first call makes its sleeps end on time.
[[nodiscard]] bool wait_for_arrival(const Recorder& run, std::uint64_t arrival_ns,
                                    const std::atomic<bool>& interrupted);

}  // namespace sluice::replay
