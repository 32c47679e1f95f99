// Goal: a program of Asio waits for jobs in Asio's ways: completion tokens, handlers on their executor, associated memory,
// cancellation (E19 E25 S2).
// Method: one source, compiled for standalone Asio and for Boost.Asio; contexts that are run by hand, so that what runs
// where is known. They go after the executor, whose workers post to them.
#include <utility>  // Boost 1.74 forgets it

#ifdef SLUICE_TEST_BOOST_ASIO
#include <boost/asio.hpp>
#include <sluice/boost_asio.hpp>
namespace net = boost::asio;
#else
#include <asio.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <sluice/asio.hpp>
namespace net = asio;
#endif

#include <optional>
#include <string>

#include "executor/harness.hpp"
#include "support/counting_resource.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// A handler with an allocator of its own.
template <class F>
struct Counted {
    using allocator_type = std::pmr::polymorphic_allocator<>;
    CountingResource* resource;
    F fn;
    [[nodiscard]] allocator_type get_allocator() const noexcept {
        return resource;
    }
    template <class... Arguments>
    void operator()(Arguments&&... arguments) {
        fn(std::forward<Arguments>(arguments)...);
    }
};
template <class F>
Counted(CountingResource*, F) -> Counted<F>;

const auto look = [](const int& n) { return n; };

}  // namespace

TEST_CASE(
    "E19 a handler runs in its context, which is kept running, and never inside the call that starts the "
    "wait") {
    under_both_policies({1, 2}, [](const Config& config) {
        net::io_context context;
        Executor executor(config);
        auto actor = executor.add_actor("a", 3);
        const auto here = std::this_thread::get_id();
        int seen = 0;
        const auto handler = [&](Result<int> result) {
            CHECK(std::this_thread::get_id() == here);
            seen += result.value();
        };
        auto ended = actor.read(look);
        CHECK(eventually([&] { return ended.ready(); }));
        async_wait(std::move(ended), net::bind_executor(context, handler));
        const Gate gate;
        async_wait(actor.read([gate](const int& n) {
            gate.pass();
            return n;
        }),
                   net::bind_executor(context, handler));
        async_wait(context.get_executor(), actor.read(look), handler);
        async_wait(context.get_executor(), Actor<int>().read(look), [&](Result<int> result) {
            CHECK(result.error() == ErrorCode::actor_not_registered);
            seen += 100;
        });
        CHECK(seen == 0);
        std::jthread opens([gate] {
            std::this_thread::sleep_for(a_while);
            gate.open();
        });
        context.run();  // returns when nothing is outstanding
        CHECK(seen == 109);
    });
}

TEST_CASE("E19 use_future, with a thread pool and with nobody's executor") {
    net::thread_pool pool(2);
    Executor executor;
    auto actor = executor.add_actor("a", 3);
    CHECK(async_wait(actor.read(look), net::use_future).get().value() == 3);
    CHECK(async_wait(pool.get_executor(), actor.mutate([](int& n) { ++n; }), net::use_future)
              .get()
              .has_value());
    CHECK(**async_wait(actor.read([](const int& n) { return std::make_unique<int>(n); }), net::use_future)
                .get() == 4);
    pool.join();
}

TEST_CASE("E19 S2 when_all and flights are waited for as jobs are") {
    Executor executor;
    auto actor = executor.add_actor("a", 3);
    std::vector<Completion<int>> jobs;
    for (int i = 0; i < 10; ++i)
        jobs.push_back(actor.mutate([](int& n) { return ++n; }));
    int sum = 0;
    for (const auto& result : async_wait(when_all(std::move(jobs)), net::use_future).get())
        sum += result.value();
    CHECK(sum == 4 * 10 + 45);
    SingleFlight<int, std::string> flights;
    auto share = flights.run(1, actor, Lane::pure_read, [](const int& n) { return std::to_string(n); });
    const auto outcome = async_wait(std::move(share), net::use_future).get();
    CHECK(outcome.led);
    CHECK(**outcome.result == "13");
}

TEST_CASE("E19 the wait lies in the handler's own memory, which is given back before the handler is called") {
    CountingResource resource;
    net::io_context context;
    Executor executor;
    auto actor = executor.add_actor("a", 3);
    for (int i = 0; i < 3; ++i) {
        std::uint64_t inside = 1;
        async_wait(context.get_executor(), actor.read(look),
                   Counted{&resource, [&](const Result<int>&) { inside = resource.blocks_in_use(); }});
        CHECK(resource.blocks_in_use() > 0);
        context.run();
        context.restart();
        CHECK(inside == 0);
        CHECK(resource.blocks_in_use() == 0);
    }
    resource.fail_all(true);
    auto job = actor.read(look);
    CHECK_THROWS_AS(
        async_wait(context.get_executor(), std::move(job), Counted{&resource, [](const Result<int>&) {}}),
        std::bad_alloc);
}

TEST_CASE("E19 a context that goes with a handler in it destroys the handler") {
    Tracked::Counts handlers;
    Executor executor;
    auto actor = executor.add_actor("a", 3);
    {
        net::io_context context;
        auto ended = actor.read(look);
        CHECK(eventually([&] { return ended.ready(); }));
        async_wait(context.get_executor(), std::move(ended),
                   [mine = Tracked(handlers)](const Result<int>&) { std::abort(); });
        CHECK(handlers.alive.load() == 1);
    }
    CHECK(handlers.alive.load() == 0);
}

TEST_CASE("E19 posting_to: coroutines and callbacks of our own go on in a context") {
    net::io_context context;
    Executor executor;
    auto actor = executor.add_actor("a", 3);
    auto work = net::make_work_guard(context);
    bool here = false;
    const auto thread = std::this_thread::get_id();
    actor.read(look).then_on(posting_to(context.get_executor()), [&](const Result<int>&) {
        here = std::this_thread::get_id() == thread;
        work.reset();
    });
    context.run();
    CHECK(here);
}

