#pragma once

// The engine's own time line: nanoseconds from one cycle-counter reading (about 11 ns; a clock_gettime per job would cost
// a third of the throughput). Right for differences, which is all that estimates, budgets and ages need.

#include "platform/clock.hpp"
#include "platform/cpu.hpp"

#include <cstdint>

namespace sluice::detail {

class CheapClock {
public:
    CheapClock() noexcept : ns_per_cycle_(platform::ns_per_cycle()), origin_(platform::cycles()) {}

    /// Nanoseconds since this clock was made. **Thread**: any. **Progress**: wait-free.
    [[nodiscard]] std::int64_t now() const noexcept {
        return static_cast<std::int64_t>(static_cast<double>(platform::cycles() - origin_) * ns_per_cycle_);
    }

private:
    double ns_per_cycle_;
    std::uint64_t origin_;
};

}  // namespace sluice::detail
