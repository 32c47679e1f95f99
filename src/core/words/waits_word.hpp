#pragma once

// Workers of an executor that wait inside jobs: how many, and how many of them for maintenance jobs that had not started.
// One word, so that of the waits that may not all begin exactly those begin that may (E20).
//
//   bit  0..31  waiting
//   bit 32..63  for_maintenance
//
// Written by: a worker that begins or ends such a wait, by CAS (executor/wait.cpp). Invariant: for_maintenance <= waiting <=
// workers.

#include <cstdint>

namespace sluice::core {

struct WaitsWord {
    std::uint64_t bits = 0;

    [[nodiscard]] constexpr std::uint32_t waiting() const noexcept {
        return static_cast<std::uint32_t>(bits);
    }
    [[nodiscard]] constexpr std::uint32_t for_maintenance() const noexcept {
        return static_cast<std::uint32_t>(bits >> 32U);
    }

    [[nodiscard]] static constexpr WaitsWord of(std::uint32_t waiting,
                                                std::uint32_t for_maintenance) noexcept {
        return {std::uint64_t{for_maintenance} << 32U | waiting};
    }

    friend constexpr bool operator==(WaitsWord, WaitsWord) = default;
};

/// The word to write, and whether there is anything to write; if not, `after` is what was there before.
struct WaitsStep {
    WaitsWord after;
    bool allowed = false;
};

/// One more waits, for a job of another executor, which has workers of its own.
[[nodiscard]] constexpr WaitsWord one_waits_elsewhere(WaitsWord before) noexcept {
    return WaitsWord::of(before.waiting() + 1, before.for_maintenance());
}

/// One more waits for a job of its own executor, unless that left too little to run what is awaited: a worker; more of them
/// than the reserve, if one of the awaited is a maintenance job that had not started (E11).
[[nodiscard]] constexpr WaitsStep one_waits(WaitsWord before, bool maintenance, std::uint32_t workers,
                                            std::uint32_t reserve) noexcept {
    const WaitsWord after =
        WaitsWord::of(before.waiting() + 1, before.for_maintenance() + (maintenance ? 1 : 0));
    const std::uint64_t needed = after.for_maintenance() == 0 ? 1 : std::uint64_t{reserve} + 1;
    if (after.waiting() + needed > workers)
        return {before, false};
    return {after, true};
}

/// A wait has ended that was begun with the same `maintenance`.
[[nodiscard]] constexpr WaitsWord one_wait_less(WaitsWord before, bool maintenance) noexcept {
    return WaitsWord::of(before.waiting() - 1, before.for_maintenance() - (maintenance ? 1 : 0));
}

}  // namespace sluice::core
