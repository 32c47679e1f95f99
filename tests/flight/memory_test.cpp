// Goal: joining takes no lock, a run's memory goes back when it ends, and there is an answer when there is none (S3 S7).
// Method: a counting resource under the flights, calls of malloc and of pthread_mutex_lock of the whole process, and
// resources that fail at the n-th call.
#include <array>
#include <barrier>
#include <string>

#include "executor/harness.hpp"
#include "support/counting_resource.hpp"
#include "support/malloc_counter.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("S7 joined and led: no mutex on any thread; a follower of a blocking run takes no memory") {
    CountingResource resource;
    SingleFlight<long, long> flights({.memory = &resource});
    const std::uint64_t table = resource.blocks_in_use();
    std::atomic<long> led{0};
    std::atomic<long> followed{0};
    constexpr unsigned threads = 4;
    const int calls = scaled(40'000);
    static_cast<void>(call_counts());  // the first one loads the default resource, whose calls it counts
    CallCounts used;
    std::uint64_t allocations = 0;
    std::barrier all(threads, [&, round = 0]() mutable noexcept {
        used = call_counts() - used;  // first from zero, then from the start
        if (round++ == 0)
            allocations = resource.allocations();
    });
    run_together(threads, [&](unsigned) {
        const auto call = [&] {
            return flights
                .run(1,
                     [] {
                         std::this_thread::yield();  // where the others join
                         return 1L;
                     })
                .led;
        };
        for (int i = 0; i < 1'000; ++i)
            static_cast<void>(call());  // what a thread needs once
        all.arrive_and_wait();
        for (int i = 0; i < calls; ++i)
            (call() ? led : followed).fetch_add(1);
        all.arrive_and_wait();
    });
    CHECK(followed.load() > 0);
    CHECK(led.load() + followed.load() == static_cast<long>(threads) * calls);
    // A thread that finds the key free has made a block before it finds out that another one was faster.
    CHECK(resource.allocations() - allocations >= static_cast<std::uint64_t>(led.load()));
    CHECK(resource.blocks_in_use() == table);
    if (call_counting_available()) {
#ifndef SLUICE_PLATFORM_PORTABLE  // which sleeps and wakes by a mutex and a condition variable, for want of better
        CHECK(used.mutex_locks == 0);
#endif
        CHECK(used.allocations == resource.allocations() - allocations);  // nothing beside the resource
    }
}

TEST_CASE("S7 followers that find the run in the air allocate nothing") {
    CountingResource resource;
    SingleFlight<std::string, std::string> flights({.memory = &resource});
    const std::string key(100, 'k');
    const auto outcome = flights.run(key, [&] {
        const std::uint64_t allocations = resource.allocations();
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                CHECK(flights.run(key, {.patience = 1ms}, [] { return std::string(); }).result.error() ==
                      ErrorCode::timed_out);
            });
        }
        threads.clear();
        CHECK(resource.allocations() == allocations);
        return std::string(100, 'v');
    });
    CHECK((*outcome.result)->size() == 100);
    CHECK(resource.blocks_in_use() == 2 + 1);  // the table's two, and the result that is held here
}

TEST_CASE("S3 E31 the n-th allocation fails: an error says so, nobody hangs, all memory comes back") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (std::uint64_t n = 1; n <= 6; ++n) {
            INFO("allocation " << n << " fails");
            CountingResource resource;
            {
                SingleFlight<int, std::array<long, 8>> flights({.memory = &resource});
                resource.fail_nth(n);
                const Gate gate;
                const auto join = [&] {
                    return flights.run(1, actor, Lane::pure_read, [gate](const int&) {
                        gate.pass();
                        return std::array<long, 8>{};
                    });
                };
                auto leader = join();
                auto follower = join();
                gate.open();
                for (auto* share : {&leader, &follower}) {
                    const auto outcome = share->wait_for(patience);
                    if (!outcome.result) {
                        const ErrorCode code = outcome.result.error().value();
                        CHECK((code == ErrorCode::out_of_memory || code == ErrorCode::job_threw));
                    }
                }
                CHECK(eventually([&] { return flights.in_the_air() == 0; }));
                const auto alone = flights.run(2, [] { return std::array<long, 8>{}; });
                if (!alone.result) {
                    const ErrorCode code = alone.result.error().value();
                    CHECK((code == ErrorCode::out_of_memory || code == ErrorCode::job_threw));
                }
                resource.fail_nth(0);
            }
            CHECK(eventually([&] { return resource.blocks_in_use() == 0; }));
        }
        CHECK(actor.registered());
    });
}
