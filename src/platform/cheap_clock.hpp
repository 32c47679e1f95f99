#pragma once

// A time line of one's own: nanoseconds from one cycle-counter reading (about 11 ns; a clock_gettime per job would cost
// a third of the throughput). Right for differences, which is all that estimates, budgets and ages need.

#include "platform/clock.hpp"
#include "platform/cpu.hpp"

#include <cstdint>

namespace sluice::platform {

class CheapClock {
public:
    CheapClock() noexcept : ns_per_cycle_(ns_per_cycle()), origin_(cycles()) {}

    /// Nanoseconds since this clock was made. **Thread**: any. **Progress**: wait-free.
    [[nodiscard]] std::int64_t now() const noexcept {
        return static_cast<std::int64_t>(static_cast<double>(cycles() - origin_) * ns_per_cycle_);
    }

private:
    double ns_per_cycle_;
    std::uint64_t origin_;
};

}  // namespace sluice::platform
