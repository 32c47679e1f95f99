// A gate at one moment, without waiting for anybody.
//
// in_flight, and the low ends of `admitted` and `joined`, come from one load of the word; the laps beside it are good if they
// were the same before and after. So tickets add up exactly. Outcomes of waiters are counted before the word says that one
// less waits: read before the word, and found unchanged after it, they are outcomes of waiters that the word has counted as joined, and
// `waiting` is what is left of those. A retry means that somebody else has got on with something.

#include "gate/gate_state.hpp"

#include <algorithm>
#include <array>

namespace sluice::detail {

using core::AdmittedCount;
using core::GateWord;
using core::JoinedCount;
using core::WaiterPhase;
using core::WaiterWord;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;

namespace {

/// What is read twice.
struct Beside {
    std::uint64_t admitted_laps = 0;
    std::uint64_t joined_laps = 0;
    std::array<std::uint64_t, GateCounts::outcomes> outcomes{};
    friend bool operator==(const Beside&, const Beside&) = default;
};

}  // namespace

TurnGateSnapshot GateState::snapshot() const noexcept {
    const auto read_beside = [this] {
        Beside beside;
        // Acquire: partners of the releases in bring_up_*(); none of these loads passes the word's.
        beside.admitted_laps = admitted_laps_.load(memory_order_acquire);
        beside.joined_laps = joined_laps_.load(memory_order_acquire);
        for (std::size_t i = 0; i < GateCounts::outcomes; ++i)
            beside.outcomes[i] = counts_.get(i);
        return beside;
    };
    Beside before;
    GateWord seen;
    Beside beside = read_beside();
    do {
        before = beside;
        seen = word();
        beside = read_beside();
    } while (!(before == beside));

    TurnGateSnapshot result;
    result.in_flight = seen.in_flight();
    result.admitted = AdmittedCount::total(seen.admitted(), beside.admitted_laps);
    result.released = result.admitted - result.in_flight;
    result.limit = cap();
    result.queued = JoinedCount::total(seen.joined(), beside.joined_laps);
    result.admitted_from_queue = beside.outcomes[GateCounts::admitted_from_queue];
    result.cancelled = beside.outcomes[GateCounts::cancelled];
    result.expired = beside.outcomes[GateCounts::expired];
    result.shut_down = beside.outcomes[GateCounts::shut_down];
    result.waiting = result.queued - result.left_queue();
    result.rejected.queue_full = counts_.get(GateCounts::rejected_full);
    result.rejected.session_queue_full = counts_.get(GateCounts::rejected_session_full);
    result.rejected.shut_down = counts_.get(GateCounts::rejected_shut_down);
    result.rejected.invalid = counts_.get(GateCounts::rejected_invalid);
    result.live_sessions = sessions_.capacity() - sessions_.available();
    result.sessions_refused = counts_.get(GateCounts::sessions_refused);
    result.rate_limits = counts_.get(GateCounts::rate_limits);
    result.backoff_remaining = std::chrono::nanoseconds(std::max<std::int64_t>(0, pause_left()));
    result.callbacks_threw = counts_.get(GateCounts::callbacks_threw);
    if (result.waiting != 0)
        result.oldest_wait = oldest_wait();
    return result;
}

std::optional<std::chrono::nanoseconds> GateState::oldest_wait() const noexcept {
    std::optional<std::int64_t> oldest;
    const std::uint32_t used = used_.load(memory_order_acquire);  // partner of the release in take_waiter()
    for (std::uint32_t index = 0; index < used; ++index) {
        const Waiter& waiter = waiters_[index];
        // Acquire: partner of the release in settle(). Good if the same life waits before and after.
        const WaiterWord seen{waiter.word.load(memory_order_acquire)};
        if (seen.phase() != WaiterPhase::waiting)
            continue;
        const std::int64_t since = waiter.enqueued_at.load(memory_order_acquire);
        const WaiterWord again{waiter.word.load(memory_order_relaxed)};  // not before the acquire above it
        if (again.phase() == WaiterPhase::waiting && again.generation() == seen.generation())
            oldest = std::min(oldest.value_or(since), since);
    }
    if (!oldest)
        return std::nullopt;
    return std::chrono::nanoseconds(std::max<std::int64_t>(0, now() - *oldest));
}

}  // namespace sluice::detail
