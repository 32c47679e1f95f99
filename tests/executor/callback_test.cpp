// Goal: callbacks run once, where they are said to, with whatever their job ended with (E19 E20 E21 E22).
// Method: jobs that are queued, running, ended, refused and cancelled; callbacks that submit, throw, wait, and let go of
// the executor; chains of 100,000.
#include <array>
#include <future>
#include <optional>
#include <string>

#include "executor/coroutine.hpp"

using namespace sluice;
using namespace sluice::test;

TEST_CASE("E19 a callback gets the value, on the worker that ended the job") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", std::string("state"));
        const Gate gate;
        std::promise<std::thread::id> ran_on;
        std::promise<std::pair<std::string, std::thread::id>> called;
        auto job = actor.mutate([&, gate](std::string& s) {
            gate.pass();
            ran_on.set_value(std::this_thread::get_id());
            return s;
        });
        std::move(job).then([&](Result<std::string> result) {
            called.set_value({result.value(), std::this_thread::get_id()});
        });
        CHECK_FALSE(job.valid());
        gate.open();
        const auto [value, thread] = called.get_future().get();
        CHECK(value == "state");
        CHECK(thread == ran_on.get_future().get());
    });
}

TEST_CASE(
    "E19 a callback of a job that has ended, or was refused, runs before then() returns, on the caller") {
    under_both_policies({2}, [](const Config& config) {
        std::optional<Executor> executor(std::in_place, config);
        auto actor = executor->add_actor("a", 1);
        const auto here = std::this_thread::get_id();
        const auto code_seen = [&](auto job) {
            std::optional<ErrorCode> seen;
            std::move(job).then([&](auto result) {
                CHECK(std::this_thread::get_id() == here);
                seen = result ? no_error : result.error().value();
            });
            REQUIRE(seen.has_value());
            CHECK_FALSE(job.valid());
            return *seen;
        };
        auto ended = actor.read([](const int& n) { return n; });
        CHECK(eventually([&] { return ended.ready(); }));
        CHECK(code_seen(std::move(ended)) == no_error);
        auto threw = actor.read([](const int&) -> int { throw 1; });
        CHECK(eventually([&] { return threw.ready(); }));
        CHECK(code_seen(std::move(threw)) == ErrorCode::job_threw);
        CHECK(code_seen(Completion<int>()) == ErrorCode::no_state);
        executor->remove_actor("a");
        CHECK(code_seen(actor.read([](const int&) {})) == ErrorCode::actor_not_registered);
        executor.reset();
        CHECK(code_seen(actor.read([](const int&) {})) == ErrorCode::shut_down);
    });
}

TEST_CASE("E19 a completion that was moved from is empty, also that of a refusal") {
    const Actor<int> nobody;
    auto refused = nobody.read([](const int& n) { return n; });
    CHECK(refused.valid());
    auto taken = std::move(refused);
    CHECK_FALSE(refused.valid());
    CHECK_FALSE(refused.ready());
    CHECK(code_of(taken) == ErrorCode::actor_not_registered);
    refused = nobody.read([](const int& n) { return n; });
    taken = std::move(refused);
    CHECK_FALSE(refused.valid());
    std::optional<ErrorCode> seen;
    std::move(taken).then([&](const Result<int>& result) { seen = result.error().value(); });
    CHECK(seen == ErrorCode::actor_not_registered);
    CHECK_FALSE(taken.valid());
}

TEST_CASE("E19 a wait that timed out may be followed by a callback") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto job = actor.mutate([gate](int&) { gate.pass(); });
        CHECK(job.wait_for(1ms).error() == ErrorCode::timed_out);
        std::promise<bool> called;
        std::move(job).then([&](const Result<void>& result) { called.set_value(result.has_value()); });
        gate.open();
        auto future = called.get_future();
        REQUIRE(future.wait_for(patience) == std::future_status::ready);
        CHECK(future.get());
    });
}

