// What a flight keeps beside its words: the key, the result, and over an executor the function and where it runs.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <sluice/actor.hpp>
#include <sluice/detail/flight.hpp>
#include <sluice/error.hpp>

namespace sluice::detail {

template <class R>
inline constexpr bool is_result = false;
template <class U>
inline constexpr bool is_result<std::expected<U, Error>> = true;

/// Whether a function that returns R can give a run its T.
template <class R, class T>
concept GivesFlight = (std::is_void_v<T> && (std::is_void_v<R> || std::same_as<R, Result<void>>)) ||
                      (!std::is_void_v<T> && (std::same_as<R, T> || std::convertible_to<R, T> ||
                                              (is_result<R> && !std::same_as<R, Result<void>>)));

/// The result of a run, as it is kept and as it is handed out.
template <class T>
class FlightStored {
    // One allocation for the result and its count; made from what the function returns, without a move.
    struct Holder {
        template <class Make>
        explicit Holder(Make& make) : value(make()) {}
        T value;
    };

public:
    static constexpr bool copied =
        std::is_trivially_copyable_v<T> && std::copy_constructible<T> && sizeof(T) <= 2 * sizeof(void*);
    using Value = std::conditional_t<copied, T, std::shared_ptr<const T>>;

    /// Has `make` give the value, or returns the error that it gave. Throws what it throws.
    template <class Make>
    [[nodiscard]] std::optional<Error> fill(std::pmr::memory_resource* memory, Make&& make) {
        using R = std::invoke_result_t<Make&>;
        if constexpr (is_result<R>) {
            R result = make();
            if (!result)
                return std::move(result).error();
            const auto taken = [&]() -> T { return *std::move(result); };
            keep(memory, taken);
        } else {
            keep(memory, make);
        }
        return std::nullopt;
    }
    [[nodiscard]] static Result<Value> result_of(const FlightRef& flight) {
        if (flight.failed())
            return Result<Value>(std::unexpect, flight.error());
        return *static_cast<FlightStored*>(flight.result())->value_;
    }

private:
    template <class Make>
    void keep(std::pmr::memory_resource* memory, Make& make) {
        if constexpr (copied) {
            value_.emplace(make());
        } else {
            auto holder = std::allocate_shared<Holder>(std::pmr::polymorphic_allocator<>(memory), make);
            const T* const value = &holder->value;
            value_.emplace(std::move(holder), value);
        }
    }

    std::optional<Value> value_;
};

template <>
class FlightStored<void> {
public:
    using Value = void;

    template <class Make>
    [[nodiscard]] std::optional<Error> fill(std::pmr::memory_resource* /*memory*/, Make&& make) {
        if constexpr (std::is_void_v<std::invoke_result_t<Make&>>) {
            make();
        } else if (Result<void> result = make(); !result) {
            return std::move(result).error();
        }
        return std::nullopt;
    }
    [[nodiscard]] static Result<void> result_of(const FlightRef& flight) {
        return flight.failed() ? Result<void>(std::unexpect, flight.error()) : Result<void>();
    }
};

template <class Made>
inline constexpr FlightType flight_type{
    .size = sizeof(Made),
    .alignment = alignof(Made),
    .is_of = [](const void* record,
                const void* key) noexcept { return static_cast<const Made*>(record)->is_of(key); },
    .destroy = [](void* record) noexcept { static_cast<Made*>(record)->~Made(); },
    .result = [](void* record) noexcept -> void* { return &static_cast<Made*>(record)->stored; },
    .submit = Made::submit,
};

/// A run of the standing-alone form.
template <class Key, class T, class Equal>
struct FlightRecord {
    explicit FlightRecord(const Key& of) : key(of) {}
    [[nodiscard]] bool is_of(const void* other) const noexcept {
        return Equal{}(key, *static_cast<const Key*>(other));
    }
    static constexpr FlightType::Submit submit = nullptr;

    Key key;
    FlightStored<T> stored;
};

/// Who may claim a flight; see FlightRef::claim().
inline constexpr std::uint8_t leader_itself = 1;
inline constexpr std::uint8_t first_job = 2;
inline constexpr std::uint8_t raised_job = 3;

/// A run over an executor. The function goes with its run; the actor stays, for a raise may be looking at it.
template <class Key, class T, class Equal, class Context, class F>
struct LaunchedRecord {
    template <class G>
    LaunchedRecord(const Key& of, const Actor<Context>& on, Lane in, G&& function)
        : key(of), actor(on), lane(in), fn(std::in_place, std::forward<G>(function)) {}
    [[nodiscard]] bool is_of(const void* other) const noexcept {
        return Equal{}(key, *static_cast<const Key*>(other));
    }

