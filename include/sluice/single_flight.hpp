// One run for many callers: who asks for a key while somebody already works on it shares that run's result.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <sluice/actor.hpp>
#include <sluice/detail/awaiting.hpp>
#include <sluice/detail/flight.hpp>
#include <sluice/detail/flight_record.hpp>
#include <sluice/error.hpp>

namespace sluice {

/// What the callers of one run get each: a copy of a small trivial T (up to two words), nothing of void, else a
/// `std::shared_ptr<const T>` to the one result.
template <class T>
using FlightValue = detail::FlightStored<T>::Value;

/// What run() answers.
template <class T>
struct FlightOutcome {
    /// The value, or the error that all who share the run get. Of this caller alone: `timed_out` and `cancelled` when it
    /// gave up, `would_deadlock`, and `out_of_memory`.
    Result<FlightValue<T>> result;
    /// Whether it was this caller's function that ran, or would have.
    bool led = false;
};

/// How long a follower waits. The run goes on without it.
struct FlightPatience {
    /// Empty: for ever.
    std::optional<std::chrono::nanoseconds> patience = std::nullopt;
    /// When a stop is requested the follower gives up.
    std::stop_token stop = {};
};

struct SingleFlightConfig {
    /// Places of the table, rounded up to a power of two; more only make it faster. About as many as runs at a time. Each
    /// takes 64 bytes; more than memory could ever hold throw std::bad_alloc.
    std::size_t buckets = 64;
    /// Where the table, the flights and shared results come from; must outlive all of them. nullptr: mimalloc.
    std::pmr::memory_resource* memory = nullptr;
};

template <class T>
class FlightCompletion;

/// Runs that are shared by key. The first caller of a key *leads*: its function runs. Who comes before that has ended
/// *follows*: it gets the same value or the same error. Then the key is free again: nothing is cached.
///
/// `Key`: copyable; its copy lives as long as the run. `Hash` and `Equal` are made where they are used, and what they do
/// must not throw, but for hashing. `T`: what a run gives; a function may return `T`, or `Result<T>` whose error is
/// shared like an exception.
///
/// **Thread**: any, also inside a function of it, for other keys. **When not to use it**: as a cache; for functions whose
/// effect each caller needs for itself.
template <class Key, class T, class Hash = std::hash<Key>, class Equal = std::equal_to<Key>>
class SingleFlight {
public:
    /// Throws std::bad_alloc. **Memory**: the table.
    explicit SingleFlight(const SingleFlightConfig& config = {}) : table_(config.buckets, config.memory) {}

    /// Leads or follows; blocks until the run has ended.
    ///
    /// **Thread**: the leader's function runs on its own thread, in place. **Progress**: the leader blocks as `fn` does.
    /// A follower joins without locks, then sleeps; on an executor's thread it holds a worker. **Errors**: `job_threw`
    /// with what `fn` threw, and what it returned, for all; `would_deadlock` for the same key inside its own run (S6),
    /// and on an executor's thread for a key whose run is a job. What copying the key throws is thrown. **Cost**: about
    /// 100 ns to join. **Memory**: one block for a run, and one for a result that is shared; a follower takes none.
    template <std::invocable F>
    [[nodiscard]] FlightOutcome<T> run(const Key& key, F&& fn) {
        return run(key, FlightPatience{}, std::forward<F>(fn));
    }
    /// As above. `patience` is for following: who leads runs to the end.
    template <std::invocable F>
    [[nodiscard]] FlightOutcome<T> run(const Key& key, const FlightPatience& patience, F&& fn);

    /// Over an executor: the leader's function is submitted to `actor` in `lane`; the answer is there at once.
    ///
    /// `fn` takes the actor's context as in Actor::read() and mutate(); in `heavy_init` it is the one-step form. Followers
    /// cost no worker and block nobody. One of class interactive that joins a run which is still queued as maintenance
    /// raises it: a second, interactive job is submitted with its options, and whichever job starts first runs `fn` (S8).
    /// `options.stop` is this caller's alone, also the leader's (S5): its completion ends with `cancelled` then, where the
    /// stop was requested, and the run goes on. A deadline is the job's, and reaches all.
    ///
    /// **Errors**, in the completion: those of the job, for all, also when it never ran (`queue_full`, `actor_removed`,
    /// `shut_down` and so on); of this caller alone `would_deadlock` inside the key's own run, `out_of_memory` and
    /// `lane_mismatch`. **Progress**: lock-free. **Memory**: one block for a run, one for a result that is shared, and
    /// one for each completion.
    template <class Context, MutateJob<Context> F>
    FlightCompletion<T> run(const Key& key, const Actor<Context>& actor, Lane lane, const JobOptions& options,
                            F&& fn);
    template <class Context, MutateJob<Context> F>
    FlightCompletion<T> run(const Key& key, const Actor<Context>& actor, Lane lane, F&& fn) {
        return run(key, actor, lane, JobOptions{}, std::forward<F>(fn));
    }