#ifdef BOOST_ASIO_HAS_CO_AWAIT
#define SLUICE_TEST_CO_AWAIT 1
#endif
#ifdef ASIO_HAS_CO_AWAIT
#define SLUICE_TEST_CO_AWAIT 1
#endif
#ifdef SLUICE_TEST_CO_AWAIT

TEST_CASE("E19 use_awaitable: 10,000 jobs in one coroutine, resumed in its context") {
    net::io_context context;
    Executor executor;
    auto actor = executor.add_actor("a", 0);
    const auto thread = std::this_thread::get_id();
    int count = 0;
    const auto body = [&]() -> net::awaitable<void> {
        for (int i = 0; i < scaled(10'000); ++i) {
            const Result<int> result =
                co_await async_wait(actor.mutate([](int& n) { return ++n; }), net::use_awaitable);
            count += result.value() == i + 1 && std::this_thread::get_id() == thread ? 1 : 0;
        }
    };
    net::co_spawn(context, body, net::detached);
    context.run();
    CHECK(count == scaled(10'000));
}

#endif

#ifndef SLUICE_TEST_BOOST_ASIO  // Debian's Boost 1.74 has no cancellation slots and no as_tuple

TEST_CASE("E19 as_tuple") {
    net::io_context context;
    Executor executor;
    auto actor = executor.add_actor("a", 3);
    int seen = 0;
    const auto body = [&]() -> net::awaitable<void> {
        const auto [result] =
            co_await async_wait(actor.read(look), net::experimental::as_tuple(net::use_awaitable));
        seen = result.value();
    };
    net::co_spawn(context, body, net::detached);
    context.run();
    CHECK(seen == 3);
}

TEST_CASE("E25 cancellation gives up the wait; with the job's stop source a queued job goes as well") {
    under_both_policies({1, 2}, [](const Config& config) {
        net::io_context context;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto holds = actor.mutate([gate](int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        net::cancellation_signal first;
        net::cancellation_signal second;
        std::vector<ErrorCode> seen;
        const auto handler = [&](const Result<void>& result) { seen.push_back(result.error().value()); };
        async_wait(context.get_executor(), actor.mutate([](int& n) { ++n; }),
                   net::bind_cancellation_slot(first.slot(), handler));
        std::stop_source stop;
        async_wait(context.get_executor(), actor.mutate({.stop = stop.get_token()}, [](int& n) { n += 100; }),
                   stop, net::bind_cancellation_slot(second.slot(), handler));
        first.emit(net::cancellation_type::total);
        second.emit(net::cancellation_type::terminal);
        CHECK(seen.empty());
        context.run();
        CHECK(seen == std::vector{ErrorCode::cancelled, ErrorCode::cancelled});
        gate.open();
        CHECK(value_of(actor.read(look)) == 1);  // the first ran, the second did not
        CHECK(code_of(holds) == no_error);
        first.emit(net::cancellation_type::total);  // nobody listens any more
    });
}

TEST_CASE("S5 cancellation of a share in a flight and of a whole gathering") {
    net::io_context context;
    Executor executor;
    auto actor = executor.add_actor("a", 0);
    const Gate gate;
    const auto waits = [gate](const int&) {
        gate.pass();
        return 1;
    };
    SingleFlight<int, int> flights;
    net::cancellation_signal cancel_share;
    net::cancellation_signal cancel_all;
    ErrorCode share = no_error;
    std::vector<ErrorCode> all;
    async_wait(context.get_executor(), flights.run(1, actor, Lane::pure_read, waits),
               net::bind_cancellation_slot(cancel_share.slot(), [&](const FlightOutcome<int>& outcome) {
                   share = outcome.result.error().value();
               }));
    auto stays = flights.run(1, actor, Lane::pure_read, waits);
    std::vector<Completion<int>> jobs;
    jobs.push_back(actor.read(look));
    jobs.push_back(actor.mutate([](int& n) { return ++n; }));
    async_wait(context.get_executor(), when_all(std::move(jobs)),
               net::bind_cancellation_slot(cancel_all.slot(), [&](const std::vector<Result<int>>& results) {
                   for (const auto& result : results)
                       all.push_back(result.error().value());
               }));
    cancel_share.emit(net::cancellation_type::partial);
    cancel_all.emit(net::cancellation_type::partial);
    context.run();
    CHECK(share == ErrorCode::cancelled);
    CHECK(all == std::vector{ErrorCode::cancelled, ErrorCode::cancelled});
    gate.open();
    CHECK(stays.wait_for(patience).result.value() == 1);
}

TEST_CASE("E25 stress: cancellation races with the end of the job; each handler is called once") {
    under_both_policies({2}, [](const Config& config) {
        net::io_context context;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        int called = 0;
        int cancelled = 0;
        const int rounds = scaled(20'000);
        for (int i = 0; i < rounds; ++i) {
            net::cancellation_signal signal;
            async_wait(context.get_executor(), actor.read(look),
                       net::bind_cancellation_slot(signal.slot(), [&](const Result<int>& result) {
                           ++called;
                           cancelled += result ? 0 : 1;
                       }));
            for (int spins = i % 300; spins > 0; --spins)
                static_cast<void>(actor.registered());
            if (i % 16 == 0)
                context.run();  // too late by then, however busy the machine is
            signal.emit(net::cancellation_type::total);
            context.run();
            context.restart();
        }
        CHECK(called == rounds);
        CHECK(cancelled > 0);
        CHECK(cancelled < rounds);
    });
}

#endif
