// The actor executor: keyed state, and work submitted to it from any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/actor.hpp>
#include <sluice/config.hpp>
#include <sluice/detail/engine_ref.hpp>
#include <sluice/error.hpp>
#include <sluice/shutdown.hpp>
#include <sluice/snapshot.hpp>

namespace sluice {

/// How an actor takes part in the fairness between actors.
struct ActorOptions {
    /// Jobs per visit relative to other actors (E12). 1 to 1,000.
    std::uint32_t weight = 1;
};

/// What add_actor() found: a handle either way, and whether the actor is new.
template <class Context>
struct AddedActor : Actor<Context> {
    /// False: the id was registered already; its context and state were kept and the new context destroyed.
    bool inserted = false;
};

/// One registered actor in a listing; keeps its context alive (E6).
class ActorEntry {
public:
    explicit ActorEntry(detail::ContextRef context) noexcept : context_(std::move(context)) {}
    [[nodiscard]] std::string_view id() const noexcept {
        return context_.id();
    }
    /// The context, or null if it has another type. Jobs may be running on it: what is read through this
    /// pointer must allow that.
    template <class Context>
    [[nodiscard]] const Context* context() const noexcept {
        return static_cast<const Context*>(context_.context(detail::type_id<Context>()));
    }

private:
    detail::ContextRef context_;
};

/// Runs jobs against keyed state: reads of one actor in parallel, mutations alone, heavy initialisation under
/// permits, fair between actors, interactive work ahead of maintenance. `docs/ARCHITECTURE.md` says how.
///
/// **Thread**: every member function may be called from any thread at any time, but destruction and moving,
/// which need the caller's own order. **Moved from**: it may be destroyed and assigned to. Everything else answers
/// `no_state`: as a value where a Result or a Completion is returned, else by throwing Exception. **When not to use
/// it**: for work without a key (a thread pool is simpler), for jobs that block for long in large numbers (each holds
/// a worker), across processes.
class SLUICE_API Executor {
public:
    /// Starts the workers and the scheduler's thread. **Errors**: throws Exception (`invalid_argument`, naming
    /// field, value and range; or the system's reason when a thread cannot be started).
    explicit Executor(const Config& config = {});
    /// As the constructor, with the error as a value.
    [[nodiscard]] static Result<Executor> create(const Config& config = {});

    Executor(Executor&&) noexcept = default;
    Executor& operator=(Executor&& other) noexcept {
        if (this != &other) {
            close();
            engine_ = std::move(other.engine_);
        }
        return *this;
    }
    /// shutdown(Shutdown::cancel), then joins all threads and destroys the contexts. From one of the
    /// executor's own threads it does not wait: the threads end by themselves, the last one cleans up (E22).
    ~Executor() {
        close();
    }

    /// Registers an actor with a context of any type, moved or copied in.
    /// **Progress**: may block on other registrations and removals, never on jobs or the scheduler. **Errors**:
    /// throws Exception: `context_type_mismatch` when the id exists with another type, `shut_down`,
    /// `out_of_memory`, `invalid_argument` for a weight out of range; and what constructing the context throws.
    /// **Cost**: O(1), however many are registered. **Memory**: the context, and at most 256 bytes.
    template <class Context>
    AddedActor<std::decay_t<Context>> add_actor(std::string_view id, Context&& context,
                                                ActorOptions options = {}) {
        return emplace_actor<std::decay_t<Context>>(id, options, std::forward<Context>(context));
    }

    /// As add_actor(), constructing the context in place; it need not be movable.
    template <class Context, class... Args>
    AddedActor<Context> emplace_actor(std::string_view id, ActorOptions options, Args&&... args);

    /// The actor of that id. **Progress**: lock-free. **Errors**: `actor_not_registered`,
    /// `context_type_mismatch`.
    template <class Context>
    [[nodiscard]] Result<Actor<Context>> find_actor(std::string_view id) const;

    /// Removes an actor (E4): its queued jobs complete with `actor_removed`, running ones finish, and the
    /// context is destroyed after the last of them and of all listings: on one of the executor's threads, or by the thread that
    /// drops the last listing, if that comes later (or meets the removal, in actors()). False: no such actor.
    /// A turn of the scheduler serves it soon; until then jobs begin and end as ever. A heavy job that is between its build and
    /// its install by then was queued.
    bool remove_actor(std::string_view id);

    /// All registered actors (E6), whose contexts stay alive as long as their entries. **Progress**: lock-free. **Cost**:
    /// O(registered). **Memory**: the vector.
    [[nodiscard]] std::vector<ActorEntry> actors() const;

    /// Submits by key, when no handle is at hand: `executor.submit<Index>("repo-a", Lane::pure_read, {}, fn)`.
    /// Costs a look-up more than a handle does. A job callable only with `Context&` is refused with
    /// `lane_mismatch` by the lanes that only read, and what is no lane with `invalid_argument`. In `heavy_init` it is the
    /// one-step form.
    template <class Context, MutateJob<Context> F>
    auto submit(std::string_view id, Lane lane, const JobOptions& options, F&& fn) const;

