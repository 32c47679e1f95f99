// Waiting for a job without hanging silently (E20).
//
// A wait by a thread that is not the executor's own just waits. A worker inside a job first makes sure that its wait can
// end: not for a job of its own actor; not if it would leave too little to run what is awaited (core/words/waits_word.hpp);
// not if waits block each other (wait_board.hpp). Then it gives back what it had claimed and not started, and stops being a looker.

#include "executor/engine.hpp"
#include "executor/wait_board.hpp"
#include "platform/cpu.hpp"
#include "platform/thread.hpp"

#include <algorithm>

namespace sluice::detail {

namespace job_word = core::job_word;
using sync::memory_order_acquire;

namespace {

/// Rounds that a waiter looks before it sleeps: a job that a looker takes up at once has ended by then.
constexpr unsigned look_rounds = 24;

/// How often a wait inside a job asks whether it is blocked by now.
constexpr std::int64_t ask_again_ns = 20'000'000;

}  // namespace

// Looks for a moment, and for as long as a worker does before it parks if that paid lately: to sleep and be woken takes as
// long. It yields: on few CPUs it holds the very CPU that is to run the job. **Progress**: bounded by the spin budget.
bool Engine::ends_soon(const JobNode& node) noexcept {
    core::SpinHistory& looks = this_thread_context().looks;
    std::int64_t until = 0;
    for (unsigned round = 0;; ++round) {
        if (job_word::done(node.state.load(memory_order_acquire))) {  // pairs with the release in complete()
            looks.note(true);
            return true;
        }
        if (round == look_rounds) {
            if (spin_budget_ns_ == 0 || !looks.worth_it())
                return false;
            until = clock_.now() + spin_budget_ns_;
        }
        if (round % 4 != 3) {
            for (unsigned i = 0; i < 8; ++i)
                platform::cpu_relax();
        } else if (round > look_rounds && clock_.now() > until) {
            looks.note(false);
            return false;
        } else {
            platform::yield();
        }
    }
}

// Sleeps until the job has ended. **Progress**: blocks on the job.
WaitStatus Engine::sleep_on(JobNode& node, std::int64_t patience_ns) noexcept {
    if (ends_soon(node))
        return WaitStatus::done;
    std::uint32_t word = node.state.load(memory_order_acquire);  // pairs with the release in complete()
    const std::int64_t deadline = patience_ns < 0 ? 0 : sync::now_ns() + patience_ns;
    for (;;) {
        // The word goes into the wait as it was announced, so an end between announcement and sleep is noticed.
        while (!job_word::done(word) && !job_word::has_waiter(word)) {
            // acquire is for the failure: pairs with the release in complete(). The success needs none, but g++ 12
            // warns, unoptimised, of a failure that is stronger.
            if (node.state.compare_exchange_weak(word, word | job_word::waiter_bit, memory_order_acquire,
                                                 memory_order_acquire)) {
                word |= job_word::waiter_bit;
            }
        }
        if (job_word::done(word))
            return WaitStatus::done;
        if (patience_ns < 0) {
            sync::wait(node.state, word);
        } else {
            const std::int64_t left = deadline - sync::now_ns();
            if (left <= 0)
                return WaitStatus::timed_out;
            (void)sync::wait_for(node.state, word, left);
        }
        word = node.state.load(memory_order_acquire);  // pairs with the release in complete()
    }
}

// Whether this wait may begin; if so it is counted. Of waits that begin at the same time and may not all do so, as many
// begin as may. **Progress**: lock-free; a round fails because another worker's wait began or ended.
bool Engine::wait_begins(bool own, bool maintenance) noexcept {
    core::WaitsWord seen = waits_.load();
    for (;;) {
        const core::WaitsStep step =
            own ? core::one_waits(seen, maintenance, config_.pool_size, config_.interactive_reserve)
                : core::WaitsStep{core::one_waits_elsewhere(seen), true};
        if (!step.allowed)
            return false;
        if (waits_.compare_exchange_weak(seen, step.after))
            return true;
    }
}

void Engine::wait_is_over(bool maintenance) noexcept {
    core::WaitsWord seen = waits_.load();
    while (!waits_.compare_exchange_weak(seen, core::one_wait_less(seen, maintenance))) {}
}

bool on_executor_thread() noexcept {
    return this_thread_context().engine != nullptr;
}

WaitStatus Engine::wait(JobNode& node, std::int64_t patience_ns) noexcept {
    if (node.engine->forked())
        return WaitStatus::forked;       // whoever would have ended the job is in the parent
    SlotLease::wake_for_open_batches();  // what this thread holds back may be what it waits for
    ThreadContext& here = this_thread_context();
    if (here.engine == nullptr)
        return sleep_on(node, patience_ns);
    if (here.worker ==
        nullptr) {  // a home thread keeps time for everybody and must not sleep on a job of its own
        return here.engine == this ? WaitStatus::would_deadlock : sleep_on(node, patience_ns);
    }
    if (here.settling && here.engine == this)
        return WaitStatus::would_deadlock;
    return here.engine->wait_inside_job(*here.worker, here.inside, node, patience_ns);
}

WaitStatus Engine::wait_inside_job(Worker& worker, ActorCell* source, JobNode& node,
                                   std::int64_t patience_ns) noexcept {
    const bool own = node.engine == this;
    // The awaited job has not ended, so its actor's cell stays what it is as long as that holds.
    if (own && static_cast<ActorCell*>(node.actor) == source)
        return WaitStatus::would_deadlock;
    const bool maintenance = own && node.job_class == JobClass::maintenance && !is_executing(node);
    // First the count: a wait that is not to be must not be seen on the board by those it would block.
    if (!wait_begins(own, maintenance))
        return WaitStatus::would_deadlock;
    WaitStatus status = WaitStatus::would_deadlock;
    WaitBoard& board = WaitBoard::instance();
    if (WaitSlot* slot = board.announce(*this, source, node)) {
        if (!board.blocked(*slot, *this)) {
            worker.hand_back_rest();
            if (worker.leave_lookers())
                stop_looking();
            make_somebody_look();  // for what was just given back
            status = sleep_unless_blocked(node, *slot, patience_ns);
        }
        WaitBoard::take_back(*slot);
    }
    wait_is_over(maintenance);
    return status;
}

// What blocks a wait may come after it has begun: now and then it asks again.
WaitStatus Engine::sleep_unless_blocked(JobNode& node, const WaitSlot& slot,
                                        std::int64_t patience_ns) noexcept {
    const std::int64_t begin = sync::now_ns();
    for (;;) {
        const std::int64_t left = patience_ns < 0 ? ask_again_ns : patience_ns - (sync::now_ns() - begin);
        const WaitStatus status = sleep_on(node, std::clamp<std::int64_t>(left, 0, ask_again_ns));
        if (status == WaitStatus::done || (patience_ns >= 0 && left <= ask_again_ns))
            return status;
        if (WaitBoard::instance().blocked(slot, *this))
            return WaitStatus::would_deadlock;
    }
}

}  // namespace sluice::detail
