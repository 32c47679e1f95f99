#pragma once

// What the tests of waiting without a thread share: a coroutine that starts at once and belongs to whoever holds its
// handle, an executor of the user's own with one thread, and a result that throws when it is moved.

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "executor/harness.hpp"

namespace sluice::test {

/// A coroutine that runs until its first suspension at once. Its frame goes at its end, or by destroy().
class Detached {
public:
    struct promise_type {
        Detached get_return_object() {
            return Detached(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_never initial_suspend() noexcept {
            return {};
        }
        std::suspend_never final_suspend() noexcept {
            return {};
        }
        void return_void() noexcept {}
        void unhandled_exception() noexcept {
            std::terminate();
        }
    };
    /// Only while it is suspended and what it waits for cannot end.
    void destroy() {
        coroutine_.destroy();
    }

private:
    explicit Detached(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
    std::coroutine_handle<promise_type> coroutine_;
};

/// A user's executor: runs what is posted, in order, on a thread of its own; all of it, before it goes.
class Loop {
public:
    /// A Poster.
    [[nodiscard]] auto poster() {
        return [this](auto go) {
            // All of it under the lock: as soon as it runs, the loop may go.
            const std::scoped_lock lock(mutex_);
            waiting_.emplace_back(go);
            posted_.notify_one();
        };
    }
    [[nodiscard]] bool is_this_thread() const {
        return std::this_thread::get_id() == thread_.get_id();
    }

private:
    void run(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (posted_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
            const std::function<void()> next = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            next();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any posted_;
    std::deque<std::function<void()>> waiting_;
    std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

/// A result that can be made but not moved.
struct MoveThrows {
    MoveThrows() = default;
    MoveThrows(MoveThrows&& /*other*/) {
        throw std::runtime_error("moved");
    }
    MoveThrows& operator=(MoveThrows&&) = delete;
    ~MoveThrows() = default;
};

}  // namespace sluice::test
