// Waiting for jobs in a program of standalone Asio (1.22 or newer). Optional: the library itself knows no Asio. The same for
// Boost.Asio is <sluice/boost_asio.hpp>; a source file includes one of them.
#pragma once

#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/system_executor.hpp>

#include <concepts>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sluice/completion.hpp>
#include <sluice/detail/asio_clock.hpp>
#include <sluice/detail/asio_wait.hpp>
#include <sluice/detail/awaiting.hpp>
#include <sluice/turn_gate.hpp>

namespace sluice {

namespace detail {

/// How things are called here; see detail/asio_wait.hpp.
struct StandaloneAsio {
    template <class Handler, class Fallback>
    static auto executor_of(const Handler& handler, const Fallback& fallback) {
        return ::asio::get_associated_executor(handler, fallback);
    }
    template <class Handler>
    static auto allocator_of(const Handler& handler) {
        return ::asio::get_associated_allocator(handler);
    }
    template <class Executor>
    static auto keep_working(const Executor& executor) {
        return ::asio::make_work_guard(executor);
    }
    template <class Executor, class F>
    static void post(const Executor& executor, F&& fn) {
        ::asio::post(executor, std::forward<F>(fn));
    }
    /// Giving up a wait leaves nothing half done, so each type of cancellation is heard.
    template <class Handler, class F>
    static void on_cancel(const Handler& handler, F&& fn) {
        if (auto slot = ::asio::get_associated_cancellation_slot(handler); slot.is_connected())
            slot.assign([fn](::asio::cancellation_type type) {
                if (type != ::asio::cancellation_type::none)
                    fn();
            });
    }
    template <class Handler>
    static void stop_listening(const Handler& handler) {
        if (auto slot = ::asio::get_associated_cancellation_slot(handler); slot.is_connected())
            slot.clear();
    }
};

}  // namespace detail

inline namespace with_asio {

/// Waits for a Completion, a FlightCompletion or what when_all() gave, in the way that the completion token says:
/// `Result<T> r = co_await sluice::async_wait(actor.read(fn), asio::use_awaitable);`. The signature is `void(Outcome)`: errors
/// of a job are values, as everywhere here, and nothing is thrown for them.
///
/// **Thread**: the handler runs on its associated executor, posted, never on a worker and never inside this call; without
/// one on `fallback`, or on Asio's system executor, which has threads of its own. That executor is kept busy meanwhile
/// (outstanding work), so its context's run() does not return. The context must outlive the wait, and the thread that has
/// ended it while that is still inside Asio's post(): declare it before the executor, so that it goes after it. **Cancellation**: by the handler's cancellation slot, of each type: the outcome is `cancelled`, and
/// the job goes on, unless `stop` is the source of its JobOptions::stop: then a stop is requested, too. **Errors**: throws
/// what the handler's allocator throws. **Memory**: one block of the handler's associated allocator, and what posting takes.
template <class Executor, AwaitableSource Source, class Token>
auto async_wait(const Executor& fallback, Source source, std::stop_source stop, Token&& token) {
    using Signature = void(typename Source::awaited_type);
    return ::asio::async_initiate<Token, Signature>(detail::StartAsioWait<detail::StandaloneAsio, Executor>(),
                                                    token, std::move(source), std::move(stop), fallback);
}
template <class Executor, AwaitableSource Source, class Token>
auto async_wait(const Executor& fallback, Source source, Token&& token) {
    return async_wait(fallback, std::move(source), std::stop_source(std::nostopstate),
                      std::forward<Token>(token));
}
template <AwaitableSource Source, class Token>
auto async_wait(Source source, std::stop_source stop, Token&& token) {
    return async_wait(::asio::system_executor(), std::move(source), std::move(stop),
                      std::forward<Token>(token));
}
template <AwaitableSource Source, class Token>
auto async_wait(Source source, Token&& token) {
    return async_wait(::asio::system_executor(), std::move(source), std::stop_source(std::nostopstate),
                      std::forward<Token>(token));
}

/// Waits for a turn of a gate: `Result<TurnTicket> turn = co_await sluice::async_turn(gate, "alice", asio::use_awaitable);`.
/// async_wait() of TurnGate::turn(), with all that is said there; a cancellation slot leaves the queue, and then the
/// outcome is `cancelled`: the ticket is not lost, for there is none. `session` must stay until the wait has begun.
template <class Executor, class Token>
auto async_turn(const Executor& fallback, TurnGate& gate, std::string_view session, Token&& token) {
    return async_wait(fallback, gate.turn(session), std::forward<Token>(token));
}
template <class Token>
auto async_turn(TurnGate& gate, std::string_view session, Token&& token) {
    return async_wait(::asio::system_executor(), gate.turn(session), std::forward<Token>(token));
}

/// A Clock for a gate (TurnGateConfig::clock) whose timers are an Asio program's: `AsioClock clock(io.get_executor());`. So the
/// gate's expiry and the end of its pauses are told on threads that run that context, and it starts no thread of its own.
///
/// It must outlive the gates that have it, and not the context. While a timer is set (a gate sets one when somebody
/// begins to wait, and during a pause) the context has outstanding work, so its run() does not return. A context that nobody
/// runs is a clock whose timers never run out. A call that throws leaves run(); a gate's do not.
/// **Thread**: any. **Memory**: an allocation for each timer that is set, and what Asio takes.
using AsioClock = detail::AsioClock<::asio::steady_timer>;

/// A Poster for resume_on() and then_on(): what it is given runs on `executor`.
template <class Executor>
[[nodiscard]] auto posting_to(Executor executor) {
    return [executor](auto go) { ::asio::post(executor, go); };
}

}  // namespace with_asio
}  // namespace sluice
