// Goal: idle means parked (E30): an executor without work uses no CPU, whatever its policies.
// Method: the CPU time of this process over a second in which nothing is submitted, after some work. The process does
// nothing else, and what other processes do does not count.
#include <sys/resource.h>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

std::chrono::microseconds cpu_time() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto of = [](const timeval& t) {
        return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
    };
    return of(usage.ru_utime) + of(usage.ru_stime);
}

/// CPU time used while this thread sleeps.
std::chrono::microseconds used_in(std::chrono::milliseconds time) {
    const auto before = cpu_time();
    std::this_thread::sleep_for(time);
    return cpu_time() - before;
}

void work(Executor& executor) {
    std::vector<Completion<void>> jobs;
    for (int i = 0; i < 400; ++i) {
        auto actor = executor.add_actor("a" + std::to_string(i % 8), 0);
        jobs.push_back(i % 10 == 0 ? actor.build([](const int&) {}, [](int&) {})
                                   : actor.mutate([](int& n) { ++n; }));
    }
    for (auto& job : jobs)
        CHECK(code_of(job) == no_error);
    std::this_thread::sleep_for(50ms);  // spin budgets and the scheduler's watch end
}

// A sanitizer's own background thread wakes up now and then.
constexpr auto nothing = under_thread_sanitizer || under_address_sanitizer ? 60ms : 8ms;

}  // namespace

TEST_CASE("E30 an idle executor uses no CPU over a second, under every policy of the role and of spinning") {
    for (const SpinPolicy spin : {SpinPolicy::adaptive, SpinPolicy::park, SpinPolicy::busy}) {
        under_both_policies({4}, [spin](Config config) {
            INFO("spin " << to_string(spin));
            config.spin = spin;
            Executor executor(config);
            work(executor);
            const auto used = used_in(1s);
            INFO("CPU time in a second: " << used.count() << " us");
            CHECK(used < nothing);
            CHECK(executor.snapshot().jobs.completed() == 400);
        });
    }
}

TEST_CASE("E30 a fresh executor that never got a job uses no CPU") {
    under_both_policies({8}, [](const Config& config) {
        const Executor executor(config);
        std::this_thread::sleep_for(20ms);
        const auto used = used_in(300ms);
        INFO("CPU time: " << used.count() << " us");
        CHECK(used < nothing);
    });
}

TEST_CASE("E30 threads that sleep inside jobs, and waiters, use next to none") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        work(executor);
        const Gate gate;
        std::vector<Completion<void>> jobs;
        for (const char* id : {"a0", "a1"}) {  // known as tiny: it is a surprise that they block
            auto actor = executor.add_actor(id, 0);
            jobs.push_back(actor.mutate([gate](int&) { gate.pass(); }));
            for (int i = 0; i < 5; ++i)
                jobs.push_back(actor.mutate([](int&) {}));
        }
        REQUIRE(gate.reached_by(2));
        std::jthread waiter([&] { static_cast<void>(jobs[1].wait_for(patience)); });
        std::this_thread::sleep_for(50ms);
        const auto used = used_in(1s);
        INFO("CPU time in a second: " << used.count() << " us");
        // The scheduler's thread may look every tick for as long as something is behind a job that blocks.
        CHECK(used < 150ms + 2 * nothing);
        gate.open();
        waiter.join();
        for (std::size_t i = 2; i < jobs.size(); ++i)
            CHECK(code_of(jobs[i]) == no_error);
    });
}
