// The steady clock of the system, and the one thread that makes the calls of all timers.
//
// Roles. *Setters*: any thread. *Timer thread*: started by the first setter, takes out what is due and calls it.
// What is shared is the set, under `mutex_`, which is held to look at the set and never while users' code runs. The thread sleeps on
// its parker until the earliest timer; a setter whose timer becomes the earliest wakes it. The token of the parker closes the window
// between the thread's look and its sleep.
//
// There is one for the process, and it is never destroyed: its thread may be in a call when main() returns.

#include "gate/timer_set.hpp"
#include "memory/default_resource.hpp"
#include "platform/mutex.hpp"
#include "platform/thread.hpp"
#include "platform/thread_start.hpp"
#include "sync/atomic.hpp"
#include "sync/parker.hpp"

#include <sluice/clock.hpp>

#include <exception>
#include <thread>

namespace sluice {

namespace {

class SystemClock final : public Clock {
public:
    [[nodiscard]] std::chrono::nanoseconds now() noexcept override {
        return std::chrono::nanoseconds(sync::now_ns());
    }

    [[nodiscard]] TimerId set_timer(std::chrono::nanoseconds after, TimerCall call) noexcept override {
        const std::int64_t due = detail::due_after(sync::now_ns(), after.count());
        TimerId timer = TimerId::none;
        bool is_earliest = false;
        try {
            const platform::MutexLock lock(mutex_);
            if (!started_) {
                platform::start_thread([this] { work(); }).detach();
                started_ = true;
            }
            is_earliest = due < timers_.next_due();
            timer = timers_.set(due, call);
        } catch (const std::exception&) {  // no thread, or no memory
            return TimerId::none;
        }
        if (is_earliest)
            parker_.unpark();
        return timer;
    }

    bool clear_timer(TimerId timer) noexcept override {
        std::optional<TimerCall> call;  // destroyed after the lock is given back
        const platform::MutexLock lock(mutex_);
        call = timers_.clear(timer);
        return call.has_value();
    }

private:
    [[noreturn]] void work() noexcept {
        memory::prepare_thread();
        platform::set_thread_name("sluice-timer");
        for (;;) {
            std::optional<TimerCall> call;
            std::int64_t due = detail::TimerSet::never;
            {
                const platform::MutexLock lock(mutex_);
                call = timers_.take_due(sync::now_ns());
                due = timers_.next_due();
            }
            if (call)
                (*call)();
            else if (due == detail::TimerSet::never)
                parker_.park();
            else if (parker_.park_for(due - sync::now_ns()))
                continue;  // there is an earlier one
        }
    }

    platform::Mutex mutex_;  // no ticket and no job takes it on its way; see tests/tidy/locks.txt
    detail::TimerSet timers_ SLUICE_GUARDED_BY(mutex_);
    bool started_ SLUICE_GUARDED_BY(mutex_) = false;
    sync::Parker parker_;
};

}  // namespace

Clock& system_clock() noexcept {
    static SystemClock& clock = *new SystemClock;  // see above
    return clock;
}

}  // namespace sluice