TEST_CASE("E19 then_on: the callback runs where the poster runs it; at home if the poster throws") {
    under_both_policies({2}, [](const Config& config) {
        Loop loop;
        Executor executor(config);
        auto actor = executor.add_actor("a", 7);
        std::promise<bool> on_loop;
        actor.read([](const int& n) { return n; }).then_on(loop.poster(), [&](Result<int> result) {
            on_loop.set_value(loop.is_this_thread() && result.value() == 7);
        });
        CHECK(on_loop.get_future().get());

        std::promise<int> at_home;
        actor.read([](const int& n) { return n; })
            .then_on([](auto /*go*/) { throw std::runtime_error("full"); },
                     [&](Result<int> result) { at_home.set_value(result.value()); });
        CHECK(at_home.get_future().get() == 7);
        const Actor<int> nobody;
        std::promise<ErrorCode> refused;
        nobody.read([](const int&) {}).then_on(loop.poster(), [&](const Result<void>& result) {
            refused.set_value(loop.is_this_thread() ? result.error().value() : ErrorCode::no_state);
        });
        CHECK(refused.get_future().get() == ErrorCode::actor_not_registered);
    });
}

TEST_CASE("E16 E19 every way in which a job can end without a value reaches its callback") {
    under_both_policies({1, 2}, [](const Config& config) {
        std::optional<Executor> executor(std::in_place, config);
        std::array<std::promise<ErrorCode>, 5> ends;
        const auto tell = [&](std::size_t i) {
            return [&ends, i](const Result<void>& result) {
                ends[i].set_value(result ? no_error : result.error().value());
            };
        };
        auto removed = executor->add_actor("removed", 0);
        auto fatal = executor->add_actor("fatal", 0);
        auto queued = executor->add_actor("queued", 0);
        {
            AllWorkersHeld held(*executor);
            removed.mutate([](int&) {}).then(tell(0));
            fatal.mutate([](int&) { throw std::runtime_error("broken"); }).then(tell(1));
            fatal.mutate([](int&) {}).then(tell(2));
            executor->remove_actor("removed");
            queued.mutate([](int&) {}).then(tell(3));
            held.release();
        }
        CHECK(ends[0].get_future().get() == ErrorCode::actor_removed);
        CHECK(ends[1].get_future().get() == ErrorCode::job_threw);
        CHECK(ends[2].get_future().get() == ErrorCode::actor_fatal);
        CHECK(ends[3].get_future().get() == no_error);
        const Gate gate;
        std::vector<Completion<void>> blockers;
        for (unsigned i = 0; i < executor->config().pool_size; ++i) {
            auto blocker = executor->add_actor("blocker" + std::to_string(i), 0);
            blockers.push_back(blocker.mutate([gate](int&) { gate.pass(); }));
        }
        REQUIRE(gate.reached_by(executor->config().pool_size));
        queued.mutate([](int&) {}).then(tell(4));
        std::jthread ending([&] { executor.reset(); });
        CHECK(ends[4].get_future().get() == ErrorCode::shut_down);
        gate.open();
    });
}

TEST_CASE("E20 E4 the callback of a removed actor's job may wait for another one of it") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::promise<std::pair<ErrorCode, ErrorCode>> seen;
        {
            AllWorkersHeld held(executor);
            auto first = actor.mutate([](int&) {});
            auto second = actor.mutate([](int&) {});
            std::move(first).then([&seen, second = std::move(second)](const Result<void>& result) mutable {
                seen.set_value({result.error().value(), second.wait_for(2s).error().value()});
            });
            executor.remove_actor("a");
            held.release();
        }
        CHECK(seen.get_future().get() == std::pair(ErrorCode::actor_removed, ErrorCode::actor_removed));
    });
}

TEST_CASE("E21 callbacks submit, to their own actor as well; a wait there for it answers would_deadlock") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::promise<ErrorCode> waited;
        std::promise<int> last;
        const Gate gate;
        actor
            .mutate([gate](int& n) {
                gate.pass();
                ++n;
            })
            .then([&](const Result<void>&) {
                auto again = actor.mutate([](int& n) { return ++n; });
                auto result = again.wait_for(patience);
                waited.set_value(result ? no_error : result.error().value());
                std::move(again).then([&](Result<int> end) { last.set_value(end.value()); });
            });
        gate.open();
        CHECK(waited.get_future().get() == ErrorCode::would_deadlock);
        CHECK(last.get_future().get() == 2);
    });
}

TEST_CASE("E19 what a callback throws is dropped and counted, and hurts nobody") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (int i = 0; i < 10; ++i)
            actor.mutate([](int& n) { ++n; }).then([](const Result<void>&) {
                throw std::runtime_error("lost");
            });
        CHECK(eventually([&] { return executor.snapshot().callbacks_threw == 10; }));
        CHECK(value_of(actor.read([](const int& n) { return n; })) == 10);
        CHECK_FALSE(actor.fatal());
    });
}

