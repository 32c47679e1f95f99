#pragma once

// The one place where the library starts a thread, so that a test can have the system refuse one.

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

namespace sluice::platform {

/// For tests: the n-th start from now on fails once, as the system fails it that has no thread left (1 is the next one); 0 takes
/// the order back. Relaxed: a count that orders nothing. A start without an order is one load dearer than std::thread.
inline constinit std::atomic<std::uint32_t> starts_until_failure{0};

/// std::thread's constructor. **Errors**: throws std::system_error when the system has no thread left, and std::bad_alloc.
template <class Main>
[[nodiscard]] std::thread start_thread(Main&& main) {
    if (starts_until_failure.load(std::memory_order_relaxed) != 0 &&
        starts_until_failure.fetch_sub(1, std::memory_order_relaxed) == 1)
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    return std::thread(std::forward<Main>(main));
}

}  // namespace sluice::platform
