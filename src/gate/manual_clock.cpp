// Time that is moved by hand. The lock lets a test set timers from several threads; it is not held while calls are made.

#include "gate/timer_set.hpp"
#include "platform/mutex.hpp"
#include "sync/atomic.hpp"

#include <sluice/clock.hpp>

#include <algorithm>
#include <new>

namespace sluice {

Clock::~Clock() = default;

struct ManualClock::State {
    platform::Mutex mutex;  // a test's threads may set timers; no job waits here, see tests/tidy/locks.txt
    detail::TimerSet timers SLUICE_GUARDED_BY(mutex);
    sync::atomic<std::int64_t> now;  // seq_cst: it is a test's idea of one order for everybody
};

ManualClock::ManualClock(std::chrono::nanoseconds start) : state_(std::make_unique<State>()) {
    state_->now.store(start.count());
}
ManualClock::~ManualClock() = default;

std::chrono::nanoseconds ManualClock::now() noexcept {
    return std::chrono::nanoseconds(state_->now.load());
}

TimerId ManualClock::set_timer(std::chrono::nanoseconds after, TimerCall call) noexcept {
    try {
        const platform::MutexLock lock(state_->mutex);
        return state_->timers.set(detail::due_after(state_->now.load(), after.count()), call);
    } catch (const std::bad_alloc&) {
        return TimerId::none;
    }
}

bool ManualClock::clear_timer(TimerId timer) noexcept {
    std::optional<TimerCall> call;  // destroyed after the lock is given back
    const platform::MutexLock lock(state_->mutex);
    call = state_->timers.clear(timer);
    return call.has_value();
}

std::size_t ManualClock::advance(std::chrono::nanoseconds by) {
    return advance_to(std::chrono::nanoseconds(detail::due_after(now().count(), by.count())));
}

std::size_t ManualClock::advance_to(std::chrono::nanoseconds moment) {
    std::size_t calls = 0;
    for (;;) {
        std::optional<TimerCall> call;
        {
            const platform::MutexLock lock(state_->mutex);
            const std::int64_t due = state_->timers.next_due();
            call = state_->timers.take_due(moment.count());
            const std::int64_t reached = call ? due : moment.count();
            state_->now.store(std::max(state_->now.load(), reached));
        }
        if (!call)
            return calls;
        ++calls;
        (*call)();
    }
}

std::size_t ManualClock::timers() const noexcept {
    const platform::MutexLock lock(state_->mutex);
    return state_->timers.size();
}

std::chrono::nanoseconds ManualClock::next_due() const noexcept {
    const platform::MutexLock lock(state_->mutex);
    return std::chrono::nanoseconds(state_->timers.next_due());
}

}  // namespace sluice
