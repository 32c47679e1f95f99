#include "support/malloc_counter.hpp"

#include "memory/default_resource.hpp"
#include "support/sanitizers.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#if defined(__GLIBC__) && !SLUICE_TEST_UNDER_SANITIZER
#define SLUICE_TEST_COUNTS_CALLS 1
#include <bit>
#include <dlfcn.h>
#include <pthread.h>
#else
#define SLUICE_TEST_COUNTS_CALLS 0
#endif

namespace sluice::test {
namespace {

// Constant-initialised: the first calls come from the dynamic linker and from static constructors before
// ours. Relaxed: they count, and order nothing.
constinit std::atomic<std::uint64_t> allocation_calls{0};
constinit std::atomic<std::uint64_t> mutex_calls{0};

[[maybe_unused]] void count(std::atomic<std::uint64_t>& calls) noexcept {
    calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

bool call_counting_available() noexcept {
    return SLUICE_TEST_COUNTS_CALLS != 0;
}

CallCounts call_counts() noexcept {
    std::uint64_t allocations = allocation_calls.load(std::memory_order_relaxed);
    // The system's resource ends in malloc, which has counted already.
    if (std::string_view(memory::default_resource_name()) != "system") {
        allocations += memory::default_resource_counts().allocations;
    }
    return {allocations, mutex_calls.load(std::memory_order_relaxed)};
}

}  // namespace sluice::test

#if SLUICE_TEST_COUNTS_CALLS

// glibc's second names for its own, so that no look-up is needed while the program starts. Blocks stay
// glibc's, and its free takes them back.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names are glibc's
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* block, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

using sluice::test::allocation_calls;
using sluice::test::count;
using sluice::test::mutex_calls;

using LockFunction = int (*)(pthread_mutex_t*);

// The lock functions have no second name that can be linked. Looking up the next definition takes no mutex
// through the names below and, since it succeeds, no memory. Two threads may both look: they find the same.
int call_real(std::atomic<LockFunction>& known, const char* name, pthread_mutex_t* mutex) noexcept {
    LockFunction real = known.load(std::memory_order_relaxed);
    if (real == nullptr) {
        real = std::bit_cast<LockFunction>(dlsym(RTLD_NEXT, name));
        known.store(real, std::memory_order_relaxed);
    }
    return real(mutex);
}

constinit std::atomic<LockFunction> real_lock{nullptr};
constinit std::atomic<LockFunction> real_trylock{nullptr};

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
    count(allocation_calls);
    return __libc_malloc(size);
}

void* calloc(std::size_t number, std::size_t size) noexcept {
    count(allocation_calls);
    return __libc_calloc(number, size);
}

void* realloc(void* block, std::size_t size) noexcept {
    count(allocation_calls);
    return __libc_realloc(block, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
    count(allocation_calls);
    return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    count(allocation_calls);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
    count(allocation_calls);
    if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return EINVAL;
    }
    void* const found = __libc_memalign(alignment, size);
    if (found == nullptr) {
        return ENOMEM;
    }
    *block = found;
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    count(mutex_calls);
    return call_real(real_lock, "pthread_mutex_lock", mutex);
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
    count(mutex_calls);
    return call_real(real_trylock, "pthread_mutex_trylock", mutex);
}
}

#endif