TEST_CASE("E19 a callback whose move throws leaves the handle as it was") {
    struct Throws {
        Throws() = default;
        Throws(const Throws& /*other*/) {
            throw 1;
        }
        Throws& operator=(const Throws&) = delete;
        ~Throws() = default;
        void operator()(const Result<int>& /*result*/) const {}
    };
    Executor executor;
    auto actor = executor.add_actor("a", 3);
    const Gate gate;
    auto job = actor.read([gate](const int& n) {
        gate.pass();
        return n;
    });
    const Throws throws;
    CHECK_THROWS_AS(std::move(job).then(throws), int);
    gate.open();
    CHECK(value_of(job) == 3);
}

namespace {

constexpr int deep = under_thread_sanitizer ? 10'000 : 100'000;  // there each step takes up to a millisecond

/// Each callback submits the next job, until `left` is zero.
void chain(const Actor<int>& actor, int left, std::promise<int>& end) {
    actor.mutate([](int& n) { return ++n; }).then([&actor, left, &end](Result<int> result) {
        if (left == 0 || !result) {
            end.set_value(result ? *result : -1);
            return;
        }
        chain(actor, left - 1, end);
    });
}

/// Each callback asks for the next refusal.
void refused_chain(int left, int& count) {
    const Actor<int> nobody;
    nobody.read([](const int&) {}).then([left, &count](const Result<void>&) {
        ++count;
        if (left != 0)
            refused_chain(left - 1, count);
    });
}

}  // namespace

TEST_CASE("E20 chains of 100,000 callbacks need no stack: running, ended, refused") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::promise<int> end;
        chain(actor, deep - 1, end);
        auto future = end.get_future();
        REQUIRE(future.wait_for(patience) == std::future_status::ready);
        CHECK(future.get() == deep);
    });
    int refused = 0;
    refused_chain(deep - 1, refused);
    CHECK(refused == deep);

    Executor executor;
    auto actor = executor.add_actor("a", 0);
    std::vector<Completion<void>> ended;
    for (int i = 0; i < deep; ++i)
        ended.push_back(actor.mutate([](int&) {}));
    CHECK(code_of(actor.mutate([](int&) {})) == no_error);
    int called = 0;
    std::function<void(std::size_t)> next = [&](std::size_t i) {
        std::move(ended[i]).then([&, i](const Result<void>&) {
            ++called;
            if (i != 0)
                next(i - 1);
        });
    };
    next(ended.size() - 1);
    CHECK(called == deep);
}

TEST_CASE("X02 E22 a callback lets go of the last handle to its executor") {
    under_both_policies({1, 2, 4}, [](Config config) {
        for (int round = 0; round < scaled(40); ++round) {
            const auto threads = ThreadCounts::watch(config);
            auto executor = std::make_shared<Executor>(config);
            auto actor = executor->add_actor("a", 0);
            const Gate gate;
            std::atomic<int> ended{0};
            actor.mutate([gate](int&) { gate.pass(); })
                .then([&, last = executor](const Result<void>&) mutable {
                    last.reset();
                    std::this_thread::sleep_for(100us);
                    ended.fetch_add(1);
                });
            for (int i = 0; i < 10; ++i)
                actor.mutate([](int&) {}).then([&](const Result<void>&) { ended.fetch_add(1); });
            executor.reset();
            gate.open();
            CHECK(eventually([&] { return ended.load() == 11; }));
            CHECK(threads->all_left());
        }
    });
}

TEST_CASE(
    "X02 E22 the last handle goes in a callback on the caller's own thread, or with the callback itself") {
    under_both_policies({2}, [](Config config) {
        for (int round = 0; round < scaled(40); ++round) {
            const auto threads = ThreadCounts::watch(config);
            auto executor = std::make_shared<Executor>(config);
            auto actor = executor->add_actor("a", 0);
            auto job = actor.mutate([](int&) {});
            if (round % 2 == 0)
                CHECK(eventually([&] { return job.ready(); }));
            std::move(job).then([last = std::move(executor)](const Result<void>&) {});
            CHECK(threads->all_left());
            CHECK(code_of(actor.mutate([](int&) {})) == ErrorCode::shut_down);
        }
    });
}
