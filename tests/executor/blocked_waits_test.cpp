// Goal: waits inside jobs that block each other in less obvious ways are refused, also when what blocks them comes later;
//       and waits that can end are not (E20). Slow destructors and jobs that turn out long delay nobody else (E28, E30, E32).
// Method: each blockage built by hand, with a limit on how long it may take to be noticed.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr auto soon = 10s;  // a blocked wait asks again every 20 ms; the machine may be busy

ErrorCode outcome(const Result<int>& result) {
    return result ? no_error : result.error().value();
}

/// Waits in its destructor, wherever that runs.
class WaitsInDestructor {
public:
    WaitsInDestructor(std::shared_ptr<Completion<void>> job, std::atomic<int>& code)
        : job_(std::move(job)), code_(&code) {}
    WaitsInDestructor(WaitsInDestructor&&) noexcept = default;
    WaitsInDestructor& operator=(WaitsInDestructor&&) = delete;
    ~WaitsInDestructor() {
        if (job_ != nullptr && job_->valid())
            code_->store(static_cast<int>(code_of(*job_)));
    }

private:
    std::shared_ptr<Completion<void>> job_;
    std::atomic<int>* code_;
};

/// Its destructor does not end before the gate is opened.
struct Slow {
    Gate gate;
    explicit Slow(const Gate& g) : gate(g) {}
    Slow(const Slow&) = delete;
    Slow& operator=(const Slow&) = delete;
    ~Slow() {
        gate.pass();
    }
};

}  // namespace

TEST_CASE(
    "E20 a read waits for a heavy job while its own actor's build, which stands behind it, keeps the "
    "permit") {
    under_both_policies({3, 4}, [](Config config) {
        for (const unsigned permits : {1U, 2U}) {
            config.heavy_permits = permits;
            Executor executor(config);
            auto x = executor.add_actor("x", 1);
            auto y = executor.add_actor("y", 1);
            const Gate gate;
            auto reading = x.read([gate, y](const int&) {
                gate.pass();
                return outcome(
                    y.build([](const int& n) { return n; }, [](int&, int n) { return n; }).wait_for(soon));
            });
            REQUIRE(gate.reached_by(1));
            std::vector<Completion<int>> builds;
            for (unsigned i = 0; i < permits; ++i)
                builds.push_back(
                    x.build([](const int& n) { return n; }, [](int& n, int made) { return n += made; }));
            std::this_thread::sleep_for(20ms);  // built by now, and waiting for the read; if not, no harm
            gate.open();
            const ErrorCode code = value_of(reading);
            CHECK((code == ErrorCode::would_deadlock || (permits > 1 && code == no_error)));
            for (auto& build : builds)
                CHECK(code_of(build) == no_error);
        }
    });
}

TEST_CASE(
    "E20 the same through a plain read that stands behind a heavy head, and with the build coming later") {
    under_both_policies({3}, [](Config config) {
        config.heavy_permits = 1;
        Executor executor(config);
        auto x = executor.add_actor("x", 1);
        auto y = executor.add_actor("y", 1);
        auto z = executor.add_actor("z", 1);
        const Gate first;
        const Gate waiting;
        // z holds the permit for now, so y's heavy head waits in line.
        auto holder = z.build([first](const int&) { first.pass(); });
        REQUIRE(first.reached_by(1));
        auto heavy = y.build([](const int&) {});
        auto reading = x.read([waiting, y](const int&) {
            auto behind = y.read([](const int& n) { return n; });
            waiting.pass();
            return outcome(behind.wait_for(soon));
        });
        REQUIRE(waiting.reached_by(1));
        auto build = x.build([](const int&) {}, [](int&) {});
        waiting.open();
        std::this_thread::sleep_for(5ms);
        first.open();
        // Who got the permit next decides: y's head, and all goes on; or x's build, and the read's wait is refused.
        const ErrorCode code = value_of(reading);
        CHECK((code == no_error || code == ErrorCode::would_deadlock));
        CHECK(code_of(holder) == no_error);
        CHECK(code_of(heavy) == no_error);
        CHECK(code_of(build) == no_error);
    });
}

TEST_CASE("E20 jobs of two executors that wait for each other: one is refused") {
    under_both_policies({1, 4}, [](const Config& config) {
        Executor left(config);
        Executor right(config);
        auto a = left.add_actor("a", 1);
        auto b = right.add_actor("b", 1);
        auto job = a.mutate([a, b](int&) {
            const auto inner = b.mutate([a](int&) {
                                    return outcome(a.read([](const int& n) { return n; }).wait_for(soon));
                                }).wait_for(2 * soon);
            return inner ? *inner : inner.error().value();
        });
        CHECK(value_of(job) == ErrorCode::would_deadlock);
        // Over another actor: only a worker is missing, if there is one alone.
        auto c = left.add_actor("c", 1);
        auto roundabout = a.mutate([b, c](int&) {
            const auto inner = b.mutate([c](int&) {
                                    return outcome(c.read([](const int& n) { return n; }).wait_for(soon));
                                }).wait_for(2 * soon);
            return inner ? *inner : inner.error().value();
        });
        CHECK(value_of(roundabout) == (config.pool_size == 1 ? ErrorCode::would_deadlock : no_error));
    });
}

