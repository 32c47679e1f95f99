// The two ways to go on when a Completion is ready without holding a thread: a coroutine and a callback.
#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <sluice/detail/continuation.hpp>
#include <sluice/error.hpp>

namespace sluice {

/// Where a continuation is to run: called with a nullary callable of one pointer's size, which is to be called exactly
/// once, on whichever thread. `[&](auto go) { asio::post(io, go); }` is one. It may throw only before it has taken the
/// callable; then the continuation runs on the thread that ended the job. It is moved on that thread, without throwing.
template <class Post>
concept Poster = std::invocable<std::decay_t<Post>&, detail::RunContinuation> &&
                 std::is_nothrow_move_constructible_v<std::decay_t<Post>>;

/// What can be waited for without holding a thread: Completion, FlightCompletion, and what when_all() gives.
template <class Source>
concept AwaitableSource = requires { typename Source::awaited_type; } && std::movable<Source>;

namespace detail {

template <class Net, class Source, class Handler, class Fallback>
class AsioWait;  // asio_wait.hpp

/// What is told to who gave up waiting, where nothing else is known.
[[nodiscard]] inline Error given_up() {
    return Error(
        {.code = ErrorCode::cancelled, .message = "the wait was given up; what was waited for goes on"});
}

/// Runs continuations where the awaited thing ended.
struct RunHere {
    void operator()(RunContinuation go) const noexcept {
        go();
    }
};

/// Has `second` run by `post`. First half of every continuation that is to run elsewhere.
template <class Post>
void hand_over(Post& post, Continuation& second) noexcept {
    if constexpr (std::is_nothrow_invocable_v<Post&, RunContinuation>) {
        std::invoke(post, RunContinuation{&second});
    } else {
        try {
            std::invoke(post, RunContinuation{&second});
        } catch (...) {
            run_continuation(second);
        }
    }
}

/// What `co_await` waits with. Lives in the coroutine's frame, so awaiting needs no memory.
///
/// A coroutine that is suspended here may be destroyed as long as the job has not ended.
template <class Source, class Post>
class Awaiter : Continuation {
public:
    Awaiter(Source&& source, Post post) : source_(std::move(source)), post_(std::move(post)) {}
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    ~Awaiter() {
        if (suspended_)
            source_.take_back_continuation();
    }

    /// Who wants to go on elsewhere does so also if nothing has to be waited for.
    [[nodiscard]] bool await_ready() const noexcept {
        return goes_on_here && nothing_to_wait_for();
    }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<> coroutine) noexcept {
        coroutine_ = coroutine;
        suspended_ = true;
        if constexpr (goes_on_here) {
            run = [](Continuation& self) noexcept { static_cast<Awaiter&>(self).resume(); };
        } else {
            run = [](Continuation& self) noexcept {
                auto& awaiter = static_cast<Awaiter&>(self);
                awaiter.run = [](Continuation& again) noexcept { static_cast<Awaiter&>(again).resume(); };
                Post chosen =
                    std::move(awaiter.post_);  // once it has been called the frame may go at any moment
                hand_over(chosen, awaiter);
            };
        }
        if ((goes_on_here || !nothing_to_wait_for()) && source_.attach(*this))
            return true;
        suspended_ = false;
        if constexpr (!goes_on_here)
            run_continuation(*this);  // the frame may go meanwhile
        return !goes_on_here;
    }
    [[nodiscard]] auto await_resume() {
        return source_.take_ready();
    }

private:
    static constexpr bool goes_on_here = std::same_as<Post, RunHere>;
    [[nodiscard]] bool nothing_to_wait_for() const noexcept {
        return source_.ready() || !source_.valid();
    }
    void resume() noexcept {
        suspended_ = false;
        coroutine_.resume();
    }

    Source source_;
    [[no_unique_address]] Post post_;
    std::coroutine_handle<> coroutine_;
    bool suspended_ = false;
};

/// What `then()` waits with. Lives in the job's own memory where it fits.
template <class Source, class Post, class F>
class Callback : Continuation {
public:
    /// Takes `source` over and calls `fn` with its result once there is one. Throws what moving `fn` and `post` throws,
    /// and std::bad_alloc; `source` is left as it was then.
    template <class G>
    static void start(Source&& source, Post post, G&& fn) {
        void* memory = source.allocate_callback(sizeof(Callback), alignof(Callback));
        if (memory == nullptr)
            throw std::bad_alloc();
        Callback* callback = nullptr;
        try {
            callback = ::new (memory) Callback(std::move(post), std::forward<G>(fn));
        } catch (...) {
            source.free_callback(memory, sizeof(Callback), alignof(Callback));
            throw;
        }
        callback->source_ = std::move(source);
        if (!callback->source_.attach(*callback))
            run_continuation(*callback);
    }

private:
    template <class G>
    Callback(Post post, G&& fn) : post_(std::move(post)), fn_(std::forward<G>(fn)) {
        run = [](Continuation& self) noexcept {
            auto& callback = static_cast<Callback&>(self);
            if constexpr (std::same_as<Post, RunHere>) {
                callback.call();
            } else {
                callback.run = [](Continuation& again) noexcept { static_cast<Callback&>(again).call(); };
                Post chosen = std::move(callback.post_);  // once it has been called the callback may be gone
                hand_over(chosen, callback);
            }
        };
    }

