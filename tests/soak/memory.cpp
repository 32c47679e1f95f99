#include "memory.hpp"

#include "memory/default_resource.hpp"
#include "support/sanitizers.hpp"

#include <algorithm>
#include <fstream>

#ifdef __linux__
#include <unistd.h>
#endif

#if SLUICE_TEST_UNDER_ADDRESS_SANITIZER
// What is freed is kept for a while, to find who uses it; by default up to 256 MiB, which a short run would not reach.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the sanitizer's name
extern "C" const char* __asan_default_options() {
    return "quarantine_size_mb=16";
}
#endif

namespace sluice::soak {

std::uint64_t resident_bytes() noexcept {
#ifdef __linux__
    std::ifstream file("/proc/self/statm");
    std::uint64_t whole = 0;
    std::uint64_t resident = 0;
    file >> whole >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
#else
    return 0;
#endif
}

std::uint64_t default_blocks() noexcept {
    const memory::ResourceCounts counts = memory::default_resource_counts();
    return counts.allocations - counts.deallocations;
}

std::uint64_t MemoryWatch::resident_bound() noexcept {
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;
    return (test::under_sanitizer ? 48 : 8) * mebibyte;
}

void MemoryWatch::note(std::chrono::nanoseconds passed) {
    const MemorySample now{std::chrono::duration<double>(passed).count(), resident_bytes(), default_blocks()};
    const auto highest = [&now](MemorySample& of) {
        of = {now.seconds, std::max(of.resident, now.resident), std::max(of.blocks, now.blocks)};
    };
    if (passed >= whole_ / 5 && passed < whole_ * 2 / 5)
        highest(early_);
    if (passed >= whole_ * 4 / 5)
        highest(late_);
    constexpr int points = 60;
    if (series_.empty() || passed >= whole_ * static_cast<int>(series_.size()) / points)
        series_.push_back(now);
}

}  // namespace sluice::soak
