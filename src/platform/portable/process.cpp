#include "platform/process.hpp"

namespace sluice::platform {

void watch_forks() noexcept {}

std::uint32_t forks() noexcept {
    return 0;
}

}  // namespace sluice::platform
