#pragma once

// The scheduler's home: the thread that takes turns when nobody else does, and watches over what was handed out.
//
// Under `dedicated` it alone holds the role: it is the one member of a lookout of its own (sync/lookout.hpp), which
// submitters and workers wake.
// Under `lent` it sleeps until its alarm is armed (sync/alarm.hpp): by who relies on a looker that may be inside a job, by a
// worker that enters a job with a claimed rest behind it, and by whoever found that all workers are inside long jobs. Armed, it
// looks every tick, less often while all goes well. Only if nothing has moved since the last look does it take a turn: it
// drains what nobody drained, and takes back the rests of batches that stand behind a job which is longer than expected (E32).
// A worker that is inside the same job as at the last look counts as no looker from then on. After some ticks without anything
// that waits it turns the alarm off and sleeps.
//
// Under either policy it sleeps no longer than to the next deadline of a queued job, and then takes a turn (E24).
//
// Roles. Any thread: watch(), look_now(), stop(). Home thread: the rest.

#include "sync/alarm.hpp"
#include "sync/lookout.hpp"

#include <cstdint>
#include <thread>
#include <vector>

namespace sluice::detail {

class Engine;
struct ThreadSlot;

class Home {
public:
    /// How often an armed home looks while somebody stands still, or is inside a run that takes long. A rest that stands
    /// still is revoked at the second look at the latest: a tiny job behind an unexpectedly long one waits 1.3 ms at most.
    static constexpr std::int64_t tick_ns = 250'000;
    /// How often otherwise: a look costs whoever has the CPU some 15 us.
    static constexpr std::int64_t calm_tick_ns = 1'000'000;
    /// Looks without anything that waits before the alarm goes off: 10 ms, so that bursts do not pay a wake-up each.
    static constexpr unsigned quiet_ticks_max = 10;

    explicit Home(Engine& engine) noexcept : engine_(engine) {}

    /// The thread's function, with the slot that start() leased for it.
    void main(ThreadSlot& slot) noexcept;

    /// Makes sure that home looks within a tick, under `lent`. **Progress**: wait-free; a wake-up when it slept.
    void watch() noexcept {
        (void)alarm_.arm();
    }
    /// Makes sure that home looks at what the caller announced, under `dedicated`. **Progress**: lock-free; a wake-up when
    /// it slept.
    void look_now() noexcept {
        (void)lookout_.wake_one();
    }
    /// Makes sure that home is awake at this time, for a deadline; under `lent`, for under `dedicated` home itself knows.
    /// **Progress**: wait-free; a wake-up when it meant to sleep longer.
    void wake_before(std::int64_t time) noexcept {
        if (time < sleeps_until_.load())  // seq_cst: see sleep()
            alarm_.nudge();
    }
    /// Wakes it for good.
    void stop() noexcept {
        alarm_.nudge();
        (void)lookout_.wake_another();
    }

    std::thread thread;  ///< written by start, joined or detached by the end, see lifecycle.cpp

private:
    void main_lent() noexcept;
    void sleep(std::int64_t at_most_ns) noexcept;
    [[nodiscard]] std::int64_t time_to_next_expiry() const noexcept;
    void main_dedicated() noexcept;
    void rest() noexcept;
    [[nodiscard]] bool spin() noexcept;
    enum class Seen : std::uint8_t { nothing, all_well, doubtful };
    [[nodiscard]] Seen watch_over() noexcept;
    [[nodiscard]] bool remember() noexcept;
    void take_off_the_lookers(std::size_t worker) noexcept;

    Engine& engine_;
    sync::Alarm alarm_;
    sync::BasicLookout<sync::LookoutRules, 1> lookout_{1};
    sync::atomic<std::int64_t> sleeps_until_{0};  ///< written by home, read by who sets a deadline; 0: awake
    ThreadSlot* slot_ = nullptr;
    std::vector<std::uint64_t> seen_claims_;    ///< the workers' claim words at the last look
    std::vector<std::uint64_t> seen_progress_;  ///< how many jobs the workers had begun and ended by then
    std::uint64_t seen_turns_ = 0;              ///< turns taken by the last look
};

}  // namespace sluice::detail
