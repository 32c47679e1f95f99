// Goal: coroutines wait for jobs without holding a thread, and go on where they are told to (E19 E20 E21 E22).
// Method: coroutines that start at once and are resumed by workers, by a user's executor, or not at all; chains of
// 100,000; frames that are destroyed while they wait; when_all over completions in every state.
#include <future>
#include <optional>
#include <string>

#include "executor/coroutine.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int deep = under_thread_sanitizer ? 10'000 : 100'000;  // there each step takes up to a millisecond

template <class T>
Detached await_into(Completion<T> job, std::promise<Result<T>>& end) {
    end.set_value(co_await std::move(job));
}

template <class T>
Detached await_code(Completion<T> job, ErrorCode& seen) {
    const Result<T> result = co_await std::move(job);
    seen = result ? no_error : result.error().value();
}

}  // namespace

TEST_CASE("E19 co_await: a value, nothing, a move-only value, an error; resumed on the worker") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 4);
        const auto end_of = [](auto job) {
            std::promise<decltype(job.wait())> end;
            await_into(std::move(job), end);
            auto future = end.get_future();
            REQUIRE(future.wait_for(patience) == std::future_status::ready);
            return future.get();
        };
        CHECK(end_of(actor.read([](const int& n) { return n; })).value() == 4);
        CHECK(end_of(actor.mutate([](int& n) { ++n; })).has_value());
        CHECK(**end_of(actor.read([](const int& n) { return std::make_unique<int>(n); })) == 5);
        CHECK(end_of(actor.read([](const int&) -> int { throw 1; })).error() == ErrorCode::job_threw);

        const Gate gate;
        std::promise<bool> same;
        [](Completion<std::thread::id> job, std::promise<bool>& end) -> Detached {
            const auto thread = co_await std::move(job);
            end.set_value(thread.value() == std::this_thread::get_id());
        }(actor.read([gate](const int&) {
            gate.pass();
            return std::this_thread::get_id();
        }),
                                                                     same);
        gate.open();
        CHECK(same.get_future().get());
    });
}

TEST_CASE("E19 what has ended already, was refused, or is empty suspends nothing") {
    Executor executor;
    auto actor = executor.add_actor("a", 0);
    const auto code_at_once = [](auto job) {
        ErrorCode seen = ErrorCode::timed_out;
        await_code(std::move(job), seen);
        return seen;
    };
    auto ended = actor.mutate([](int&) {});
    CHECK(eventually([&] { return ended.ready(); }));
    CHECK(code_at_once(std::move(ended)) == no_error);
    CHECK(code_at_once(Completion<int>()) == ErrorCode::no_state);
    CHECK(code_at_once(Actor<int>().read([](const int&) {})) == ErrorCode::actor_not_registered);
}

TEST_CASE("E19 resume_on: the coroutine goes on where the poster runs it; at home if the poster throws") {
    under_both_policies({2}, [](const Config& config) {
        Loop loop;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::promise<bool> end;
        [](Actor<int> on, Loop& there, std::promise<bool>& done) -> Detached {
            bool right = true;
            for (int i = 1; i <= 3; ++i) {
                const auto result = co_await on.mutate([](int& n) { return ++n; }).resume_on(there.poster());
                right = right && result.value() == i && there.is_this_thread();
            }
            const auto at_home = co_await on.mutate([](int&) {}).resume_on([](auto /*go*/) { throw 1; });
            done.set_value(right && at_home.has_value());
        }(actor, loop, end);
        CHECK(end.get_future().get());
    });
}

TEST_CASE(
    "E19 resume_on: also what has ended already, was refused, or is empty goes on where the poster runs it") {
    Loop loop;
    Executor executor;
    auto actor = executor.add_actor("a", 0);
    const auto code_there = [&loop](Completion<int> job) {
        std::promise<std::error_code> end;
        [](Completion<int> awaited, Loop& there, std::promise<std::error_code>& done) -> Detached {
            const auto result = co_await std::move(awaited).resume_on(there.poster());
            done.set_value(!there.is_this_thread() ? std::make_error_code(std::errc::wrong_protocol_type)
                           : result                ? std::error_code()
                                                   : result.error().code());
        }(std::move(job), loop, end);
        return end.get_future().get();
    };
    auto ended = actor.mutate([](int& n) { return n; });
    CHECK(eventually([&] { return ended.ready(); }));
    CHECK(code_there(std::move(ended)) == std::error_code());
    CHECK(code_there(Completion<int>()) == ErrorCode::no_state);
    CHECK(code_there(Actor<int>().read([](const int& n) { return n; })) == ErrorCode::actor_not_registered);
}

