#pragma once

#include <cstdint>

namespace sluice::platform {

/// Counts fork() from now on, in each child (E35). Call it before the first thread that must not be missed. Cheap after
/// the first time. thread: any.
void watch_forks() noexcept;

/// How many forks lie between the process that first called watch_forks() and this one: a number that was remembered
/// before a fork differs from what the child reads. 0 for ever where there is no fork.
/// thread: any. progress: wait-free. cost: a load.
[[nodiscard]] std::uint32_t forks() noexcept;

}  // namespace sluice::platform
