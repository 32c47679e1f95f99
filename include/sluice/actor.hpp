// A handle to one actor, typed by its context: what may be done to that state, and how.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sluice/completion.hpp>
#include <sluice/detail/actor_ref.hpp>
#include <sluice/detail/submission.hpp>
#include <sluice/job.hpp>
#include <sluice/lane.hpp>

namespace sluice {

/// A job that only reads: callable with `const Context&`. Asking for `Context&` does not compile (E7).
template <class F, class Context>
concept ReadJob = std::invocable<std::decay_t<F>, const Context&>;

/// A job that may change its context: callable with `Context&`.
template <class F, class Context>
concept MutateJob = std::invocable<std::decay_t<F>, Context&>;

namespace detail {
template <class Build, class Install, class Context>
struct InstallResult {
    using Artifact = std::invoke_result_t<std::decay_t<Build>, const Context&>;
    using type = std::invoke_result_t<std::decay_t<Install>, Context&, Artifact>;
};
template <class Build, class Install, class Context>
    requires std::is_void_v<std::invoke_result_t<std::decay_t<Build>, const Context&>>
struct InstallResult<Build, Install, Context> {
    using type = std::invoke_result_t<std::decay_t<Install>, Context&>;
};
}  // namespace detail

/// A cheap, copyable handle to one registered actor.
///
/// It names one *generation*: after the actor was removed, submissions through old handles complete with
/// `actor_not_registered`, also when the id has been registered again. A handle may outlive the executor; then
/// submissions complete with `shut_down`.
///
/// All submission functions below share this contract.
/// **Thread**: any, also from inside jobs, completion callbacks and destructors of contexts.
/// **Progress**: lock-free; never waits for a worker or for the scheduler. One system call at most, and only
/// when every thread of the executor sleeps. **Errors**: never thrown but those of moving the closure; a
/// refused job's Completion is ready at once with `actor_not_registered`, `actor_fatal`, `queue_full`,
/// `shut_down`, `out_of_memory` or `invalid_argument`, and the closure is left as it was. **Cost**: about 60 ns.
/// **Memory**: none in steady state for closures up to `inline_payload_bytes` (with the result).
template <class Context>
class Actor {
public:
    /// An empty handle: submissions complete with `actor_not_registered`.
    Actor() noexcept = default;
    explicit Actor(detail::ActorRef ref) noexcept : ref_(std::move(ref)) {}

    /// The id under which the actor was registered. Valid as long as this handle.
    [[nodiscard]] std::string_view id() const noexcept {
        return ref_.id();
    }
    /// Whether there is an actor behind this handle; it may have been removed meanwhile.
    explicit operator bool() const noexcept {
        return static_cast<bool>(ref_);
    }
    /// Whether the actor is registered, under this generation, right now.
    [[nodiscard]] bool registered() const noexcept {
        return ref_.registered();
    }
    /// Whether an exclusive job threw; only removing and registering again gives a working actor.
    [[nodiscard]] bool fatal() const noexcept {
        return ref_.fatal();
    }

    /// Runs `fn(const Context&)` beside other reads of the actor (lane `pure_read`).
    template <ReadJob<Context> F>
    auto read(const JobOptions& options, F&& fn) const {
        return reading(Lane::pure_read, options, std::forward<F>(fn));
    }
    template <ReadJob<Context> F>
    auto read(F&& fn) const {
        return read(JobOptions{}, std::forward<F>(fn));
    }

    /// Runs `fn(const Context&)` one at a time, beside reads (lane `serial_status`).
    template <ReadJob<Context> F>
    auto status(const JobOptions& options, F&& fn) const {
        return reading(Lane::serial_status, options, std::forward<F>(fn));
    }
    template <ReadJob<Context> F>
    auto status(F&& fn) const {
        return status(JobOptions{}, std::forward<F>(fn));
    }