    /// Starts shutting down (E22); returns at once. What is queued runs, or completes with `shut_down`. Later submissions complete
    /// with `shut_down`. May be called again, and turn a drain into a cancel. **Errors**: `invalid_argument` for what is
    /// neither; then nothing has changed.
    Result<void> shutdown(Shutdown mode) noexcept;
    /// Waits until all accepted jobs have ended, after shutdown(). **Errors**: `would_deadlock` on the
    /// executor's own threads, and before shutdown(); `timed_out`.
    [[nodiscard]] Result<void> wait_shut_down() const {
        return wait_ended(detail::JobHandle::forever);
    }
    template <class Rep, class Period>
    [[nodiscard]] Result<void> wait_shut_down_for(std::chrono::duration<Rep, Period> patience) const {
        return wait_ended(detail::JobHandle::nanoseconds(patience));
    }

    /// The whole executor at one moment (E29, E33). **Progress**: lock-free, and never waits for the scheduler
    /// or a worker; answers while every worker is stuck. **Cost**: O(threads + job nodes), and for each node that is older than
    /// those before it O(log of the running jobs).
    [[nodiscard]] Snapshot snapshot() const;
    /// The mutating jobs inside workers now, ordered by actor id.
    [[nodiscard]] std::vector<RunningMutation> running_mutations() const;
    /// What became of one mutating request. **Cost**: O(job nodes).
    [[nodiscard]] MutationState mutation_state(std::string_view actor, std::string_view request_id) const;
    /// One actor's totals. **Errors**: `actor_not_registered`.
    [[nodiscard]] Result<ActorSnapshot> actor_snapshot(std::string_view id) const;

    /// The configuration in force: every derived value, and every value that was lowered to fit (E2).
    [[nodiscard]] const EffectiveConfig& config() const;
    /// Allocates nodes ahead, so that `jobs` more can be queued or unfinished without an allocation (E31), whichever threads
    /// submit and run them: the 128 nodes that a thread may keep in its cache are allocated beside them, for a thread that
    /// submits later when it first does. A job with a stop token counts twice while it is queued; a closure larger than
    /// `inline_payload_bytes` has an allocation of its own as ever. Range 0..2^32.
    /// **Errors**: `out_of_memory`, `invalid_argument`.
    Result<void> reserve(std::size_t jobs);

private:
    explicit Executor(detail::EngineRef engine) noexcept : engine_(std::move(engine)) {}
    [[nodiscard]] Result<void> wait_ended(std::int64_t patience_ns) const;
    void close() noexcept;
    [[nodiscard]] bool moved_from() const noexcept {
        return engine_.get() == nullptr;
    }
    /// Throws Exception (`no_state`) when it was moved from.
    [[nodiscard]] detail::Engine& engine() const;
    friend class Batch;

    detail::EngineRef engine_;
};

/// Submit many jobs with one wake-up (E26): while a Batch of an executor lives, submissions of the thread that made it
/// wake nobody; its destruction does, as does a wait of that thread, and its end. A worker that is awake may start the jobs
/// earlier.
///
/// **Thread**: meant for one scope of one thread; destroyed on another thread it ends there all the same. Batches nest. Keep
/// it short: until it ends, jobs may sit. **Progress**: lock-free. It may outlive its executor, and its thread.
class SLUICE_API Batch {
public:
    explicit Batch(const Executor& executor) noexcept;
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    ~Batch();

private:
    detail::Engine* engine_;
    detail::ThreadSlot* slot_ = nullptr;
    std::uint32_t lease_ = 0;
};

template <class Context, class... Args>
AddedActor<Context> Executor::emplace_actor(std::string_view id, ActorOptions options, Args&&... args) {
    detail::Registration registration(engine(), id, detail::context_type<Context>, options.weight);
    if (!registration.exists())
        ::new (registration.storage()) Context(std::forward<Args>(args)...);
    bool inserted = false;
    Actor<Context> actor(registration.commit(inserted));
    return {std::move(actor), inserted};
}

template <class Context>
Result<Actor<Context>> Executor::find_actor(std::string_view id) const {
    if (moved_from())
        return Result<Actor<Context>>(std::unexpect, Error({.code = ErrorCode::no_state}));
    auto found = detail::find_actor(*engine_.get(), id, detail::type_id<Context>());
    if (!found)
        return Result<Actor<Context>>(std::unexpect, std::move(found).error());
    return Actor<Context>(*std::move(found));
}

template <class Context, MutateJob<Context> F>
auto Executor::submit(std::string_view id, Lane lane, const JobOptions& options, F&& fn) const {
    constexpr bool reads = ReadJob<F, Context>;
    using Seen = std::conditional_t<reads, const Context, Context>;
    using R = std::invoke_result_t<std::decay_t<F>, Seen&>;
    if (moved_from())
        return Completion<R>(Error({.code = ErrorCode::no_state}));
    auto found =
        detail::find_actor_for_job(*engine_.get(), id, detail::type_id<Context>(), lane, reads, options);
    if (!found)
        return Completion<R>(std::move(found).error());
    if (lane == Lane::heavy_init) {
        using Fenced = detail::OneStep<std::decay_t<F>, Seen, R, true>;
        return detail::submit<Fenced, R>(found->get(), lane, options, std::forward<F>(fn));
    }
    using Plain = detail::OneStep<std::decay_t<F>, Seen, R>;
    return detail::submit<Plain, R>(found->get(), lane, options, std::forward<F>(fn));
}

}  // namespace sluice
