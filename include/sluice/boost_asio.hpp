// Waiting for jobs in a program of Boost.Asio (Boost 1.74 or newer). The twin of <sluice/asio.hpp>, where all is told; a source
// file includes one of them. Cancellation slots came with Boost 1.77; before, no wait is cancelled.
#pragma once

#include <utility>  // Boost 1.74 forgets it

#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/version.hpp>
#if BOOST_ASIO_VERSION >= 101900
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/cancellation_type.hpp>
#endif

#include <concepts>
#include <stop_token>
#include <string_view>
#include <type_traits>

#include <sluice/completion.hpp>
#include <sluice/detail/asio_clock.hpp>
#include <sluice/detail/asio_wait.hpp>
#include <sluice/detail/awaiting.hpp>
#include <sluice/turn_gate.hpp>

namespace sluice {

namespace detail {

/// How things are called here; see detail/asio_wait.hpp.
struct BoostAsio {
    template <class Handler, class Fallback>
    static auto executor_of(const Handler& handler, const Fallback& fallback) {
        return ::boost::asio::get_associated_executor(handler, fallback);
    }
    template <class Handler>
    static auto allocator_of(const Handler& handler) {
        return ::boost::asio::get_associated_allocator(handler);
    }
    template <class Executor>
    static auto keep_working(const Executor& executor) {
        return ::boost::asio::make_work_guard(executor);
    }
    template <class Executor, class F>
    static void post(const Executor& executor, F&& fn) {
        ::boost::asio::post(executor, std::forward<F>(fn));
    }
#if BOOST_ASIO_VERSION >= 101900
    /// Giving up a wait leaves nothing half done, so each type of cancellation is heard.
    template <class Handler, class F>
    static void on_cancel(const Handler& handler, F&& fn) {
        if (auto slot = ::boost::asio::get_associated_cancellation_slot(handler); slot.is_connected())
            slot.assign([fn](::boost::asio::cancellation_type type) {
                if (type != ::boost::asio::cancellation_type::none)
                    fn();
            });
    }
    template <class Handler>
    static void stop_listening(const Handler& handler) {
        if (auto slot = ::boost::asio::get_associated_cancellation_slot(handler); slot.is_connected())
            slot.clear();
    }
#else
    template <class Handler, class F>
    static void on_cancel(const Handler& /*handler*/, F&& /*fn*/) {}
    template <class Handler>
    static void stop_listening(const Handler& /*handler*/) {}
#endif
};

}  // namespace detail

inline namespace with_boost_asio {

/// As async_wait() of <sluice/asio.hpp>, word by word.
template <class Executor, AwaitableSource Source, class Token>
auto async_wait(const Executor& fallback, Source source, std::stop_source stop, Token&& token) {
    using Signature = void(typename Source::awaited_type);
    return ::boost::asio::async_initiate<Token, Signature>(
        detail::StartAsioWait<detail::BoostAsio, Executor>(), token, std::move(source), std::move(stop),
        fallback);
}
template <class Executor, AwaitableSource Source, class Token>
auto async_wait(const Executor& fallback, Source source, Token&& token) {
    return async_wait(fallback, std::move(source), std::stop_source(std::nostopstate),
                      std::forward<Token>(token));
}
template <AwaitableSource Source, class Token>
auto async_wait(Source source, std::stop_source stop, Token&& token) {
    return async_wait(::boost::asio::system_executor(), std::move(source), std::move(stop),
                      std::forward<Token>(token));
}
template <AwaitableSource Source, class Token>
auto async_wait(Source source, Token&& token) {
    return async_wait(::boost::asio::system_executor(), std::move(source), std::stop_source(std::nostopstate),
                      std::forward<Token>(token));
}

/// As in <sluice/asio.hpp>.
template <class Executor, class Token>
auto async_turn(const Executor& fallback, TurnGate& gate, std::string_view session, Token&& token) {
    return async_wait(fallback, gate.turn(session), std::forward<Token>(token));
}
template <class Token>
auto async_turn(TurnGate& gate, std::string_view session, Token&& token) {
    return async_wait(::boost::asio::system_executor(), gate.turn(session), std::forward<Token>(token));
}

/// As in <sluice/asio.hpp>.
using AsioClock = detail::AsioClock<::boost::asio::steady_timer>;

/// A Poster for resume_on() and then_on(): what it is given runs on `executor`.
template <class Executor>
[[nodiscard]] auto posting_to(Executor executor) {
    return [executor](auto go) { ::boost::asio::post(executor, go); };
}

}  // namespace with_boost_asio
}  // namespace sluice