    /// Runs `fn(Context&)` alone (lane `mutating`). If it throws, the actor is fatal (E18).
    template <MutateJob<Context> F>
    auto mutate(const JobOptions& options, F&& fn) const {
        using R = std::invoke_result_t<std::decay_t<F>, Context&>;
        using Payload = detail::OneStep<std::decay_t<F>, Context, R>;
        return detail::submit<Payload, R>(ref_.get(), Lane::mutating, options, std::forward<F>(fn));
    }
    template <MutateJob<Context> F>
    auto mutate(F&& fn) const {
        return mutate(JobOptions{}, std::forward<F>(fn));
    }

    /// Runs `build(const Context&)` under a heavy permit and outside any exclusion, also beside mutations: it
    /// may touch only what its context allows to be read meanwhile. Then `install(Context&, artifact)` alone,
    /// ahead of all that waits; no worker waits for that moment. The result is the install's (E15).
    template <ReadJob<Context> B, class I>
    auto build(const JobOptions& options, B&& build, I&& install) const {
        using Artifact = std::invoke_result_t<std::decay_t<B>, const Context&>;
        using R = typename detail::InstallResult<B, I, Context>::type;
        using Payload = detail::TwoStep<std::decay_t<B>, std::decay_t<I>, Context, Artifact, R>;
        return detail::submit<Payload, R>(ref_.get(), Lane::heavy_init, options, std::forward<B>(build),
                                          std::forward<I>(install));
    }
    template <ReadJob<Context> B, class I>
    auto build(B&& builder, I&& install) const {
        return build(JobOptions{}, std::forward<B>(builder), std::forward<I>(install));
    }

    /// The one-step form: `fn(const Context&)` under a heavy permit, then a fence that waits for the actor's
    /// readers and writer, and the result.
    template <ReadJob<Context> F>
    auto build(const JobOptions& options, F&& fn) const {
        using R = std::invoke_result_t<std::decay_t<F>, const Context&>;
        using Payload = detail::OneStep<std::decay_t<F>, const Context, R, true>;
        return detail::submit<Payload, R>(ref_.get(), Lane::heavy_init, options, std::forward<F>(fn));
    }
    template <ReadJob<Context> F>
    auto build(F&& fn) const {
        return build(JobOptions{}, std::forward<F>(fn));
    }

    /// Fire and forget (E27): the job has no completion state at all, and its result is discarded. What it
    /// throws is counted, and is fatal to the actor in the mutating lane as ever.
    template <ReadJob<Context> F>
    Result<void> post_read(const JobOptions& options, F&& fn) const {
        using R = std::invoke_result_t<std::decay_t<F>, const Context&>;
        using Payload = detail::OneStep<std::decay_t<F>, const Context, R>;
        return detail::post<Payload>(ref_.get(), Lane::pure_read, options, std::forward<F>(fn));
    }
    template <MutateJob<Context> F>
    Result<void> post_mutate(const JobOptions& options, F&& fn) const {
        using R = std::invoke_result_t<std::decay_t<F>, Context&>;
        using Payload = detail::OneStep<std::decay_t<F>, Context, R>;
        return detail::post<Payload>(ref_.get(), Lane::mutating, options, std::forward<F>(fn));
    }
    template <ReadJob<Context> F>
    Result<void> post_read(F&& fn) const {
        return post_read(JobOptions{}, std::forward<F>(fn));
    }
    template <MutateJob<Context> F>
    Result<void> post_mutate(F&& fn) const {
        return post_mutate(JobOptions{}, std::forward<F>(fn));
    }

private:
    template <class F>
    auto reading(Lane lane, const JobOptions& options, F&& fn) const {
        using R = std::invoke_result_t<std::decay_t<F>, const Context&>;
        using Payload = detail::OneStep<std::decay_t<F>, const Context, R>;
        return detail::submit<Payload, R>(ref_.get(), lane, options, std::forward<F>(fn));
    }

    detail::ActorRef ref_;
};

}  // namespace sluice
