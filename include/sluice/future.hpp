// A Completion as a std::future, for code that wants one.
#pragma once

#include <exception>
#include <future>
#include <type_traits>
#include <utility>

#include <sluice/completion.hpp>
#include <sluice/error.hpp>

namespace sluice {

namespace detail {

template <class T>
void fulfil(std::promise<T>& promise, Result<T> result) {
    if (!result) {
        std::exception_ptr thrown =
            result.error() == ErrorCode::job_threw ? result.error().exception() : nullptr;
        promise.set_exception(thrown ? std::move(thrown)
                                     : std::make_exception_ptr(Exception(std::move(result).error())));
    } else if constexpr (std::is_void_v<T>) {
        promise.set_value();
    } else {
        try {
            promise.set_value(*std::move(result));
        } catch (...) {  // moving the result; a promise that is just dropped would say less
            promise.set_exception(std::current_exception());
        }
    }
}

}  // namespace detail

/// A future of the job's result; `completion` is empty afterwards. The future throws what the job threw, or
/// sluice::Exception for every other Error.
///
/// A future's wait() knows nothing of executors: inside a job it blocks its worker, and can hang where
/// Completion::wait() would answer `would_deadlock`. **Memory**: the future's shared state and its place for the value.
template <class T>
[[nodiscard]] std::future<T> to_future(Completion<T> completion) {
    std::promise<T> promise;
    std::future<T> future = promise.get_future();
    std::move(completion).then([promise = std::move(promise)](Result<T> result) mutable {
        detail::fulfil(promise, std::move(result));
    });
    return future;
}

}  // namespace sluice
