// The submitter's end of a job: wait for its result, or drop it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <sluice/detail/job_handle.hpp>
#include <sluice/error.hpp>

namespace sluice {

/// A handle to one submitted job, for the thread (or threads in turn) that wants its result.
///
/// Move-only. Dropping it neither cancels the job nor costs an allocation. It may outlive the executor: all
/// jobs have ended by then. It must not outlive the memory resource that the executor was given.
///
/// **Thread**: one thread at a time per handle.
template <class T>
class [[nodiscard("drop it on purpose with .detach(), or use post()")]] Completion {
public:
    /// An empty handle; every wait on it answers `no_state`.
    Completion() noexcept = default;
    Completion(Completion&&) noexcept = default;
    Completion& operator=(Completion&&) noexcept = default;

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

    /// As wait(), for at most `patience`; then `timed_out`, and the job can be waited for again.
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
    Result<T> take(detail::WaitStatus status);

    detail::JobHandle handle_;
    std::optional<Error> refusal_;
};

template <class T>
Result<T> Completion<T>::take(detail::WaitStatus status) {
    if (refusal_) {
        Result<T> result(std::unexpect, *std::move(refusal_));
        refusal_.reset();
        return result;
    }
    if (status != detail::WaitStatus::done)
        return Result<T>(std::unexpect, handle_.wait_error(status));
    detail::JobHandle handle = std::move(handle_);  // the job's memory goes back when this function returns
    if (handle.failed())
        return Result<T>(std::unexpect, handle.error());
    if constexpr (std::is_void_v<T>) {
        return {};
    } else {
        return Result<T>(std::in_place, std::move(*static_cast<T*>(handle.result())));
    }
}

}  // namespace sluice
