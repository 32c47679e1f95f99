#pragma once

// How often this process asked for memory and for a mutex, from any thread and any library in it. For the
// tests of "no allocation and no lock per job in steady state".
//
// A program counts by having malloc_counter.cpp among its sources: the file defines malloc and its family and
// the two lock functions of pthreads, and the dynamic linker prefers a program's own. operator new ends in
// malloc, and the default memory resource counts itself, since mimalloc may be reached without any name that
// a linker sees. A sanitizer replaces the same names, and a C library other than glibc has no second name for
// what we replace: then there is nothing to count with, and `available` says so.

#include <cstdint>

namespace sluice::test {

struct CallCounts {
    /// malloc, calloc, realloc, aligned_alloc, memalign, posix_memalign, and uses of the default resource
    std::uint64_t allocations = 0;
    /// pthread_mutex_lock, pthread_mutex_trylock
    std::uint64_t mutex_locks = 0;

    friend CallCounts operator-(CallCounts now, CallCounts before) noexcept {
        return {now.allocations - before.allocations, now.mutex_locks - before.mutex_locks};
    }
    friend bool operator==(CallCounts, CallCounts) = default;
};

[[nodiscard]] bool call_counting_available() noexcept;

/// Since the process began. Two readings of the same thread around a stretch of work give the calls of that
/// stretch.
[[nodiscard]] CallCounts call_counts() noexcept;

}  // namespace sluice::test
