#pragma once

// Stops a thread wherever it is inside a call, and lets it go on: a timer of its own sends it a signal whose handler does not return
// until it is told to. The thread arms the timer itself, just before the call, so the signal finds it there however busy the machine
// is; one that comes too early or too late does nothing.
//
// Roles: the *victim* calls within(); the *suspender*, another thread, calls suspend() and resume(). One of each at a time. The handler uses
// lock-free atomics and nanosleep() alone, which a handler may.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <ucontext.h>
#include <unistd.h>

namespace sluice::test {

class Suspender {
public:
    /// On the victim's thread.
    Suspender() {
        struct sigaction action{};
        action.sa_sigaction = stand_still;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        sigemptyset(&action.sa_mask);
        sigaction(SIGUSR1, &action, nullptr);
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = SIGUSR1;
        event._sigev_un._tid = ::gettid();  // as the C library of Debian 12 spells sigev_notify_thread_id
        if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
            throw std::runtime_error("no timer for this thread");
    }
    ~Suspender() {
        ::timer_delete(timer_);
    }
    Suspender(const Suspender&) = delete;
    Suspender& operator=(const Suspender&) = delete;

    /// The victim: a signal comes after this time.
    void arm(std::uint64_t nanoseconds) noexcept {
        const itimerspec when{{0, 0}, {0, static_cast<long>(nanoseconds + 1)}};
        ::timer_settime(timer_, 0, &when, nullptr);
    }
    /// The victim: makes the call, and stands somewhere in it if the suspender wants that and the signal falls into it.
    template <class Call>
    auto within(Call call) {
        inside.store(true);
        auto result = call();
        inside.store(false);
        return result;
    }

    /// Any thread: stops the victim wherever it is by then, inside a call or not.
    void stop_anywhere_after(std::uint64_t nanoseconds) noexcept {
        inside.store(true);
        arm(nanoseconds);
    }

    /// Returns when the victim stands; false: it did not in this time.
    [[nodiscard]] static bool suspend(std::chrono::nanoseconds at_most) {
        const auto deadline = std::chrono::steady_clock::now() + at_most;
        wanted.store(true);
        while (!stands.load()) {
            if (std::chrono::steady_clock::now() > deadline && wanted.exchange(false))
                return false;
            std::this_thread::yield();
        }
        return true;
    }
    static void resume() {
        stands.store(false);
    }
    /// The instruction at which it stands; 0 where this file does not know how to tell.
    [[nodiscard]] static std::uint64_t instruction() {
        return at.load();
    }

private:
    static void stand_still(int /*signal*/, siginfo_t* /*info*/, void* context) {
        // Whoever takes the wish fulfils it: the suspender takes it back by the same step.
        if (!inside.load() || !wanted.exchange(false))
            return;
        const int error = errno;
#ifdef __x86_64__
        at.store(static_cast<std::uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]));
#else
        static_cast<void>(context);
#endif
        stands.store(true);
        while (stands.load()) {
            const timespec a_little{0, 20'000};
            ::nanosleep(&a_little, nullptr);
        }
        errno = error;
    }

    timer_t timer_{};
    static inline std::atomic<bool> inside{false};
    static inline std::atomic<bool> wanted{false};
    static inline std::atomic<bool> stands{false};
    static inline std::atomic<std::uint64_t> at{0};
    static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);
};

}  // namespace sluice::test
