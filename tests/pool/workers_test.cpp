// Goal (P7, P8, P12, P17): jobs that throw, wake-ups one by one and never lost, items that waited too long, waiting for idle.
#include "pool/harness.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;
namespace lanes = sluice::pool_lanes;

namespace {

const auto nothing = [] {};

[[nodiscard]] bool all_parked(const BoundedPool& pool) {
    std::uint64_t parked = 0;
    for (const auto& kind : pool.snapshot().kinds)
        parked += kind.parked;
    return parked == pool.config().workers;
}

}  // namespace

TEST_CASE("P7: a job that throws goes to the handler with its meta, is counted, and its worker lives on") {
    std::mutex mutex;
    std::vector<std::string> told;
    PoolConfig config = small_pool(1, 8);
    config.on_thrown = [&](const ThrownItem& item) {
        const std::lock_guard lock(mutex);
        std::string what = "?";
        try {
            std::rethrow_exception(item.exception);
        } catch (const std::exception& error) {
            what = error.what();
        } catch (int number) {
            what = std::to_string(number);
        }
        told.push_back(std::string(item.lane) + " " + std::string(item.call_id) + " " +
                       std::string(item.group_id) + " " + std::to_string(item.bytes) + " " + what);
        throw 1;  // its own trouble
    };
    BoundedPool pool(config);
    auto first = pool.enqueue(only, {.call_id = "c", .group_id = "g", .bytes = 7},
                              [] { throw std::runtime_error("boom"); });
    auto second = pool.enqueue(only, {}, [] { throw 42; });
    auto third = pool.enqueue(only, {}, nothing);
    REQUIRE((first && second && third));
    REQUIRE(pool.wait_idle());
    CHECK(told == std::vector<std::string>{"only c g 7 boom", "only   0 42"});
    CHECK(first->state() == ItemState::thrown);
    CHECK(second->state() == ItemState::thrown);
    CHECK(third->state() == ItemState::ran);
    const PoolSnapshot now = pool.snapshot();
    CHECK((now.items.thrown == 2 && now.items.ran == 1 && now.items.running == 0));
    CHECK(balanced(now.items));
}

TEST_CASE("P8: with all workers parked, one item causes exactly one wake-up, of a worker that may run it") {
    for (const SpinPolicy spin : {SpinPolicy::park, SpinPolicy::adaptive}) {
        PoolConfig config;
        config.spin = spin;
        BoundedPool pool(config);
        const auto check_lane = [&](PoolLane lane, std::string_view kind) {
            REQUIRE(eventually([&] { return all_parked(pool); }));
            const std::uint64_t before = pool.snapshot().wakeups;
            Gate gate;
            REQUIRE(pool.post(lane, {}, [gate] { gate.pass(); }));
            REQUIRE(gate.reached_by(1));
            const PoolSnapshot now = pool.snapshot();
            CHECK(now.wakeups == before + 1);
            for (const auto& seen : now.kinds)
                CHECK(seen.running == (seen.name == kind ? 1U : 0U));
            gate.open();
            REQUIRE(pool.wait_idle());
            REQUIRE(eventually([&] { return all_parked(pool); }));
            CHECK(pool.snapshot().wakeups == before + 1);
        };
        for (int round = 0; round < 50; ++round) {
            check_lane(lanes::control, "control");  // the most special kind
            check_lane(lanes::user, "user");
            check_lane(lanes::cheap, "cheap");
            check_lane(lanes::bulk, "general");
        }
    }
}

