// What the holder of the baton does with the line. Users' code is never called here: what is to be told is put into `mail`.

#include "gate/gate_state.hpp"

namespace sluice::detail {

using core::GateLine;
using core::GateWord;
using core::WaiterPhase;
using core::WaiterStep;
using core::WaiterTask;
using core::WaiterWord;
using sync::memory_order_acq_rel;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;

namespace {

// Runs one of the transitions of waiter_word.hpp. `refused` writes nothing.
template <class Transition>
WaiterTask change(Waiter& waiter, Transition&& transition) noexcept {
    WaiterWord seen{waiter.word.load(memory_order_acquire)};
    for (;;) {
        const WaiterStep next = transition(seen);
        // Release and acquire: each step sees what came before the others, and is seen with what came before it.
        if (next.task == WaiterTask::refused ||
            waiter.word.compare_exchange_weak(seen.bits, next.after.bits, memory_order_acq_rel,
                                              memory_order_acquire))
            return next.task;
    }
}

}  // namespace

/// Somebody made something so that the line may have to move. Whoever holds the baton sees to it.
void GateState::look(Mail& mail) noexcept {
    if (!baton_.ask())
        return;
    do {
        round(mail);
    } while (!baton_.put_down());
}

// G01: who has moved up because somebody left is told so before he is granted.
void GateState::round(Mail& mail) noexcept {
    bool moved = take_in();
    // Acquire: partner of the release in have_left().
    if (somebody_left_.exchange(false, memory_order_acquire))
        moved |= take_out();
    if (word().closed()) {
        drop_all(mail);
        return;
    }
    if (moved)
        post_positions(mail);
    static_cast<void>(end_pause());  // T20: whoever made this look has not waited for the timer either
    moved = false;
    while (grant(mail, moved)) {}
    if (moved)
        post_positions(mail);
}

// Appends those who joined since the last look, in the order in which they did. True: others may have moved.
bool GateState::take_in() noexcept {
    GateWord seen = word();
    if (seen.newest() == GateWord::nobody)
        return false;
    while (!step(seen, core::all_taken_in(seen))) {}
    std::uint32_t oldest = GateWord::nobody;
    for (std::uint32_t index = seen.newest(); index != GateWord::nobody;) {
        const std::uint32_t below = waiters_[index].link.load(memory_order_relaxed);
        waiters_[index].link.store(oldest, memory_order_relaxed);
        oldest = index;
        index = below;
    }
    bool moved = false;
    for (std::uint32_t index = oldest; index != GateWord::nobody;) {
        Waiter& waiter = waiters_[index];
        const std::uint32_t next = waiter.link.load(memory_order_relaxed);
        if (WaiterWord{waiter.word.load(memory_order_acquire)}.open()) {
            line_.append(index, waiter.session_hash.load(memory_order_relaxed),
                         [&](std::uint32_t other) { return waiters_[other].session.equals(waiter.session); });
            listeners_ += waiter.listens ? 1U : 0U;
            moved |= line_.by_session();
        } else {
            moved = true;  // those behind it count it in their positions
            unlink(index);
        }
        index = next;
    }
    return moved;
}

// Takes out those who left.
bool GateState::take_out() noexcept {
    return line_.remove_if([this](std::uint32_t index) {
        if (WaiterWord{waiters_[index].word.load(memory_order_acquire)}.open())
            return false;
        listeners_ -= waiters_[index].listens ? 1U : 0U;
        unlink(index);
        return true;
    }) != 0;
}

// T14: the gate is closed, so nobody joins any more.
void GateState::drop_all(Mail& mail) noexcept {
    std::uint32_t dropped = 0;
    line_.remove_if([&](std::uint32_t index) {
        const WaiterTask task = change(
            waiters_[index], [](WaiterWord old) { return core::dropped(old, WaiterPhase::shut_down); });
        dropped += task != WaiterTask::refused ? 1U : 0U;
        if (task == WaiterTask::carry)
            add(mail, index);
        listeners_ -= waiters_[index].listens ? 1U : 0U;
        unlink(index);
        return true;
    });
    if (dropped == 0)
        return;
    counts_.add(GateCounts::shut_down, dropped);
    GateWord seen = word();
    while (!step(seen, core::some_dropped(seen, dropped))) {}
}

// Gives the head of the line a ticket, if there is one. While somebody waits only the holder admits, so the room that is seen
// here stays: turns may end meanwhile, none can begin. (A backoff or a lower cap that comes between the look and the ticket
// comes after the decision.) T21: a head that has just left makes way for the next one, in the same round.
bool GateState::grant(Mail& mail, bool& moved) noexcept {
    for (;;) {
        const GateWord seen = word();
        if (seen.newest() != GateWord::nobody)
            moved |= take_in();
        if (!core::may_grant(seen, cap()))
            return false;
        const std::uint32_t head = line_.head();
        if (head == GateLine::none)
            return false;  // all have left, and are about to say so
        const bool is_chosen = change(waiters_[head], core::chosen) != WaiterTask::refused;
        line_.pop();
        moved = true;
        listeners_ -= waiters_[head].listens ? 1U : 0U;
        if (is_chosen) {
            give_ticket(head, mail);
            return true;
        }
        unlink(head);
    }
}

// Counted first, seen by its courier then: who has a ticket may give it back at once.
void GateState::give_ticket(std::uint32_t index, Mail& mail) noexcept {
    counts_.add(GateCounts::admitted_from_queue);
    GateWord seen = word();
    while (!may_count_ticket(seen) || !step(seen, core::one_granted(seen)))
        seen = word();
    bring_up_admitted();
    if (change(waiters_[index], core::granted) == WaiterTask::carry)
        add(mail, index);
}

void GateState::post_positions(Mail& mail) noexcept {
    if (listeners_ == 0 && !line_.by_session())
        return;
    line_.for_each([&](std::uint32_t index, std::uint32_t position) {
        Waiter& waiter = waiters_[index];
        if (waiter.posted == position)
            return;
        const bool is_joining =
            WaiterWord{waiter.word.load(memory_order_acquire)}.phase() == WaiterPhase::joining;
        if (!waiter.listens && !is_joining)
            return;
        waiter.posted = position;
        if (change(waiter, [&](WaiterWord old) { return core::posted(old, position); }) == WaiterTask::carry)
            add(mail, index);
    });
}

void GateState::unlink(std::uint32_t index) noexcept {
    if (change(waiters_[index], core::unlinked) == WaiterTask::free)
        free(index);
}

}  // namespace sluice::detail