TEST_CASE("E19 a result whose move throws is thrown into the coroutine") {
    Executor executor;
    auto actor = executor.add_actor("a", 0);
    std::promise<std::string> end;
    [](Actor<int> on, std::promise<std::string>& done) -> Detached {
        try {
            static_cast<void>(co_await on.read([](const int&) { return MoveThrows(); }));
            done.set_value("nothing");
        } catch (const std::runtime_error& error) {
            done.set_value(error.what());
        }
    }(actor, end);
    CHECK(end.get_future().get() == "moved");
}

TEST_CASE("E19 a wait that timed out may be followed by co_await") {
    Executor executor;
    auto actor = executor.add_actor("a", 0);
    const Gate gate;
    auto job = actor.mutate([gate](int&) { gate.pass(); });
    CHECK(job.wait_for(1ms).error() == ErrorCode::timed_out);
    std::promise<Result<void>> end;
    await_into(std::move(job), end);
    gate.open();
    auto future = end.get_future();
    REQUIRE(future.wait_for(patience) == std::future_status::ready);
    CHECK(future.get().has_value());
}

TEST_CASE("E20 E21 a coroutine that awaits 100,000 jobs needs no stack") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::promise<int> end;
        [](Actor<int> on, std::promise<int>& done) -> Detached {
            int sum = 0;
            for (int i = 0; i < deep; ++i)
                sum += (co_await on.mutate([](int& n) { return ++n; })).has_value() ? 1 : 0;
            done.set_value(sum);
        }(actor, end);
        auto future = end.get_future();
        REQUIRE(future.wait_for(patience) == std::future_status::ready);
        CHECK(future.get() == deep);
    });
}

namespace {

/// Awaits its job, then begins the next one: each frame stays until the last has begun.
Detached deeper(const Actor<int>& actor, int left, std::promise<int>& end) {
    const Result<int> result = co_await actor.mutate([](int& n) { return ++n; });
    if (left == 0)
        end.set_value(result.value());
    else
        deeper(actor, left - 1, end);
}

}  // namespace

TEST_CASE("E20 100,000 coroutines that begin each other need no stack") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::promise<int> end;
        deeper(actor, deep - 1, end);
        auto future = end.get_future();
        REQUIRE(future.wait_for(patience) == std::future_status::ready);
        CHECK(future.get() == deep);
    });
}

TEST_CASE("E19 a coroutine that waits may be destroyed as long as its job has not ended") {
    under_both_policies({1, 2}, [](const Config& config) {
        Tracked::Counts frames;
        Tracked::Counts results;
        {
            Executor executor(config);
            auto actor = executor.add_actor("a", 0);
            const Gate gate;
            auto waits = [](Actor<int> on, Gate held, Tracked /*mine*/, Tracked::Counts& made) -> Detached {
                auto job = on.read([held, &made](const int&) {
                    held.pass();
                    return Tracked(made);
                });
                auto result = co_await std::move(job);
                static_cast<void>(result);
                std::abort();  // it was destroyed
            }(actor, gate, Tracked(frames), results);
            CHECK(gate.reached_by(1));
            CHECK(frames.alive.load() == 1);
            waits.destroy();
            CHECK(frames.alive.load() == 0);
            gate.open();
        }
        CHECK(results.destroyed.load() == 1);
        CHECK(results.alive.load() == 0);
    });
}

TEST_CASE("X02 E22 a coroutine lets go of the last handle to its executor, on one of its workers") {
    under_both_policies({1, 2, 4}, [](Config config) {
        for (int round = 0; round < scaled(40); ++round) {
            const auto threads = ThreadCounts::watch(config);
            auto executor = std::make_shared<Executor>(config);
            auto actor = executor->add_actor("a", 0);
            const Gate gate;
            std::promise<ErrorCode> end;
            [](std::shared_ptr<Executor> last, Actor<int> on, Gate held,
               std::promise<ErrorCode>& done) -> Detached {
                // In two statements: g++ 12 destroys the closure of an awaited expression twice (GCC bug 99576 and its kin).
                auto job = on.mutate([held](int&) { held.pass(); });
                static_cast<void>(co_await std::move(job));
                last.reset();
                const Result<void> refused = co_await on.mutate([](int&) {});
                done.set_value(refused.error().value());
            }(std::move(executor), actor, gate, end);
            gate.open();
            CHECK(end.get_future().get() == ErrorCode::shut_down);
            CHECK(threads->all_left());
        }
    });
}