    void call() noexcept {
        Source source = std::move(source_);
        try {
            if constexpr (std::is_member_pointer_v<F>) {
                std::invoke(std::move(fn_), source.take_for_callback());
            } else {  // straight into the parameter: a move that throws would be a callback that is never called
                std::move(fn_)(source.take_for_callback());
            }
        } catch (...) {
            source.count_callback_that_threw();
        }
        std::destroy_at(this);
        source.free_callback(this, sizeof(Callback), alignof(Callback));
    }

    Source source_;
    [[no_unique_address]] Post post_;
    F fn_;
};

/// What everything offers that a coroutine can wait for. `Source` derives from this and has, for Awaiter and AsioWait:
/// ready, valid, attach, take_back_continuation, take_ready, take_for_callback, take_given_up (after its continuation was
/// taken back).
template <class Source, class Outcome>
class CoAwaitable {
public:
    /// What is there in the end.
    using awaited_type = Outcome;

    /// `co_await std::move(completion)` gives the outcome without holding a thread.
    ///
    /// The coroutine goes on where the awaited thing has ended: for a job on its worker, at once, while the actor's lane
    /// may still be taken, so a blocking wait there for a job of the same actor answers `would_deadlock`. Go on
    /// elsewhere with resume_on(), and do so for whatever takes long. What has ended already, or was refused, suspends
    /// nothing. A suspended coroutine may be destroyed as long as what it waits for has not ended. **Memory**: none;
    /// what waits lies in the coroutine's frame. **Cost**: one compare-and-swap.
    auto operator co_await() && {
        return Awaiter<Source, RunHere>(std::move(self()), {});
    }
    /// As co_await, and the coroutine goes on where `post` runs what it is given (see Poster), also if what it awaits has
    /// ended already or was refused.
    template <Poster Post>
    [[nodiscard]] auto resume_on(Post&& post) && {
        return Elsewhere<std::decay_t<Post>>{std::move(self()), std::forward<Post>(post)};
    }

private:
    friend Source;
    template <class S, class O>
    friend class Awaitable;
    CoAwaitable() = default;

    template <class Post>
    struct Elsewhere {
        Source source;
        [[no_unique_address]] Post post;
        auto operator co_await() && {
            return Awaiter<Source, Post>(std::move(source), std::move(post));
        }
    };
    [[nodiscard]] Source& self() noexcept {
        return static_cast<Source&>(*this);
    }
};

/// What everything that ends with a result offers besides waiting for it. `Source` has, for Callback, beside the above:
/// allocate_callback, free_callback, count_callback_that_threw.
template <class Source, class Outcome>
class Awaitable : public CoAwaitable<Source, Outcome> {
public:
    /// Calls `fn(outcome)` once there is one. The handle is empty from here on.
    ///
    /// **Thread**: the one that ended the job, as for co_await; this one, before the call returns, if it has ended
    /// already or was refused, but from inside a callback only once that one has returned. Callbacks that cause each
    /// other run one after the other, so that chains of any length need no stack; one that blocks for what a later one
    /// does waits for ever. **Errors**: what moving `fn` throws, and std::bad_alloc: the handle stays as it was. What
    /// `fn` throws is dropped, and counted in Snapshot::callbacks_threw. `fn` is called in any case: a result that
    /// throws when it is moved arrives as `job_threw`. **Memory**: none as long as `fn` fits into what the job's closure and result leave of
    /// `inline_payload_bytes`; otherwise one allocation, and one for a refusal.
    template <std::invocable<Outcome> F>
    void then(F&& fn) && {
        Callback<Source, RunHere, std::decay_t<F>>::start(std::move(this->self()), {}, std::forward<F>(fn));
    }
    /// As then(), and `fn` runs where `post` runs what it is given (see Poster).
    template <Poster Post, std::invocable<Outcome> F>
    void then_on(Post&& post, F&& fn) && {
        Callback<Source, std::decay_t<Post>, std::decay_t<F>>::start(
            std::move(this->self()), std::forward<Post>(post), std::forward<F>(fn));
    }

private:
    friend Source;
    Awaitable() = default;
};

}  // namespace detail
}  // namespace sluice
