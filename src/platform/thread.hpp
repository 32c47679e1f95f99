#pragma once

// What a thread may ask of the system for itself. Nothing here is needed for correctness: where the system
// refuses or does not know the thing, the call says so and the thread goes on as it was.

#include "platform/cpu.hpp"  // cpu_relax()

#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>

namespace sluice::platform {

/// Names the calling thread for debuggers and process lists; cut to 15 bytes, not through a UTF-8 character.
void set_thread_name(std::string_view name) noexcept;

/// Restricts the calling thread to these CPUs. An empty list or a CPU that the system does not have is an
/// error, and changes nothing.
[[nodiscard]] std::error_code set_affinity(std::span<const unsigned> cpus) noexcept;

/// Asks for a short time slice, so that the calling thread gets a CPU soon after it wakes although all are
/// busy (Linux
/// 6.12 and later honour it for ordinary threads, between 0.1 and 100 ms). Policy and nice value stay as they
/// are. True: the kernel says that the slice is in force.
[[nodiscard]] bool set_short_time_slice(std::int64_t nanoseconds) noexcept;

/// Lets another thread have this CPU, if one waits for it.
void yield() noexcept;

/// A number that differs between a process and all its ancestors, so that an object which kept it knows when
/// it finds itself in a forked child. Says nothing about other processes. cost: a load and a branch.
[[nodiscard]] std::uint32_t process_id() noexcept;

}  // namespace sluice::platform
