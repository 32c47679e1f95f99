// Out of the line without a ticket, by the waiter's own word: so whoever drops waiters knows at once how many, and waits for nobody.
// The holder of the baton tidies up after them.

#include "gate/gate_state.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace sluice::detail {

using core::WaiterPhase;
using core::WaiterTask;
using core::WaiterWord;
using sync::memory_order_acq_rel;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

/// True: the waiter has this outcome, and the caller has told nobody yet. `seen` is the word that the decision rests on.
bool GateState::drop(std::uint32_t index, WaiterWord seen, WaiterPhase outcome, Mail& mail) noexcept {
    Waiter& waiter = waiters_[index];
    const std::uint32_t generation = seen.generation();
    for (;;) {
        const core::WaiterStep next = core::dropped(seen, outcome);
        if (seen.generation() != generation || next.task == WaiterTask::refused)
            return false;
        // Release and acquire: as in line.cpp.
        if (!waiter.word.compare_exchange_weak(seen.bits, next.after.bits, memory_order_acq_rel,
                                               memory_order_acquire))
            continue;
        if (next.task == WaiterTask::carry)
            add(mail, index);
        return true;
    }
}

/// So many were dropped: they wait no more, and the line is looked at.
void GateState::have_left(std::uint32_t count, GateCounts::Index why, Mail& mail) noexcept {
    if (count == 0)
        return;
    counts_.add(why, count);
    core::GateWord seen = word();
    while (!step(seen, core::some_dropped(seen, count))) {}
    // Release: partner of the acquire in round(). Seen by the look that follows the asking below.
    somebody_left_.store(true, memory_order_release);
    look(mail);
}

bool GateState::leave(TurnPlace place) noexcept {
    if (place.index >= used_.load(memory_order_acquire))
        return false;
    Visit visit(*this);
    // Acquire: partner of the release of whoever wrote the word last.
    const WaiterWord seen{waiters_[place.index].word.load(memory_order_acquire)};
    if (seen.generation() != place.generation || !drop(place.index, seen, WaiterPhase::cancelled, visit.mail))
        return false;
    have_left(1, GateCounts::cancelled, visit.mail);
    return true;
}

bool GateState::take_back(TurnPlace place) noexcept {
    Visit visit(*this);
    const WaiterWord seen{waiters_[place.index].word.load(memory_order_acquire)};  // as in leave()
    Mail mine;
    if (seen.generation() != place.generation || !drop(place.index, seen, WaiterPhase::cancelled, mine))
        return false;
    // Nobody else is its courier: only positions make one of a waiter that waits.
    assert(mine.first == place.index);
    static_cast<void>(take_calls(place.index));
    have_left(1, GateCounts::cancelled, visit.mail);
    return true;
}

std::size_t GateState::cancel_session(std::string_view session) noexcept {
    if (session.size() > SessionName::most)
        return 0;
    const std::uint64_t hash = std::hash<std::string_view>{}(session);
    Visit visit(*this);
    std::uint32_t dropped = 0;
    const std::uint32_t used = used_.load(memory_order_acquire);  // partner of the release in take_waiter()
    for (std::uint32_t index = 0; index < used; ++index) {
        const Waiter& waiter = waiters_[index];
        const WaiterWord seen{waiter.word.load(memory_order_acquire)};  // partner of the release in settle()
        // Relaxed: written before that release; if they are of a later life, the CAS in drop() fails.
        if (seen.phase() == WaiterPhase::waiting && waiter.session_hash.load(memory_order_relaxed) == hash &&
            waiter.session.equals(session))
            dropped += drop(index, seen, WaiterPhase::cancelled, visit.mail) ? 1U : 0U;
    }
    sort(visit.mail, false);
    have_left(dropped, GateCounts::cancelled, visit.mail);
    return dropped;
}

std::size_t GateState::expire_stale() noexcept {
    const std::int64_t cutoff = now() - config_.max_queue_wait.count();
    Visit visit(*this);
    std::uint32_t dropped = 0;
    const std::uint32_t used = used_.load(memory_order_acquire);  // as in cancel_session()
    for (std::uint32_t index = 0; index < used; ++index) {
        const Waiter& waiter = waiters_[index];
        const WaiterWord seen{waiter.word.load(memory_order_acquire)};
        if (seen.phase() == WaiterPhase::waiting && waiter.enqueued_at.load(memory_order_relaxed) <= cutoff)
            dropped += drop(index, seen, WaiterPhase::expired, visit.mail) ? 1U : 0U;
    }
    sort(visit.mail, true);
    have_left(dropped, GateCounts::expired, visit.mail);
    return dropped;
}

// Merge sort of a chain: no memory, and n log n however many expire at once.
void GateState::sort(Mail& mail, bool newest_first) noexcept {
    const auto sooner = [this, newest_first](std::uint32_t a, std::uint32_t b) {
        const std::uint64_t first = waiters_[a].number.load(memory_order_relaxed);
        const std::uint64_t second = waiters_[b].number.load(memory_order_relaxed);
        return newest_first ? first > second : first < second;
    };
    for (std::uint32_t width = 1;; width *= 2) {
        std::uint32_t rest = mail.first;
        mail = {};
        std::uint32_t merges = 0;
        while (rest != Mail::none) {
            ++merges;
            std::uint32_t right = rest;
            std::uint32_t left_size = 0;
            for (; left_size < width && right != Mail::none; ++left_size)
                right = waiters_[right].next_mail;
            std::uint32_t right_size = width;
            while (left_size > 0 || (right_size > 0 && right != Mail::none)) {
                const bool from_left =
                    left_size > 0 && (right_size == 0 || right == Mail::none || sooner(rest, right));
                std::uint32_t& from = from_left ? rest : right;
                const std::uint32_t taken = from;
                from = waiters_[taken].next_mail;
                (from_left ? left_size : right_size) -= 1;
                add(mail, taken);
            }
            rest = right;
        }
        if (merges <= 1)
            return;
    }
}

}  // namespace sluice::detail
