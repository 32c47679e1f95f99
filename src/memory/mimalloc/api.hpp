#pragma once

// The part of mimalloc that Sluice uses, as a table of functions, so that the three ways of having it (linked into us,
// loaded privately at run time, absent) look alike. Only what mimalloc 2 and 3 have in common.
//
// Thread: mimalloc_api() may be called by any thread; the table is immutable once returned.

#include <cstddef>

namespace sluice::memory {

struct MimallocApi {
    void* (*malloc_aligned)(std::size_t size, std::size_t alignment);  // null when out of memory
    void (*free)(void* block);                                         // any thread, any alignment
    // Every thread of ours calls it first: mimalloc 3 leaks when a thread that it has never seen frees.
    void (*thread_init)();
    int (*version)();
};

// Null when this build or this machine has no mimalloc.
[[nodiscard]] const MimallocApi* mimalloc_api() noexcept;

}  // namespace sluice::memory
