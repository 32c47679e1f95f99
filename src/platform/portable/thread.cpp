#include "platform/thread.hpp"

#include <thread>

namespace sluice::platform {

void set_thread_name(std::string_view /*name*/) noexcept {}

std::error_code set_affinity(std::span<const unsigned> /*cpus*/) noexcept {
    return std::make_error_code(std::errc::function_not_supported);
}

bool set_short_time_slice(std::int64_t /*nanoseconds*/) noexcept {
    return false;
}

void yield() noexcept {
    std::this_thread::yield();
}

// Standard C++ knows one process.
std::uint32_t process_id() noexcept {
    return 1;
}

}  // namespace sluice::platform
