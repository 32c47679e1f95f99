// The submitter's end of a job: wait for its result, go on when it is there, or drop it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <sluice/detail/awaiting.hpp>
#include <sluice/detail/job_handle.hpp>
#include <sluice/error.hpp>

namespace sluice {

namespace detail {
template <class T>
class Gathering;  // when_all.hpp
}

/// A handle to one submitted job, for the thread (or threads in turn) that wants its result.
///
/// Move-only. Dropping it neither cancels the job nor costs an allocation. It may outlive the executor: all
/// jobs have ended by then. It must not outlive the memory resource that the executor was given.
///
/// Without holding a thread: `co_await`, resume_on(), then(), then_on() (detail/awaiting.hpp), to_future() (future.hpp),
/// when_all() (when_all.hpp).
///
/// **Thread**: one thread at a time per handle.
template <class T>
class [[nodiscard("drop it on purpose with .detach(), or use post()")]] Completion
    : public detail::Awaitable<Completion<T>, Result<T>> {
public:
    /// An empty handle; every wait on it answers `no_state`.
    Completion() noexcept = default;
    Completion(Completion&& other) noexcept
        : handle_(std::move(other.handle_)), refusal_(std::exchange(other.refusal_, std::nullopt)) {}
    Completion& operator=(Completion&& other) noexcept {
        if (this != &other) {
            handle_ = std::move(other.handle_);
            refusal_ = std::exchange(other.refusal_, std::nullopt);
        }
        return *this;
    }

    /// Whether there is a job behind this handle, or a refusal that nobody has looked at yet.
    [[nodiscard]] bool valid() const noexcept {
        return handle_.valid() || refusal_.has_value();
    }

    /// Whether wait() would return at once. **Progress**: wait-free.
    [[nodiscard]] bool ready() const noexcept {
        return refusal_.has_value() || handle_.done();
    }

    /// Waits for the job to end and takes its result; afterwards the handle is empty.
    ///
    /// **Progress**: blocks on the job, first spinning briefly, then parked. From inside a job it hands the rest
    /// of this worker's batch back first. **Errors**: those of the job; `would_deadlock` at once, with the
    /// handle still valid, when this wait could never end: from a job of the same actor, from a job whose actor
    /// the awaited one waits for, when no worker would be left to run anything, and on the scheduler's thread.
    /// **Memory**: none for a value.
    [[nodiscard]] Result<T> wait() {
        return take(handle_.wait(detail::JobHandle::forever));
    }

    /// As wait(), for at most `patience`; then `timed_out`, and the job can be waited for again. A patience that is not
    /// positive only looks; 100 years and more are wait().
    template <class Rep, class Period>
    [[nodiscard]] Result<T> wait_for(std::chrono::duration<Rep, Period> patience) {
        return take(handle_.wait(detail::JobHandle::nanoseconds(patience)));
    }

    /// Drops the handle on purpose: the job runs on and its result is destroyed by whoever runs it.
    void detach() noexcept {
        handle_ = {};
        refusal_.reset();
    }

    /// Made by the executor: a job that was accepted, or the refusal of one that was not.
    explicit Completion(detail::JobHandle handle) noexcept : handle_(std::move(handle)) {}
    explicit Completion(Error refusal) noexcept : refusal_(std::move(refusal)) {}

private:
    template <class Source, class Post>
    friend class detail::Awaiter;
    template <class Source, class Post, class F>
    friend class detail::Callback;
    template <class Net, class Source, class Handler, class Fallback>
    friend class detail::AsioWait;
    template <class U>
    friend class detail::Gathering;

    Result<T> take(detail::WaitStatus status);

    // What Awaiter and Callback ask of what they wait for.
    [[nodiscard]] bool attach(detail::Continuation& continuation) noexcept {
        return handle_.valid() && handle_.attach(continuation);
    }
    bool take_back_continuation() noexcept {
        return handle_.valid() && handle_.take_back_continuation();
    }
    [[nodiscard]] Result<T> take_ready() {
        return take(handle_.valid() ? detail::WaitStatus::done : detail::WaitStatus::no_state);
    }
    [[nodiscard]] Result<T> take_ready_and_keep();
    [[nodiscard]] Result<T> take_for_callback() noexcept;
    [[nodiscard]] static Result<T> take_given_up() {
        return Result<T>(std::unexpect, detail::given_up());
    }
    [[nodiscard]] void* allocate_callback(std::size_t size, std::size_t alignment) noexcept {
        return handle_.valid() ? handle_.allocate_callback(size, alignment)
                               : ::operator new(size, std::align_val_t(alignment), std::nothrow);
    }
    void free_callback(void* memory, std::size_t size, std::size_t alignment) noexcept {
        if (handle_.valid())
            handle_.free_callback(memory, size, alignment);
        else
            ::operator delete(memory, std::align_val_t(alignment));
    }
    void count_callback_that_threw() noexcept {
        if (handle_.valid())
            handle_.count_callback_that_threw();
    }

    detail::JobHandle handle_;
    std::optional<Error> refusal_;
};

template <class T>
Result<T> Completion<T>::take(detail::WaitStatus status) {
    if (!refusal_ && status != detail::WaitStatus::done) {
        if (std::optional<Error> error = handle_.wait_error(status))
            return Result<T>(std::unexpect, *std::move(error));
        // The job has ended since, so here is what it ended with.
    }
    Completion ended = std::move(*this);  // the job's memory goes back when this function returns
    refusal_.reset();
    return ended.take_ready_and_keep();
}

// The result, out of a job that has ended, whose memory stays.
template <class T>
Result<T> Completion<T>::take_ready_and_keep() {
    if (refusal_)
        return Result<T>(std::unexpect, *refusal_);
    if (!handle_.valid())
        return Result<T>(std::unexpect, Error({.code = ErrorCode::no_state}));
    if (handle_.failed())
        return Result<T>(std::unexpect, handle_.error());
    if constexpr (std::is_void_v<T>) {
        return {};
    } else {
        return Result<T>(std::in_place, std::move(*static_cast<T*>(handle_.result())));
    }
}

// As above for who has nobody to throw at: what moving the result throws is what the job is said to have thrown.
template <class T>
Result<T> Completion<T>::take_for_callback() noexcept {
    try {
        return take_ready_and_keep();
    } catch (...) {
        return Result<T>(std::unexpect, handle_.error_of_move(std::current_exception()));
    }
}

}  // namespace sluice