    static constexpr bool reads = ReadJob<F, Context>;
    [[nodiscard]] static constexpr bool allowed_in(Lane lane) noexcept {
        return reads || lane == Lane::mutating;
    }
    using Returned = std::invoke_result_t<F, std::conditional_t<reads, const Context, Context>&>;
    static_assert(GivesFlight<Returned, T>, "the function must return T or Result<T>");

    /// The job: runs the function unless another one has begun to.
    template <class Seen>
    struct Job {
        FlightRef flight;
        std::uint8_t who;
        void operator()(Seen& context) const {
            if (!flight.claim(who))
                return;
            auto& record = *static_cast<LaunchedRecord*>(flight.record());
            const FlightRunsHere here(flight);
            F run = *std::exchange(record.fn, std::nullopt);
            record.returned = record.stored.fill(
                flight.memory(), [&]() -> decltype(auto) { return std::invoke(std::move(run), context); });
        }
    };

    /// Submits one of the flight's jobs. Its callback lies in the job's own memory, so it cannot fail.
    static void submit(const FlightRef& flight, std::uint8_t who, const JobOptions& options) {
        Completion<void> job = static_cast<LaunchedRecord*>(flight.record())->dispatch(flight, who, options);
        if (job.ready()) {
            settle(flight, who, job.wait());
            return;
        }
        std::move(job).then([flight, who](const Result<void>& end) { settle(flight, who, end); });
    }

    Key key;
    FlightStored<T> stored;
    Actor<Context> actor;
    Lane lane;
    std::optional<F> fn;            ///< whoever claims the flight
    std::optional<Error> returned;  ///< as `fn`

private:
    [[nodiscard]] Completion<void> dispatch(const FlightRef& flight, std::uint8_t who,
                                            const JobOptions& options) const {
        if constexpr (reads) {
            const Job<const Context> job{flight, who};
            switch (lane) {
                case Lane::pure_read:
                    return actor.read(options, job);
                case Lane::serial_status:
                    return actor.status(options, job);
                case Lane::heavy_init:
                    return actor.build(options, job);
                case Lane::mutating:
                    break;
            }
        }
        return actor.mutate(options, Job<Context>{flight, who});
    }

    // A job of the flight has ended. If it ran the function, or was the last that could have, so has the flight.
    static void settle(const FlightRef& flight, std::uint8_t who, const Result<void>& end) {
        auto& record = *static_cast<LaunchedRecord*>(flight.record());
        if (flight.claimed_by(who)) {
            if (!end)
                flight.land(end.error());
            else if (record.returned)
                flight.land(*record.returned);
            else
                flight.land();
        } else if (!end && flight.job_did_not_run()) {
            record.fn.reset();
            flight.land(end.error());
        }
    }
};

/// Runs the function of a flight on this thread, in place.
template <class Stored, class F>
void lead_here(const FlightRef& flight, F&& fn) {
    (void)flight.claim(leader_itself);
    std::optional<Error> error;
    try {
        const FlightRunsHere here(flight);
        error = static_cast<Stored*>(flight.result())->fill(flight.memory(), [&]() -> decltype(auto) {
            return std::invoke(std::forward<F>(fn));
        });
    } catch (...) {
        error.emplace(Error::Parts{.code = ErrorCode::job_threw, .exception = std::current_exception()});
    }
    if (error)
        flight.land(*std::move(error));
    else
        flight.land();
}

/// Waits for a flight that somebody else leads. `no_state`: a stop was requested.
[[nodiscard]] inline WaitStatus follow(const FlightRef& flight,
                                       std::optional<std::chrono::nanoseconds> patience,
                                       const std::stop_token& stop) {
    const std::int64_t nanoseconds = patience ? JobHandle::nanoseconds(*patience) : JobHandle::forever;
    if (!stop.stop_possible())
        return flight.wait(nanoseconds, nullptr, nullptr);
    const std::stop_callback wakes(stop, [&flight] { flight.nudge(); });
    const auto requested = [](const void* token) {
        return static_cast<const std::stop_token*>(token)->stop_requested();
    };
    return flight.wait(nanoseconds, requested, &stop);
}

}  // namespace sluice::detail
