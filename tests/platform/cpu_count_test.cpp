// Goal: E1, the number of CPUs that this process can really use.
// Method: never more than the system says, and fewer when the affinity is narrowed. Quotas are in
// cgroup_test.cpp.
#include "platform/cpu_count.hpp"

#include "platform/thread.hpp"

#include <doctest/doctest.h>

#include <array>
#include <thread>

#ifndef SLUICE_PLATFORM_PORTABLE
#include <sched.h>
#endif

namespace sluice {

TEST_CASE("E1: not more CPUs than the machine has") {
    const unsigned usable = platform::usable_cpus();
    MESSAGE("usable CPUs: ", usable, " of ", std::thread::hardware_concurrency());
    CHECK(usable >= 1);
    CHECK(usable <= std::thread::hardware_concurrency());
}

#ifndef SLUICE_PLATFORM_PORTABLE

TEST_CASE("E1: the scheduling affinity counts") {
    const std::jthread narrowed([] {
        const std::array<unsigned, 1> here{static_cast<unsigned>(::sched_getcpu())};
        REQUIRE_FALSE(platform::set_affinity(here));
        CHECK(platform::usable_cpus() == 1);
    });
}

#endif

}  // namespace sluice
