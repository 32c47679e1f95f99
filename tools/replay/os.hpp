// What this tool asks of the operating system beyond the C++ library: POSIX, and what it lacks is left out quietly.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::replay::os {

/// Resources used so far.
struct ProcessUsage {
    std::uint64_t user_ns = 0;
    std::uint64_t system_ns = 0;
    std::uint64_t voluntary_switches = 0;
    std::uint64_t involuntary_switches = 0;
};
[[nodiscard]] ProcessUsage process_usage() noexcept;

/// CPU time of the calling thread.
[[nodiscard]] std::uint64_t thread_cpu_ns() noexcept;

/// Lets the calling thread's sleeps end on time: Linux may otherwise add 50 us to each to save wake-ups.
void sleep_precisely() noexcept;

[[nodiscard]] bool stderr_is_terminal() noexcept;
/// Of the terminal behind standard error; 80 if it does not say.
[[nodiscard]] std::size_t terminal_columns() noexcept;

}  // namespace sluice::replay::os