TEST_CASE(
    "E20 jobs of two executors that wait for each other at the same moment: one is refused, the other has "
    "its value") {
    under_both_policies({1, 3}, [](const Config& config) {
        Executor left(config);
        Executor right(config);
        auto a = left.add_actor("a", 1);
        auto b = right.add_actor("b", 1);
        for (int round = 0; round < scaled(200); ++round) {
            const Gate both_inside;
            const auto waits_for = [both_inside](Actor<int> other) {
                return [both_inside, other = std::move(other)](int&) mutable {
                    both_inside.pass();
                    return outcome(other.mutate([](int& n) { return n; }).wait_for(soon));
                };
            };
            auto from_left = a.mutate(waits_for(b));
            auto from_right = b.mutate(waits_for(a));
            REQUIRE(both_inside.reached_by(2));
            both_inside.open();
            const std::array codes{value_of(from_left), value_of(from_right)};
            CHECK(std::ranges::count(codes, ErrorCode::would_deadlock) == 1);
            CHECK(std::ranges::count(codes, no_error) == 1);
        }
    });
}

TEST_CASE("E20 a wait that can end is not refused, although all permits are out") {
    under_both_policies({3}, [](Config config) {
        config.heavy_permits = 1;
        Executor executor(config);
        auto x = executor.add_actor("x", 1);
        auto y = executor.add_actor("y", 7);
        auto job = x.build(
            [y](const int&) { return outcome(y.read([](const int& n) { return n; }).wait_for(soon)); });
        CHECK(value_of(job) == no_error);
    });
}

TEST_CASE(
    "E20 E16 a destructor of a job that fails waits for another that fails with it: refused, nothing hangs") {
    under_both_policies({1, 3}, [](const Config& config) {
        for (const bool by_removal : {true, false}) {
            std::atomic<int> code{-1};
            {
                Executor executor(config);
                auto actor = executor.add_actor("a", 0);
                const Gate gate;
                auto holds = actor.mutate([gate](int&) { gate.pass(); });
                REQUIRE(gate.reached_by(1));
                auto second = std::make_shared<Completion<void>>();
                auto first = actor.mutate([waits = WaitsInDestructor(second, code)](int&) {});
                *second = actor.mutate([](int&) {});
                REQUIRE(eventually([&] { return executor.actor_snapshot("a")->accepted == 3; }));
                if (by_removal)
                    executor.remove_actor("a");
                else
                    executor.shutdown(Shutdown::cancel);
                CHECK(code_of(first) != no_error);
                gate.open();
                CHECK(code_of(holds) == no_error);
            }
            CHECK(code.load() == static_cast<int>(ErrorCode::would_deadlock));
        }
    });
}

TEST_CASE("E32 a slow destructor of a removed context delays no other actor, while a worker is free") {
    under_both_policies({3}, [](const Config& config) {
        Executor executor(config);
        const Gate gate;
        auto other = executor.add_actor("other", 5);
        CHECK(code_of(other.read([](const int&) {})) == no_error);
        static_cast<void>(executor.emplace_actor<Slow>("slow", {}, gate));
        executor.remove_actor("slow");
        REQUIRE(gate.reached_by(1));
        for (int i = 0; i < 20; ++i) {
            auto reading = other.read([](const int& n) { return n; });
            CHECK(outcome(reading.wait_for(patience)) == no_error);  // the gate is shut
        }
        CHECK(gate.inside() == 1);
        gate.open();
    });
}

TEST_CASE("E28 E32 a job that turns out long strands nobody, however home is occupied") {
    under_both_policies({3}, [](const Config& config) {
        Executor executor(config);
        const Gate job;
        const Gate destructor;
        auto busy = executor.add_actor("busy", 0);
        auto other = executor.add_actor("other", 5);
        for (int i = 0; i < 300; ++i)
            CHECK(code_of(busy.read([](const int&) {})) == no_error);
        auto blocked = busy.mutate([job](int&) { job.pass(); });
        static_cast<void>(executor.emplace_actor<Slow>("slow", {}, destructor));
        executor.remove_actor("slow");
        REQUIRE(job.reached_by(1));
        REQUIRE(destructor.reached_by(1));
        auto reading = other.read([](const int& n) { return n; });
        CHECK(outcome(reading.wait_for(patience)) == no_error);  // both gates are shut
        CHECK(job.inside() + destructor.inside() == 2);
        job.open();
        destructor.open();
        CHECK(code_of(blocked) == no_error);
    });
}
