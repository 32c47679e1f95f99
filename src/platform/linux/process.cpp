#include "platform/process.hpp"

#include <pthread.h>

#include <atomic>

namespace sluice::platform {

namespace {

// Written in a child before it has a second thread; relaxed, for it orders nothing.
constinit std::atomic<std::uint32_t> fork_count{0};

}  // namespace

void watch_forks() noexcept {
    // Without memory for the handler a child is not noticed; there is nobody to tell that to.
    [[maybe_unused]] static const int registered =
        ::pthread_atfork(nullptr, nullptr, [] { fork_count.fetch_add(1, std::memory_order_relaxed); });
}

std::uint32_t forks() noexcept {
    return fork_count.load(std::memory_order_relaxed);  // as above
}

}  // namespace sluice::platform
