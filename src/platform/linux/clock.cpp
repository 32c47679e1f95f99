#include "platform/clock.hpp"

#include <ctime>

#if defined(__x86_64__)
#include <cpuid.h>
#include <cstdio>
#include <cstring>
#endif

namespace sluice::platform {

std::int64_t now_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

#if defined(__x86_64__)
namespace {

// The kernel watches the counter and takes it off this list when it drifts between CPUs. In a virtual machine
// the counter may be missing although the host's clock page, which is listed, is built on it: there durations
// are all that it is good for, and all that we use it for. A file that cannot be read says nothing, and then
// the CPU's word counts.
bool kernel_distrusts_tsc() noexcept {
    std::FILE* const file =
        std::fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "re");
    if (file == nullptr) {
        return false;
    }
    char list[256] = {};
    const std::size_t length = std::fread(list, 1, sizeof list - 1, file);
    std::fclose(file);
    const auto listed = [&list](const char* name) { return std::strstr(list, name) != nullptr; };
    return length != 0 && !listed("tsc") && !listed("kvm-clock");
}

struct Sample {
    std::uint64_t cycle;
    std::int64_t nanosecond;
};

// A clock reading between two counter readings; the tightest pair of several is one that nothing interrupted.
Sample simultaneous_readings() noexcept {
    Sample best{};
    std::uint64_t tightest = UINT64_MAX;
    for (int attempt = 0; attempt < 8; ++attempt) {
        const std::uint64_t before = cycles();
        const std::int64_t now = now_ns();
        const std::uint64_t gap = cycles() - before;
        if (gap < tightest) {
            tightest = gap;
            best = {before + gap / 2, now};
        }
    }
    return best;
}

double measure_ns_per_cycle() noexcept {
    constexpr std::int64_t measured_ns = 200'000;  // a reading is off by some 20 ns: one part in ten thousand
    const Sample start = simultaneous_readings();
    while (now_ns() - start.nanosecond < measured_ns) {
        cpu_relax();
    }
    const Sample end = simultaneous_readings();
    return static_cast<double>(end.nanosecond - start.nanosecond) /
           static_cast<double>(end.cycle - start.cycle);
}

}  // namespace

bool probe_invariant_tsc() noexcept {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    constexpr unsigned advanced_power_leaf = 0x8000'0007;
    constexpr unsigned invariant_tsc_bit = 1U << 8U;
    if (__get_cpuid(advanced_power_leaf, &eax, &ebx, &ecx, &edx) == 0) {
        return false;
    }
    return (edx & invariant_tsc_bit) != 0 && !kernel_distrusts_tsc();
}

double ns_per_cycle() noexcept {
    static const double measured = cycles_are_tsc() ? measure_ns_per_cycle() : 1.0;
    return measured;
}

#else

double ns_per_cycle() noexcept {
    return 1.0;
}

#endif

}  // namespace sluice::platform
