// Many completions as one: what a batch submits together can be waited for together.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/completion.hpp>
#include <sluice/detail/awaiting.hpp>
#include <sluice/error.hpp>

namespace sluice {

namespace detail {

/// What waits for many. Each completion has a continuation here; the last one to end runs what waits.
///
/// Who gives up while some have ended and others have not (a coroutine that is destroyed) leaves the state to those
/// whose continuation is just about to run: the last of all frees it, and only then the handles.
template <class T>
class [[nodiscard]] Gathering : public Awaitable<Gathering<T>, std::vector<Result<T>>> {
public:
    Gathering() noexcept = default;  // nothing, as one that was moved from
    explicit Gathering(std::vector<Completion<T>> completions) : state_(new State(std::move(completions))) {}

    /// Whether wait() would return at once. **Cost**: linear.
    [[nodiscard]] bool ready() const noexcept {
        if (!state_)
            return true;
        for (const Part& part : state_->parts) {
            if (part.completion.valid() && !part.completion.ready())
                return false;
        }
        return true;
    }
    /// Waits for each in turn, as Completion::wait(); results in the order of the completions, and `would_deadlock` for
    /// those that could not be waited for here. The handle is empty afterwards.
    [[nodiscard]] std::vector<Result<T>> wait() {
        return take([](Completion<T>& completion) { return completion.wait(); });
    }

private:
    template <class Source, class Post>
    friend class Awaiter;
    template <class Source, class Post, class F>
    friend class Callback;
    template <class Net, class Source, class Handler, class Fallback>
    friend class AsioWait;

    struct State;
    struct Part : Continuation {
        State* all = nullptr;
        Completion<T> completion;
    };
    struct State {
        explicit State(std::vector<Completion<T>> completions)
            : parts(completions.size()), pending(completions.size() + 1) {
            results.reserve(parts.size());
            for (std::size_t i = 0; i < parts.size(); ++i) {
                parts[i].all = this;
                parts[i].completion = std::move(completions[i]);
                parts[i].run = [](Continuation& self) noexcept { static_cast<Part&>(self).all->ended(); };
            }
        }
        void ended() noexcept {
            if (pending.fetch_sub(1) == 1)
                run_continuation(*whole);
            let_go();
        }
        void let_go() noexcept {
            if (holders.fetch_sub(1) == 1)
                delete this;
        }

        std::vector<Part> parts;
        std::vector<Result<T>> results;  // room for them: taking them cannot fail for want of memory
        // Orders are the default: each end must see all that the others did.
        // Those that have not ended, and one for attach() itself, so that no other is the last before all are attached.
        std::atomic<std::size_t> pending;
        // The handle, and each part whose continuation will run.
        std::atomic<std::size_t> holders{1};
        Continuation* whole = nullptr;
    };
    struct LetGo {
        void operator()(State* state) const noexcept {
            state->let_go();
        }
    };

    [[nodiscard]] bool valid() const noexcept {
        return state_ != nullptr;
    }
    [[nodiscard]] bool attach(Continuation& whole) noexcept {
        State& state = *state_;
        state.whole = &whole;
        std::size_t ended = 1;
        for (Part& part : state.parts) {
            state.holders.fetch_add(1);
            if (part.completion.attach(part))
                continue;
            state.holders.fetch_sub(1);
            ++ended;
        }
        return state.pending.fetch_sub(ended) != ended;  // if so, all may be gone by now
    }
    bool take_back_continuation() noexcept {
        bool any = false;
        for (Part& part : state_->parts) {
            if (!part.completion.take_back_continuation())
                continue;
            state_->holders.fetch_sub(1);  // never the last: the handle is one
            any = true;
        }
        return any;  // then `pending` never reaches zero
    }
    template <class Take>
    [[nodiscard]] std::vector<Result<T>> take(Take take_one) {
        if (!state_)
            return {};
        const std::unique_ptr<State, LetGo> state = std::move(state_);
        std::vector<Result<T>> results = std::move(state->results);
        for (Part& part : state->parts) {
            try {
                results.push_back(take_one(part.completion));
            } catch (...) {  // moving this one's result; there is room for it
                results.push_back(Result<T>(std::unexpect, Error({.code = ErrorCode::job_threw,
                                                                  .exception = std::current_exception()})));
            }
        }
        return results;
    }
    [[nodiscard]] std::vector<Result<T>> take_ready() {
        return take([](Completion<T>& completion) { return completion.take_ready(); });
    }
    [[nodiscard]] std::vector<Result<T>> take_for_callback() noexcept {
        return take_ready();
    }
    // Parts that have ended may not have run their continuation yet, so they are left to it.
    [[nodiscard]] std::vector<Result<T>> take_given_up() {
        std::vector<Result<T>> results = std::move(state_->results);
        for (std::size_t i = 0; i < state_->parts.size(); ++i)
            results.push_back(Result<T>(std::unexpect, given_up()));
        state_.reset();
        return results;
    }
    [[nodiscard]] static void* allocate_callback(std::size_t size, std::size_t alignment) noexcept {
        return ::operator new(size, std::align_val_t(alignment), std::nothrow);
    }
    static void free_callback(void* memory, std::size_t /*size*/, std::size_t alignment) noexcept {
        ::operator delete(memory, std::align_val_t(alignment));
    }
    static void count_callback_that_threw() noexcept {}

    std::unique_ptr<State, LetGo> state_;
};

}  // namespace detail

/// All of `completions` as one: `wait()`, `co_await`, `then()` and the rest give a `std::vector<Result<T>>` in their
/// order, once the last has ended. An empty vector, and empty or refused completions, count as ended.
///
/// Dropping it drops all the handles. **Memory**: three allocations for the whole, results included, and one for a
/// callback. Throws std::bad_alloc.
template <class T>
[[nodiscard]] detail::Gathering<T> when_all(std::vector<Completion<T>> completions) {
    return detail::Gathering<T>(std::move(completions));
}

}  // namespace sluice