TEST_CASE("P8 stress: no item waits while a worker that may run it sleeps, without any spinning") {
    // Each job that is inside waits for all the others: were one left behind a sleeper, none would come out.
    PoolConfig config;
    config.spin = SpinPolicy::park;
    config.lanes = {{"a", 64, {}}, {"b", 64, {}}, {"c", 64, {}}};
    config.kinds = {
        {"ab", 1, {"a", "b"}}, {"bc", 1, {"b", "c"}}, {"abc", 2, {"a", "b", "c"}}, {"c", 1, {"c"}}};
    BoundedPool pool(config);
    const int rounds = scaled(4'000);
    Random random(2);
    for (int round = 0; round < rounds; ++round) {
        // As many as there are workers, from two threads, in lanes that together need all of them in some way: b can be run by
        // four, c by four, a by three; five items of b and c fill all five workers.
        std::atomic<unsigned> inside{0};
        std::atomic<bool> open{false};
        const std::array<std::uint8_t, 5> lane{0, 1, 2, 2, 2};
        const std::uint64_t shift = random.below(5);
        std::atomic<unsigned> next{0};
        const auto post = [&] {
            for (unsigned i = next.fetch_add(1); i < 5; i = next.fetch_add(1)) {
                const std::uint8_t where = lane[(i + shift) % 5];
                while (!pool.post(PoolLane{where}, {}, [&] {
                    inside.fetch_add(1);
                    open.wait(false);
                })) {}
            }
        };
        std::jthread helper(post);
        post();
        helper.join();
        // Whatever the assignment, as long as an item is queued, all that may run it are inside.
        const bool settled = eventually([&] {
            const PoolSnapshot now = pool.snapshot();
            if (now.items.running != inside.load())
                return false;
            for (std::size_t l = 0; l < 3; ++l) {
                if (now.lanes[l].queued == 0)
                    continue;
                for (std::size_t k = 0; k < now.kinds.size(); ++k) {
                    if ((pool.config().kinds[k].lanes >> l & 1U) != 0 &&
                        now.kinds[k].running < now.kinds[k].workers)
                        return false;
                }
            }
            return true;
        });
        open.store(true);
        open.notify_all();
        REQUIRE(settled);
        REQUIRE(pool.wait_idle_for(patience));
    }
}

TEST_CASE(
    "P12: an item that waited longer than its lane allows is taken next by the first worker that may run "
    "it") {
    PoolConfig config;
    config.lanes = {{"high", 64, {}}, {"low", 64, 20ms}, {"lower", 64, 10ms}};
    config.kinds = {{"all", 1, {"high", "low", "lower"}}};
    BoundedPool pool(config);
    std::mutex mutex;
    std::string order;
    const auto note = [&](char name) {
        return [&, name] {
            const std::lock_guard lock(mutex);
            order += name;
        };
    };
    Gate gate;
    REQUIRE(pool.post(PoolLane{0}, {}, [gate] { gate.pass(); }));
    REQUIRE(gate.reached_by(1));
    REQUIRE(pool.post(PoolLane{1}, {}, note('l')));
    REQUIRE(pool.post(PoolLane{2}, {}, note('w')));
    std::this_thread::sleep_for(50ms);
    REQUIRE(pool.post(PoolLane{0}, {}, note('h')));
    gate.open();
    REQUIRE(pool.wait_idle());
    CHECK(order == "wlh");  // the one that is over its time by the most, then the other, then by priority
    order.clear();
    Gate again;
    REQUIRE(pool.post(PoolLane{0}, {}, [again] { again.pass(); }));
    REQUIRE(again.reached_by(1));
    REQUIRE(pool.post(PoolLane{0}, {}, note('h')));
    std::this_thread::sleep_for(50ms);
    REQUIRE(pool.post(PoolLane{1}, {}, note('l')));  // not long enough
    again.open();
    REQUIRE(pool.wait_idle());
    CHECK(order == "hl");
}

TEST_CASE("P17: all who wait for idle return when the last item has ended, and not before") {
    BoundedPool pool(small_pool(2, 16));
    CHECK(pool.wait_idle());
    for (int round = 0; round < scaled(200); ++round) {
        Gate gate;
        std::atomic<int> ended{0};
        for (int i = 0; i < 4; ++i) {
            REQUIRE(pool.post(only, {}, [&, gate] {
                gate.pass();
                ended.fetch_add(1);
            }));
        }
        std::atomic<int> early{0};
        std::atomic<unsigned> returned{0};
        std::vector<std::jthread> waiters;
        for (int i = 0; i < 4; ++i) {
            waiters.emplace_back([&] {
                if (!pool.wait_idle_for(patience) || ended.load() < 4)
                    early.fetch_add(1);
                returned.fetch_add(1);
            });
        }
        if (round == 0)
            CHECK(stays([&] { return returned.load() == 0; }));
        gate.open();
        waiters.clear();
        REQUIRE(early.load() == 0);
    }
    Gate gate;
    REQUIRE(pool.post(only, {}, [gate] { gate.pass(); }));
    const auto late = pool.wait_idle_for(1ms);
    REQUIRE_FALSE(late);
    CHECK(late.error().value() == ErrorCode::timed_out);
    gate.open();
    CHECK(pool.wait_idle());
    ErrorCode inside{};
    REQUIRE(pool.post(only, {}, [&] { inside = pool.wait_idle().error().value(); }));
    CHECK(pool.wait_idle());
    CHECK(inside == ErrorCode::would_deadlock);
}

TEST_CASE("P17: waiting for idle is woken by a cancellation too") {
    BoundedPool pool(small_pool(1, 16));
    for (int round = 0; round < scaled(500); ++round) {
        Gate gate;
        REQUIRE(pool.post(only, {}, [gate] { gate.pass(); }));
        REQUIRE(gate.reached_by(1));
        auto item = pool.enqueue(only, {}, nothing);
        std::atomic<int> wrong{0};
        std::jthread waiter([&] {
            const bool idle = pool.wait_idle_for(patience).has_value();
            wrong.fetch_add(
                idle && (item->state() == ItemState::ran || item->state() == ItemState::cancelled) ? 0 : 1);
        });
        gate.open();  // the worker and the canceller race for being the last
        (void)item->cancel();
        waiter.join();
        REQUIRE(wrong.load() == 0);
    }
}
