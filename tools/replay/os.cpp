#include "os.hpp"

#include <cstdlib>
#include <ctime>
#include <string_view>

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace sluice::replay::os {
namespace {

std::uint64_t nanoseconds(const timeval& time) noexcept {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_usec) * 1'000U;
}

}  // namespace

ProcessUsage process_usage() noexcept {
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return {};
    return {.user_ns = nanoseconds(usage.ru_utime),
            .system_ns = nanoseconds(usage.ru_stime),
            .voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw),
            .involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

std::uint64_t thread_cpu_ns() noexcept {
    timespec time{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0)
        return 0;
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
}

void sleep_precisely() noexcept {
#ifdef __linux__
    prctl(PR_SET_TIMERSLACK, 1UL);
#endif
}

bool stderr_is_terminal() noexcept {
    const char* const kind = std::getenv("TERM");
    return isatty(STDERR_FILENO) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

std::size_t terminal_columns() noexcept {
    winsize size{};
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20;
    return known ? size.ws_col : 80;
}

}  // namespace sluice::replay::os
