#pragma once

// A job on its way to a worker, and whether it is the last of its run: one word.
//
//   bit 0      ends_run  the next entry, if there is one, begins another run
//   bit 1..63  the address of the job; jobs are aligned, so bit 0 of it is free
//
// A run is a row of consecutive jobs of one actor that one worker runs (core/effects.hpp). The flag lets a
// claimer find the borders without touching the jobs, which it does not own yet.

#include <cassert>
#include <cstdint>

namespace sluice::core {
struct Job;
}

namespace sluice::sync {

struct RunEntry {
    core::Job* job = nullptr;
    bool ends_run = false;

    friend bool operator==(const RunEntry&, const RunEntry&) = default;
};

inline constexpr std::uintptr_t ends_run_bit = 1;

[[nodiscard]] inline std::uintptr_t packed(RunEntry entry) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(entry.job);
    assert((address & ends_run_bit) == 0);
    return address | (entry.ends_run ? ends_run_bit : 0);
}

[[nodiscard]] inline RunEntry unpacked(std::uintptr_t word) noexcept {
    return {reinterpret_cast<core::Job*>(word & ~ends_run_bit), (word & ends_run_bit) != 0};
}

}  // namespace sluice::sync
