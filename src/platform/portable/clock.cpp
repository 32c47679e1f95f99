#include "platform/clock.hpp"

namespace sluice::platform {

std::int64_t now_ns() noexcept {
    return static_cast<std::int64_t>(cycles());
}

double ns_per_cycle() noexcept {
    return 1.0;
}

}  // namespace sluice::platform