TEST_CASE(
    "E19 when_all: wait, co_await and then give all results in their order, refused and empty ones too") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const auto some = [&](const Gate& gate) {
            std::vector<Completion<int>> jobs;
            jobs.push_back(actor.mutate([gate](int&) {
                gate.pass();
                return 1;
            }));
            jobs.push_back(Actor<int>().read([](const int& n) { return n; }));
            jobs.push_back(actor.read([](const int&) -> int { throw 3; }));
            jobs.emplace_back();
            jobs.push_back(actor.mutate([](int&) { return 5; }));
            return jobs;
        };
        const auto right = [](const std::vector<Result<int>>& results) {
            return results.size() == 5 && results[0].value() == 1 &&
                   results[1].error() == ErrorCode::actor_not_registered &&
                   results[2].error() == ErrorCode::job_threw && results[3].error() == ErrorCode::no_state &&
                   results[4].value() == 5;
        };
        {
            const Gate gate;
            auto all = when_all(some(gate));
            CHECK_FALSE(all.ready());
            gate.open();
            CHECK(right(all.wait()));
            CHECK(all.ready());
            CHECK(all.wait().empty());
        }
        {
            const Gate gate;
            std::promise<bool> end;
            when_all(some(gate)).then([&](const std::vector<Result<int>>& results) {
                end.set_value(right(results));
            });
            gate.open();
            CHECK(end.get_future().get());
        }
        {
            Loop loop;
            const Gate gate;
            std::promise<bool> end;
            [](auto all, Loop& there, auto is_right, std::promise<bool>& done) -> Detached {
                const auto results = co_await std::move(all).resume_on(there.poster());
                done.set_value(is_right(results) && there.is_this_thread());
            }(when_all(some(gate)), loop, right, end);
            gate.open();
            CHECK(end.get_future().get());
        }
        bool called = false;
        when_all(std::vector<Completion<int>>()).then([&](const auto& none) { called = none.empty(); });
        CHECK(called);
    });
}

TEST_CASE("E26 E19 a batch arrives as one completion; a result whose move throws is an error of its own") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::vector<Completion<int>> jobs;
        {
            const Batch batch(executor);
            for (int i = 0; i < 1000; ++i)
                jobs.push_back(actor.mutate([](int& n) { return ++n; }));
        }
        int sum = 0;
        for (const auto& result : when_all(std::move(jobs)).wait())
            sum += result.value();
        CHECK(sum == 1000 * 1001 / 2);
        std::vector<Completion<MoveThrows>> throwing;
        throwing.push_back(actor.read([](const int&) { return MoveThrows(); }));
        const auto results = when_all(std::move(throwing)).wait();
        REQUIRE(results.size() == 1);
        CHECK(results[0].error() == ErrorCode::job_threw);
    });
}

TEST_CASE("E19 a coroutine that waits for many may be destroyed as long as one of them has not ended") {
    under_both_policies({2, 4}, [](const Config& config) {
        for (int round = 0; round < scaled(400); ++round) {
            Tracked::Counts results;
            {
                Executor executor(config);
                auto first = executor.add_actor("first", 0);
                auto last = executor.add_actor("last", 0);
                const Gate gate;
                std::vector<Completion<Tracked>> jobs;
                for (int i = 0; i < 8; ++i)
                    jobs.push_back(first.read([&results](const int&) { return Tracked(results); }));
                jobs.push_back(last.read([&results, gate](const int&) {
                    gate.pass();
                    return Tracked(results);
                }));
                auto waits = [](std::vector<Completion<Tracked>> all) -> Detached {
                    static_cast<void>(co_await when_all(std::move(all)));
                    std::abort();  // it was destroyed
                }(std::move(jobs));
                waits.destroy();  // while the first eight end
                gate.open();
            }
            CHECK(results.alive.load() == 0);
        }
    });
}
