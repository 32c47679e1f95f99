#pragma once

// Where memory comes from when the user gives no resource: mimalloc where this build and this machine have
// it, else the system's malloc.

#include <cstdint>
#include <memory_resource>

namespace sluice::memory {

/// The process-wide default. Usable before all static constructors and past all static destructors. Throws
/// std::bad_alloc like any resource.
/// thread: any, also of what it returns; a block may be given back by another thread than the one that took
/// it.
[[nodiscard]] std::pmr::memory_resource* default_resource() noexcept;

/// To be called first by every thread that we start: mimalloc 3 grows without bound if a thread that it does
/// not know frees other threads' blocks. Calling it again does nothing.
void prepare_thread() noexcept;

/// "mimalloc" or "system", for reports.
[[nodiscard]] const char* default_resource_name() noexcept;

struct ResourceCounts {
    std::uint64_t allocations = 0;
    std::uint64_t deallocations = 0;
};

/// How often the default resource was used since the process began. Nothing else sees these calls where
/// mimalloc is reached through a table of functions, so the tests for "no allocation here" ask this.
/// thread: any; the two numbers are each exact, but not of one moment.
[[nodiscard]] ResourceCounts default_resource_counts() noexcept;

}  // namespace sluice::memory
