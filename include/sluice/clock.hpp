// Time as the library's parts see it: what it is now, and a call when some of it has passed. A service puts its own event loop
// underneath, a test moves time by hand.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <sluice/detail/export.hpp>

namespace sluice {

/// A set timer. Never zero; never the handle of another timer of the same clock.
enum class TimerId : std::uint64_t { none = 0 };

/// What is called when a timer runs out: once, on a thread of the clock's choice, with no lock of the clock held.
using TimerCall = std::move_only_function<void()>;

/// Where a gate gets its time from. Must outlive whatever was given it.
///
/// **Thread**: every function from any thread, also from inside a TimerCall. **Errors**: none of them throws; what cannot be set is
/// answered with TimerId::none, and the caller goes on without the timer.
class SLUICE_API Clock {
public:
    Clock() = default;
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;
    virtual ~Clock();

    /// Time since some fixed point; never goes back. **Progress**: wait-free.
    [[nodiscard]] virtual std::chrono::nanoseconds now() noexcept = 0;

    /// Calls `call` once, `after` from now (at once, but not from inside this function, if that is zero or less).
    /// **Progress**: may take a lock that the clock's own thread takes too.
    [[nodiscard]] virtual TimerId set_timer(std::chrono::nanoseconds after, TimerCall call) noexcept = 0;

    /// Forgets a timer and destroys its call. False: there is none of that handle any more; its call was made or is being made,
    /// which this does not wait for.
    virtual bool clear_timer(TimerId timer) noexcept = 0;
};

/// The system's steady clock, and one thread for the timers of the whole process, started when the first is set. It sleeps
/// until the next one is due, and without a limit while none is set.
[[nodiscard]] SLUICE_API Clock& system_clock() noexcept;

/// A clock that stands still until it is moved: for tests and simulations.
///
/// **Thread**: any; but only one at a time may move it.
class SLUICE_API ManualClock final : public Clock {
public:
    explicit ManualClock(std::chrono::nanoseconds start = {});
    ~ManualClock() override;

    [[nodiscard]] std::chrono::nanoseconds now() noexcept override;
    [[nodiscard]] TimerId set_timer(std::chrono::nanoseconds after, TimerCall call) noexcept override;
    bool clear_timer(TimerId timer) noexcept override;

    /// Moves time on and makes the calls that become due, on this thread, each at its own time: in order of time, and of setting
    /// for the same time. Timers that they set are among them. Returns how many calls were made.
    std::size_t advance(std::chrono::nanoseconds by);
    /// As advance(), to a moment; nothing if that is past.
    std::size_t advance_to(std::chrono::nanoseconds moment);

    /// Timers that are set.
    [[nodiscard]] std::size_t timers() const noexcept;
    /// When the next one is due; `nanoseconds::max()` if none is set.
    [[nodiscard]] std::chrono::nanoseconds next_due() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sluice
