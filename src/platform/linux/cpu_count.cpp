#include "platform/cpu_count.hpp"

#include "platform/linux/cgroup.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice::platform {
namespace {

// 0: unknown. The raw call, because it tells how much of the mask it wrote, and refuses a mask that is too
// small for the kernel's number of CPUs; 64 Ki bits are eight times what a kernel can be built for.
unsigned cpus_of_affinity() noexcept {
    std::array<unsigned long, 65'536 / (8 * sizeof(unsigned long))> mask{};
    const long written = ::syscall(SYS_sched_getaffinity, 0, sizeof mask, mask.data());
    if (written <= 0) {
        return 0;
    }
    unsigned count = 0;
    for (const unsigned long word : mask) {
        count += static_cast<unsigned>(std::popcount(word));
    }
    return count;
}

}  // namespace

unsigned usable_cpus() noexcept {
    const unsigned affinity = cpus_of_affinity();
    const unsigned quota = cgroup::cpu_limit("");
    if (affinity == 0 || quota == 0) {
        return std::max(affinity, quota);
    }
    return std::min(affinity, quota);
}

}  // namespace sluice::platform
