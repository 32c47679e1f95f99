// What an executor tells of itself. Plain data, taken without waiting for anybody.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/lane.hpp>

namespace sluice {

/// Accepted jobs by what became of them. `accepted == queued + running + completed()` in every snapshot (E33).
struct JobTotals {
    std::uint64_t accepted = 0;
    std::uint64_t queued = 0;  ///< accepted and not yet started
    std::uint64_t running =
        0;  ///< inside a worker right now; a heavy job between its two steps counts as running
    std::uint64_t succeeded = 0;
    std::uint64_t threw = 0;              ///< `job_threw`
    std::uint64_t actor_removed = 0;      ///< `actor_removed`
    std::uint64_t actor_fatal = 0;        ///< `actor_fatal` while queued
    std::uint64_t shut_down = 0;          ///< `shut_down` while queued
    std::uint64_t cancelled = 0;          ///< `cancelled`: its stop_token was triggered while queued
    std::uint64_t deadline_exceeded = 0;  ///< `deadline_exceeded` while queued
    std::uint64_t abandoned =
        0;  ///< accepted, then its closure threw when it was moved in, or could not be queued
    /// All that have ended, by whichever outcome.
    [[nodiscard]] std::uint64_t completed() const noexcept {
        return succeeded + threw + actor_removed + actor_fatal + shut_down + cancelled + deadline_exceeded +
               abandoned;
    }
};

/// Submissions that were refused at once, by reason; none of them is in JobTotals.
struct RefusedTotals {
    std::uint64_t queue_full = 0;
    std::uint64_t actor_not_registered = 0;
    std::uint64_t actor_fatal = 0;
    std::uint64_t shut_down = 0;
    std::uint64_t other = 0;
    [[nodiscard]] std::uint64_t total() const noexcept {
        return queue_full + actor_not_registered + actor_fatal + shut_down + other;
    }
};

/// One class of work.
struct ClassSnapshot {
    JobTotals jobs;
    /// Age of the job that has been queued longest, if any is queued.
    std::optional<std::chrono::nanoseconds> oldest_age;
};

/// Who holds the scheduler's role, and since when nobody did anything with it.
struct TurnSnapshot {
    std::uint64_t turns = 0;            ///< turns taken since the start
    bool held = false;                  ///< a thread is inside a turn right now
    std::optional<std::string> holder;  ///< its name, when held
    std::chrono::nanoseconds since_last =
        {};  ///< age of the last turn's end (of the start, before the first)
};

/// An executor at one moment. The totals of one snapshot are consistent with each other.
struct Snapshot {
    JobTotals jobs;  ///< both classes together
    ClassSnapshot interactive;
    ClassSnapshot maintenance;
    RefusedTotals refused;
    std::uint64_t interactive_reserve = 0;  ///< workers that maintenance leaves free
    std::uint64_t maintenance_cap = 0;      ///< maintenance jobs that may run at once
    std::uint64_t actors = 0;               ///< registered now
    std::uint64_t undispatched = 0;         ///< dispatches that found no place to go; stays 0
    std::uint64_t oversized = 0;            ///< jobs whose closure and result needed an allocation
    std::uint64_t nodes = 0;                ///< job nodes allocated so far; a plateau in steady state
    std::uint64_t callbacks_threw =
        0;                      ///< exceptions that left a callback of Completion::then() or a thread hook
    std::uint64_t wakeups = 0;  ///< wake-up system calls made for parked threads
    TurnSnapshot turn;
};

/// One mutating job inside a worker (E29).
struct RunningMutation {
    std::string actor;
    std::string request_id;
    std::string label;
    std::chrono::nanoseconds age = {};
};

/// What is known of one mutating request (E29).
enum class MutationState : std::uint8_t {
    running,
    queued,
    blocked_by_other_mutating,
    not_found,
    actor_missing
};

/// The state's name as it stands above.
[[nodiscard]] constexpr std::string_view to_string(MutationState state) noexcept {
    constexpr std::array<std::string_view, 5> names{"running", "queued", "blocked_by_other_mutating",
                                                    "not_found", "actor_missing"};
    const auto index = static_cast<std::size_t>(state);
    return index < names.size() ? names[index] : "unknown state";
}

/// One actor's jobs, as of the scheduler's last turn. `accepted == queued + running + completed`.
struct ActorSnapshot {
    std::uint64_t accepted = 0;
    std::uint64_t queued = 0;     ///< not started, or started and not yet reported to the scheduler
    std::uint64_t running = 0;    ///< inside a worker right now
    std::uint64_t completed = 0;  ///< ended, by whichever outcome
    bool fatal = false;
};

}  // namespace sluice
