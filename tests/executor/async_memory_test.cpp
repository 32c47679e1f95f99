// Goal: waiting without a thread costs no memory and no lock in steady state (E19 E31).
// Method: a counting resource under the executor and the calls of malloc and of pthread_mutex_lock of the whole process,
// over awaited jobs and callbacks after a warm-up; then callbacks that do not fit, which are counted.
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "executor/coroutine.hpp"
#include "support/counting_resource.hpp"
#include "support/malloc_counter.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// What must be reached, waited for without an allocation.
class Reached {
public:
    void add() {
        count_.fetch_add(1);
        count_.notify_all();
    }
    void wait_for(int count) {
        for (int seen = count_.load(); seen < count; seen = count_.load())
            count_.wait(seen);
    }

private:
    std::atomic<int> count_{0};
};

/// One frame, allocated at its start, that waits at the gate and then awaits jobs one after the other.
Detached awaits(Actor<int> actor, Actor<int> other, Gate gate, int rounds, std::atomic<int>& wrong,
                Reached& reached) {
    auto held = other.mutate([gate](int&) { gate.pass(); });
    wrong.fetch_add((co_await std::move(held)) ? 0 : 1);
    const auto elsewhere = [other](auto go) { other.post_mutate([go](int&) { go(); }).value(); };
    for (int i = 0; i < rounds; ++i) {
        const Result<int> here = co_await actor.mutate([](int& n) { return ++n; });
        const Result<int> there = co_await actor.read([](const int& n) { return n; }).resume_on(elsewhere);
        if (!here || !there || *here != *there)
            wrong.fetch_add(1);
    }
    reached.add();
}

void calls_back(const Actor<int>& actor, int left, std::atomic<int>& wrong, Reached& reached) {
    actor.mutate([](int& n) { return ++n; })
        .then([&actor, left, &wrong, &reached](const Result<int>& result) {
            wrong.fetch_add(result ? 0 : 1);
            if (left == 0)
                reached.add();
            else
                calls_back(actor, left - 1, wrong, reached);
        });
}

}  // namespace

TEST_CASE("E19 E31 an awaited job and an inline callback: no allocation and no mutex, on any thread") {
    under_both_policies({2, 4}, [](Config config) {
        CountingResource resource;
        config.memory = &resource;
        config.reserve_nodes = 1024;
        {
            Executor executor(config);
            const auto awaited = executor.add_actor("awaited", 0);
            const auto elsewhere = executor.add_actor("elsewhere", 0);
            const auto called = executor.add_actor("called", 0);
            std::atomic<int> wrong{0};
            const auto rounds = [&](auto count_from_here) {
                const Gate gate;
                Reached reached;
                awaits(awaited, elsewhere, gate, scaled(20'000), wrong, reached);
                REQUIRE(gate.reached_by(1));
                count_from_here();
                gate.open();
                calls_back(called, scaled(20'000), wrong, reached);
                reached.wait_for(2);
            };
            // The first submissions of a thread make its slot and the depth of its lane, so each worker has its turn.
            std::vector<Completion<void>> firsts;
            std::atomic<std::uint32_t> inside{0};
            for (std::uint32_t i = 0; i < executor.config().pool_size; ++i) {
                auto first = executor.add_actor("first" + std::to_string(i), 0);
                firsts.push_back(first.mutate([&](int&) {
                    inside.fetch_add(1);
                    while (inside.load() != executor.config().pool_size)
                        std::this_thread::yield();
                    for (int j = 0; j < 500; ++j)
                        elsewhere.post_mutate([](int&) {}).value();
                }));
            }
            for (const auto& result : when_all(std::move(firsts)).wait())
                CHECK(result.has_value());
            rounds([] {});
            CallCounts before;
            std::uint64_t allocations = 0;
            rounds([&] {
                before = call_counts();
                allocations = resource.allocations();
            });
            const CallCounts used = call_counts() - before;
            CHECK(resource.allocations() == allocations);
            if (call_counting_available()) {
                CHECK(used.allocations == 0);
#ifndef SLUICE_PLATFORM_PORTABLE  // which sleeps and wakes by a mutex and a condition variable, for want of better
                CHECK(used.mutex_locks == 0);
#endif
            }
            CHECK(wrong.load() == 0);
        }
        CHECK(resource.blocks_in_use() == 0);
        CHECK(resource.bytes_in_use() == 0);
    });
}

TEST_CASE(
    "E19 E31 a callback that does not fit costs one block of the executor's memory, counted, given back") {
    under_both_policies({2}, [](Config config) {
        CountingResource resource;
        config.memory = &resource;
        config.reserve_nodes = 512;
        {
            Executor executor(config);
            auto actor = executor.add_actor("a", 0);
            CHECK(code_of(actor.mutate([](int&) {})) == no_error);
            std::array<char, 200> bulk{};
            const std::uint64_t before = resource.allocations();
            const std::uint64_t blocks = resource.blocks_in_use();
            const std::uint64_t counted = executor.snapshot().oversized;
            std::atomic<int> called{0};
            for (int i = 0; i < 100; ++i) {
                actor.read([](const int& n) { return n; }).then([&called, bulk](const Result<int>& result) {
                    called.fetch_add(result.value() + 1 + bulk[7]);
                });
            }
            CHECK(eventually([&] { return called.load() == 100; }));
            CHECK(resource.allocations() == before + 100);
            CHECK(eventually([&] { return resource.blocks_in_use() == blocks; }));
            CHECK(executor.snapshot().oversized == counted + 100);

            resource.fail_all(true);
            auto job = actor.read([](const int& n) { return n; });
            CHECK_THROWS_AS(
                std::move(job).then([&called, bulk](const Result<int>&) { called.fetch_add(bulk[7]); }),
                std::bad_alloc);
            resource.fail_all(false);
            CHECK(value_of(job) == 0);
        }
        CHECK(resource.blocks_in_use() == 0);
    });
}

TEST_CASE("E19 E31 callbacks of refusals, whole gatherings and destroyed coroutines give all memory back") {
    CountingResource resource;
    Config config;
    config.memory = &resource;
    {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (int i = 0; i < 100; ++i) {
            Actor<int>().read([](const int&) {}).then([](const Result<void>&) {});
            std::vector<Completion<int>> jobs;
            for (int j = 0; j < 10; ++j)
                jobs.push_back(actor.mutate([](int& n) { return ++n; }));
            if (i % 2 == 0)
                jobs.clear();
            auto all = when_all(std::move(jobs));
            if (i % 3 == 0)
                CHECK(all.wait().size() == (i % 2 == 0 ? 0U : 10U));
        }
    }
    CHECK(resource.blocks_in_use() == 0);
}
