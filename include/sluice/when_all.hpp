// Many completions as one: what a batch submits together can be waited for together.
#pragma once

#include <atomic>
#include <cstddef>
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
template <class T>
class [[nodiscard]] Gathering : public Awaitable<Gathering<T>, std::vector<Result<T>>> {
public:
    explicit Gathering(std::vector<Completion<T>> completions)
        : completions_(std::move(completions)), state_(std::make_unique<State>(completions_.size())) {}

    /// Whether wait() would return at once. **Cost**: linear.
    [[nodiscard]] bool ready() const noexcept {
        for (const auto& completion : completions_) {
            if (completion.valid() && !completion.ready())
                return false;
        }
        return true;
    }
    /// Waits for each in turn, as Completion::wait(); results in the order of the completions.
    [[nodiscard]] std::vector<Result<T>> wait() {
        std::vector<Result<T>> results;
        results.reserve(completions_.size());
        for (auto& completion : completions_)
            results.push_back(completion.wait());
        return results;
    }

private:
    template <class Source, class Post>
    friend class Awaiter;
    template <class Source, class Post, class F>
    friend class Callback;

    struct State;
    struct Part : Continuation {
        State* all = nullptr;
    };
    struct State {
        explicit State(std::size_t count) : parts(count), pending(count + 1) {}
        std::vector<Part> parts;
        // Those that have not ended, and one for attach() itself, so that no other is the last before all are attached.
        // Orders are the default: each end must see all that the others did.
        std::atomic<std::size_t> pending;
        Continuation* whole = nullptr;
    };

    [[nodiscard]] static bool valid() noexcept {
        return true;
    }
    [[nodiscard]] bool attach(Continuation& whole) noexcept {
        State& state = *state_;
        state.whole = &whole;
        std::size_t ended = 1;
        for (std::size_t i = 0; i < completions_.size(); ++i) {
            Part& part = state.parts[i];
            part.all = &state;
            part.run = [](Continuation& self) noexcept {
                State& all = *static_cast<Part&>(self).all;
                if (all.pending.fetch_sub(1) == 1)
                    run_continuation(*all.whole);
            };
            if (!completions_[i].attach(part))
                ++ended;
        }
        return state.pending.fetch_sub(ended) != ended;  // if so, all may be gone by now
    }
    bool take_back_continuation() noexcept {
        bool all = true;
        for (auto& completion : completions_)
            all &= completion.take_back_continuation();
        return all;
    }
    [[nodiscard]] std::vector<Result<T>> take_ready() {
        std::vector<Result<T>> results;
        results.reserve(completions_.size());
        for (auto& completion : completions_)
            results.push_back(completion.take_ready());
        return results;
    }
    [[nodiscard]] std::vector<Result<T>> take_ready_and_keep() {
        return take_ready();
    }
    [[nodiscard]] static void* allocate_callback(std::size_t size, std::size_t alignment) noexcept {
        return ::operator new(size, std::align_val_t(alignment), std::nothrow);
    }
    static void free_callback(void* memory, std::size_t /*size*/, std::size_t alignment) noexcept {
        ::operator delete(memory, std::align_val_t(alignment));
    }
    static void count_callback_that_threw() noexcept {}

    std::vector<Completion<T>> completions_;
    std::unique_ptr<State> state_;
};

}  // namespace detail

/// All of `completions` as one: `wait()`, `co_await`, `then()` and the rest give a `std::vector<Result<T>>` in their
/// order, once the last has ended. An empty vector, and empty or refused completions, count as ended.
///
/// Dropping it drops all the handles. **Memory**: one allocation for the whole, one for the results, and one for a
/// callback. Throws std::bad_alloc.
template <class T>
[[nodiscard]] detail::Gathering<T> when_all(std::vector<Completion<T>> completions) {
    return detail::Gathering<T>(std::move(completions));
}

}  // namespace sluice
