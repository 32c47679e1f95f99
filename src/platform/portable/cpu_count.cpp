#include "platform/cpu_count.hpp"

#include <thread>

namespace sluice::platform {

unsigned usable_cpus() noexcept {
    return std::thread::hardware_concurrency();
}

}  // namespace sluice::platform
