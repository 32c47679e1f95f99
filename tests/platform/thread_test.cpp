// Goal: a thread gets what it asked for or a clear no, and nothing else about it changes.
// Method: ask, and read back through the system's own calls.
#include "platform/thread.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <thread>

#ifndef SLUICE_PLATFORM_PORTABLE
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace sluice {

TEST_CASE("asking never harms, whatever the system can do") {
    std::jthread([] {
        platform::set_thread_name("");
        platform::set_thread_name("a name that is longer than any system wants it");
        static_cast<void>(platform::set_short_time_slice(200'000));
        CHECK_FALSE(platform::set_short_time_slice(0));
        CHECK_FALSE(platform::set_short_time_slice(-5));
        CHECK(platform::set_affinity({}));
        platform::yield();
        platform::cpu_relax();
        CHECK(platform::process_id() == platform::process_id());
    });
}

#ifndef SLUICE_PLATFORM_PORTABLE

namespace {

std::string own_name() {
    std::array<char, 64> name{};
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    return name.data();
}

}  // namespace

TEST_CASE("E32: a thread's name is cut to 15 bytes, between characters") {
    std::jthread([] {
        platform::set_thread_name("sluice-sched");
        CHECK(own_name() == "sluice-sched");
        platform::set_thread_name("0123456789abcdefgh");
        CHECK(own_name() == "0123456789abcde");
        platform::set_thread_name("0123456789abcd\xC3\xA9");  // the two-byte letter would lose its half
        CHECK(own_name() == "0123456789abcd");
        platform::set_thread_name("0123456789abc\xC3\xA9");
        CHECK(own_name() == "0123456789abc\xC3\xA9");
    });
}

TEST_CASE("E32: affinity is set as asked, or refused and left alone") {
    std::jthread([] {
        cpu_set_t before;
        CPU_ZERO(&before);
        REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
        unsigned last = 0;
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &before)) {
                last = cpu;
            }
        }
        const std::array<unsigned, 2> unknown{last, 60'000};
        CHECK(platform::set_affinity(unknown));
        const std::array<unsigned, 1> beyond{4'000'000'000U};
        CHECK(platform::set_affinity(beyond));
        cpu_set_t after;
        REQUIRE(::sched_getaffinity(0, sizeof after, &after) == 0);
        CHECK(CPU_EQUAL(&before, &after));

        const std::array<unsigned, 1> one{last};
        CHECK_FALSE(platform::set_affinity(one));
        REQUIRE(::sched_getaffinity(0, sizeof after, &after) == 0);
        CHECK(CPU_COUNT(&after) == 1);
        CHECK(CPU_ISSET(last, &after));
    });
}

TEST_CASE("a short slice leaves policy and nice value alone") {
    std::jthread([] {
        const int own_thread = static_cast<int>(::gettid());
        ::setpriority(PRIO_PROCESS, static_cast<id_t>(own_thread), 3);
        const int nice_before = ::getpriority(PRIO_PROCESS, static_cast<id_t>(own_thread));
        const bool honoured = platform::set_short_time_slice(200'000);
        MESSAGE("the kernel honours a short slice: ", honoured);
        CHECK(::getpriority(PRIO_PROCESS, static_cast<id_t>(own_thread)) == nice_before);
        CHECK(::sched_getscheduler(0) == SCHED_OTHER);
    });
}

TEST_CASE("E35: a forked child has another process number, and its child another again") {
    const std::uint32_t parent = platform::process_id();
    const pid_t child = ::fork();
    if (child == 0) {
        const std::uint32_t mine = platform::process_id();
        if (mine == parent || mine != platform::process_id()) {
            ::_exit(1);
        }
        const pid_t grandchild = ::fork();
        if (grandchild == 0) {
            const std::uint32_t youngest = platform::process_id();
            ::_exit(youngest != mine && youngest != parent ? 0 : 2);
        }
        int status = 0;
        ::waitpid(grandchild, &status, 0);
        ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    }
    REQUIRE(child > 0);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(platform::process_id() == parent);
}

#endif

}  // namespace sluice
