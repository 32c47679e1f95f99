// Goal: co_await takes a completion over, and says so: one that is still somebody's cannot be awaited by oversight (E19).
#include <coroutine>
#include <utility>

#include <sluice/executor.hpp>

struct Started {
    struct promise_type {
        Started get_return_object() {
            return {};
        }
        std::suspend_never initial_suspend() noexcept {
            return {};
        }
        std::suspend_never final_suspend() noexcept {
            return {};
        }
        void return_void() {}
        void unhandled_exception() {}
    };
};

Started use(sluice::Completion<int> job) {
#ifdef SLUICE_TEST_MISUSE
    const auto result = co_await job;
#else
    const auto result = co_await std::move(job);
#endif
    static_cast<void>(result);
}
