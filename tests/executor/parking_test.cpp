// Goal: no wake-up is lost (E16, E30, E32): whatever the distance between a submission and the moment at which a thread
// parks, enters a long job, waits, or gives the role back, the job runs.
// Method: round trips at random distances, a pause of exactly the length that workers take to park among them, for a
// bounded time. Nothing else is submitted, so a job that nobody looks for stays, and the test ends by its patience.
#include <string>

#include "executor/harness.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr auto time_each = under_thread_sanitizer || under_address_sanitizer ? 400ms : 250ms;

/// Lets some time pass without giving the CPU away: as fine as a clock reading.
void pass(std::chrono::nanoseconds time) {
    for (const auto end = steady_clock::now() + time; steady_clock::now() < end;) {}
}

/// Distances between nothing and what a worker needs to give up and park, and a few beyond.
std::chrono::nanoseconds some_distance(Random& random) {
    const auto most = std::uint64_t{1} << random.below(18);  // up to 131 us
    return std::chrono::nanoseconds(random.below(most));
}

void in_every_spin(const std::initializer_list<std::int64_t>& pool_sizes, const auto& body) {
    for (const SpinPolicy spin : {SpinPolicy::adaptive, SpinPolicy::park}) {
        under_both_policies(pool_sizes, [&](Config config) {
            config.spin = spin;
            INFO("spin " << to_string(spin) << ", seed " << seed());
            body(config);
        });
    }
}

}  // namespace

TEST_CASE("E32 one thread, one job at a time, at every distance from the moment at which the workers park") {
    in_every_spin({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        Random random(1);
        int sent = 0;
        for (const auto end = steady_clock::now() + time_each; steady_clock::now() < end; ++sent) {
            pass(some_distance(random));
            REQUIRE(code_of(actor.mutate([](int& n) { ++n; })) == no_error);
        }
        CHECK(value_of(actor.read([](const int& n) { return n; })) == sent);
    });
}

TEST_CASE("E32 several threads at once, each waiting for its own job before the next") {
    in_every_spin({1, 2, 4}, [](const Config& config) {
        std::atomic<int> lost{0};
        Executor executor(config);
        const auto end = steady_clock::now() + time_each;
        run_together(3, [&](unsigned self) {
            Random random(10 + self);
            auto actor = executor.add_actor("a" + std::to_string(self), 0);
            while (steady_clock::now() < end && lost.load() == 0) {
                pass(some_distance(random));
                if (!actor.mutate([](int&) {}).wait_for(patience))
                    lost.fetch_add(1);
            }
        });
        CHECK(lost.load() == 0);
    });
}

TEST_CASE("E32 E20 jobs that take long by surprise, and jobs that wait, while others come") {
    in_every_spin({2, 3}, [](const Config& config) {
        std::atomic<int> lost{0};
        Executor executor(config);
        const auto end = steady_clock::now() + time_each;
        run_together(3, [&](unsigned self) {
            Random random(20 + self);
            auto actor = executor.add_actor("a" + std::to_string(self), 0);
            auto other = executor.add_actor("b" + std::to_string(self), 0);
            while (steady_clock::now() < end && lost.load() == 0) {
                const auto before = some_distance(random);
                const auto inside = random.one_in(4) ? some_distance(random) * 4 : 0ns;
                const bool sleeps = random.one_in(30);
                const bool waits = random.one_in(5);
                pass(before);
                auto job = actor.mutate([=](int&) {
                    if (sleeps)
                        std::this_thread::sleep_for(300us);
                    pass(inside);
                    if (!waits)
                        return true;
                    const auto result = other.read([](const int&) {}).wait_for(patience);
                    return result || result.error() == ErrorCode::would_deadlock;
                });
                const auto result = job.wait_for(patience);
                if (!result || !*result)
                    lost.fetch_add(1);
            }
        });
        CHECK(lost.load() == 0);
    });
}

TEST_CASE("E32 removals, registrations, batches and dropped handles are noticed by sleepers too") {
    in_every_spin({1, 2}, [](const Config& config) {
        Tracked::Counts counts;
        std::atomic<int> ran{0};
        Executor executor(config);
        int posted = 0;
        Random random(30);
        for (const auto end = steady_clock::now() + time_each; steady_clock::now() < end;) {
            pass(some_distance(random));
            auto actor = executor.emplace_actor<Tracked>("a", {}, counts);
            pass(some_distance(random));
            if (random.one_in(2)) {
                const Batch batch(executor);
                for (std::uint64_t i = random.below(4); i > 0; --i, ++posted)
                    actor.mutate([&ran](Tracked&) { ran.fetch_add(1); }).detach();
            }
            REQUIRE(eventually([&] { return ran.load() == posted; }));
            pass(some_distance(random));
            CHECK(executor.remove_actor("a"));
            REQUIRE(eventually([&] { return counts.alive.load() == 0; }));
        }
    });
}

TEST_CASE("E21 E31 a job that submits its successor, a hundred thousand times: no depth, no growth") {
    struct Chain {
        Actor<int> actor;
        std::atomic<int> left;
        void go_on() {
            if (left.fetch_sub(1) > 0)
                actor.post_mutate([this](int&) { go_on(); }).value();
        }
    };
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        Chain chain{executor.add_actor("a", 0), scaled(100'000)};
        chain.go_on();
        CHECK(eventually([&] { return chain.left.load() < 0; }));
        CHECK(executor.snapshot().nodes <= 64 * 12);
    });
}