    /// Frees the key while its run goes on (S4): later callers start a new one, those that share the old one still get it.
    /// False: no run of that key. **Progress**: lock-free.
    bool forget(const Key& key) {
        return table_.forget(hash_of(key), &key);
    }

    /// Runs that have not ended, forgotten ones too. **Progress**: wait-free.
    [[nodiscard]] std::size_t in_the_air() const noexcept {
        return table_.in_the_air();
    }

private:
    using Record = detail::FlightRecord<Key, T, Equal>;

    [[nodiscard]] static std::uint64_t hash_of(const Key& key) {
        return static_cast<std::uint64_t>(Hash{}(key));
    }
    template <class Made, class... Parts>
    [[nodiscard]] detail::FlightRef enter(const Key& key, bool& led, JobClass job_class, Parts&&... parts);

    detail::FlightTableRef table_;
};

/// A caller's share in a run over an executor: to be waited for, awaited (`co_await`, resume_on(), then(), then_on(): see
/// detail/awaiting.hpp), or dropped, which gives up this share and disturbs nobody. Its callbacks' exceptions are dropped.
///
/// **Thread**: one at a time per handle. It may outlive SingleFlight and executor, but not their memory.
template <class T>
class [[nodiscard("drop it on purpose with .detach()")]] FlightCompletion
    : public detail::Awaitable<FlightCompletion<T>, FlightOutcome<T>> {
public:
    /// An empty handle; every wait on it answers `no_state`.
    FlightCompletion() noexcept = default;
    FlightCompletion(FlightCompletion&& other) noexcept
        : watch_(std::move(other.watch_)),
          refusal_(std::exchange(other.refusal_, std::nullopt)),
          led_(other.led_) {}
    FlightCompletion& operator=(FlightCompletion&& other) noexcept {
        if (this != &other) {
            watch_ = std::move(other.watch_);
            refusal_ = std::exchange(other.refusal_, std::nullopt);
            led_ = other.led_;
        }
        return *this;
    }
    ~FlightCompletion() = default;

    [[nodiscard]] bool valid() const noexcept {
        return watch_.valid() || refusal_.has_value();
    }
    /// Whether wait() would return at once. **Progress**: wait-free.
    [[nodiscard]] bool ready() const noexcept {
        return refusal_.has_value() || watch_.over();
    }
    /// Whether this caller's function is the one that runs.
    [[nodiscard]] bool led() const noexcept {
        return led_;
    }

    /// Waits for the run to end; afterwards the handle is empty. **Progress**: blocks on the run. **Errors**: those of the
    /// run; `would_deadlock` at once, with the handle still valid, on an executor's thread if the run has not ended.
    [[nodiscard]] FlightOutcome<T> wait() {
        return take(watch_.valid() ? watch_.wait(detail::JobHandle::forever) : detail::WaitStatus::no_state);
    }
    /// As wait(), for at most `patience`; then `timed_out`, and it can be waited for again.
    template <class Rep, class Period>
    [[nodiscard]] FlightOutcome<T> wait_for(std::chrono::duration<Rep, Period> patience) {
        return take(watch_.valid() ? watch_.wait(detail::JobHandle::nanoseconds(patience))
                                   : detail::WaitStatus::no_state);
    }
    /// Gives up on purpose. The run goes on.
    void detach() noexcept {
        watch_ = {};
        refusal_.reset();
    }

    /// Made by SingleFlight.
    FlightCompletion(detail::FlightWatch watch, bool led) noexcept : watch_(std::move(watch)), led_(led) {}
    explicit FlightCompletion(Error refusal) noexcept : refusal_(std::move(refusal)) {}

private:
    template <class Source, class Post>
    friend class detail::Awaiter;
    template <class Source, class Post, class F>
    friend class detail::Callback;
    template <class Net, class Source, class Handler, class Fallback>
    friend class detail::AsioWait;

    [[nodiscard]] FlightOutcome<T> take(detail::WaitStatus status) {
        if (!refusal_ &&
            (status == detail::WaitStatus::timed_out || status == detail::WaitStatus::would_deadlock))
            return {Result<FlightValue<T>>(std::unexpect, detail::flight_error(status)), led_};
        return FlightCompletion(std::move(*this)).take_ready();
    }

    // What Awaiter and Callback ask of what they wait for.
    [[nodiscard]] bool attach(detail::Continuation& continuation) noexcept {
        return watch_.valid() && watch_.attach(continuation);
    }
    bool take_back_continuation() noexcept {
        return watch_.take_back_continuation();
    }
    [[nodiscard]] FlightOutcome<T> take_ready() const {
        if (refusal_)
            return {Result<FlightValue<T>>(std::unexpect, *refusal_), false};
        if (!watch_.valid())
            return {Result<FlightValue<T>>(std::unexpect, Error({.code = ErrorCode::no_state})), false};
        if (watch_.gave_up())
            return {Result<FlightValue<T>>(std::unexpect, detail::flight_error(detail::WaitStatus::no_state)),
                    led_};
        return {detail::FlightStored<T>::result_of(watch_.flight()), led_};
    }
    [[nodiscard]] FlightOutcome<T> take_for_callback() const noexcept {
        return take_ready();
    }
    [[nodiscard]] FlightOutcome<T> take_given_up() const {
        return {Result<FlightValue<T>>(std::unexpect, detail::given_up()), led_};
    }
    [[nodiscard]] void* allocate_callback(std::size_t size, std::size_t alignment) const noexcept {
        return watch_.valid() ? watch_.allocate(size, alignment)
                              : ::operator new(size, std::align_val_t(alignment), std::nothrow);
    }
    void free_callback(void* memory, std::size_t size, std::size_t alignment) const noexcept {
        if (watch_.valid())
            watch_.free(memory, size, alignment);
        else
            ::operator delete(memory, std::align_val_t(alignment));
    }
    static void count_callback_that_threw() noexcept {}

    detail::FlightWatch watch_;
    std::optional<Error> refusal_;
    bool led_ = false;
};

// The key's flight: the one that is in the air, or a new one with a record of `Made`. Empty: no memory.
template <class Key, class T, class Hash, class Equal>
template <class Made, class... Parts>
detail::FlightRef SingleFlight<Key, T, Hash, Equal>::enter(const Key& key, bool& led, JobClass job_class,
                                                           Parts&&... parts) {
    const std::uint64_t hash = hash_of(key);
    led = false;
    if (detail::FlightRef found = table_.find(hash, &key))
        return found;
    detail::Flight* const draft = table_.draft(hash, detail::flight_type<Made>, job_class);
    if (draft == nullptr)
        return {};
    try {
        ::new (detail::FlightTableRef::record_of(draft)) Made(key, std::forward<Parts>(parts)...);
    } catch (...) {
        detail::FlightTableRef::discard(draft);
        throw;
    }
    return table_.insert(draft, &key, led);
}

template <class Key, class T, class Hash, class Equal>
template <std::invocable F>
FlightOutcome<T> SingleFlight<Key, T, Hash, Equal>::run(const Key& key, const FlightPatience& patience,
                                                        F&& fn) {
    static_assert(detail::GivesFlight<std::invoke_result_t<F>, T>, "the function must return T or Result<T>");
    bool led = false;
    const detail::FlightRef flight = enter<Record>(key, led, JobClass::interactive);
    if (!flight)
        return {Result<FlightValue<T>>(std::unexpect, Error({.code = ErrorCode::out_of_memory})), false};
    if (led)
        detail::lead_here<detail::FlightStored<T>>(flight, std::forward<F>(fn));
    else if (const auto status = detail::follow(flight, patience.patience, patience.stop);
             status != detail::WaitStatus::done)
        return {Result<FlightValue<T>>(std::unexpect, detail::flight_error(status)), false};
    return {detail::FlightStored<T>::result_of(flight), led};
}

template <class Key, class T, class Hash, class Equal>
template <class Context, MutateJob<Context> F>
FlightCompletion<T> SingleFlight<Key, T, Hash, Equal>::run(const Key& key, const Actor<Context>& actor,
                                                           Lane lane, const JobOptions& options, F&& fn) {
    using Launched = detail::LaunchedRecord<Key, T, Equal, Context, std::decay_t<F>>;
    if (!Launched::allowed_in(lane))
        return FlightCompletion<T>(Error({.code = ErrorCode::lane_mismatch, .actor = actor.id()}));
    if (options.stop.stop_requested())
        return FlightCompletion<T>(detail::flight_error(detail::WaitStatus::no_state));
    bool led = false;
    const detail::FlightRef flight =
        enter<Launched>(key, led, options.job_class, actor, lane, std::forward<F>(fn));
    if (!flight)
        return FlightCompletion<T>(Error({.code = ErrorCode::out_of_memory, .actor = actor.id()}));
    if (!led && flight.runs_here())
        return FlightCompletion<T>(detail::flight_error(detail::WaitStatus::would_deadlock));
    detail::FlightWatch watch(flight);
    if (watch.valid() && options.stop.stop_possible())
        watch.give_up_on(options.stop);
    JobOptions of_the_job = options;
    of_the_job.stop = {};
    if (led)
        flight.submit(detail::first_job, of_the_job);
    else if (options.job_class == JobClass::interactive && flight.raise())
        flight.submit(detail::raised_job, of_the_job);
    if (!watch.valid())
        return FlightCompletion<T>(Error({.code = ErrorCode::out_of_memory, .actor = actor.id()}));
    return FlightCompletion<T>(std::move(watch), led);
}

}  // namespace sluice
