// Waiting for a job without hanging silently (E20).
//
// A wait by a thread that is not the executor's own just waits. A worker inside a job first makes sure that its wait can
// end: not for a job of its own actor; not in a ring of actors whose jobs wait for each other; not if it would leave too
// little to run what is awaited (enough_is_left). Then it gives back what it had claimed and not started, and stops being
// a looker.
//
// The ring (Dekker among workers). Each announces from whom and for whom it waits, then follows the announcements of the
// others. All seq_cst: of the waits that close a ring at the same time, at least one sees all the others' and is refused
// (perhaps more than one is; refusing is safe).

#include "executor/engine.hpp"
#include "platform/cpu.hpp"
#include "platform/thread.hpp"

#include <array>

namespace sluice::detail {

namespace job_word = core::job_word;
using sync::memory_order_acquire;

namespace {

/// Rounds that a waiter looks before it sleeps: a job that a looker takes up at once has ended by then. It yields early:
/// on few CPUs it holds the very CPU that is to run the job.
constexpr unsigned look_rounds = 24;

}  // namespace

// Sleeps until the job has ended. **Progress**: blocks on the job.
WaitStatus Engine::sleep_on(JobNode& node, std::int64_t patience_ns) noexcept {
    std::uint32_t word = 0;
    for (unsigned round = 0; round < look_rounds; ++round) {
        word = node.state.load(memory_order_acquire);  // pairs with the release in complete()
        if (job_word::done(word))
            return WaitStatus::done;
        if (round % 4 == 3) {
            platform::yield();
        } else {
            for (unsigned i = 0; i < 8; ++i)
                platform::cpu_relax();
        }
    }
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

// Whether following the announced waits from `start` leads to `target`. **Cost**: O(workers squared), for waits only.
bool Engine::waits_lead(const ActorCell* start, const ActorCell* target) const noexcept {
    std::array<const ActorCell*, max_workers + 1> reached{start};
    std::array<bool, max_workers> followed{};
    for (std::size_t at = 0, count = 1; at < count; ++at) {
        if (reached[at] == target)
            return true;
        for (std::size_t i = 0; i < all_workers_.size(); ++i) {
            const Worker& worker = *all_workers_[i];
            if (followed[i] || worker.waits_from.load() != reached[at])
                continue;  // seq_cst, see above
            followed[i] = true;
            reached[count++] = worker.waits_for.load();
        }
    }
    return false;
}

// Whether the waits of workers, this one among them, leave what the awaited jobs need: a worker; more idle workers than
// the reserve, if one of the awaited is a maintenance job that has not started (E11); a permit, if those that wait hold
// some, for what is awaited may stand behind a build. Announced first and counted afterwards (as the ring below), so of
// those that take the last at the same time at least one is refused.
bool Engine::enough_is_left(const Waits& mine) noexcept {
    const std::size_t waiting = waits_.workers.fetch_add(1) + 1;
    const std::uint32_t maintenance = waits_.for_maintenance.fetch_add(mine.maintenance) + mine.maintenance;
    const std::uint32_t permits = waits_.with_permit.fetch_add(mine.permit) + mine.permit;
    if (waiting >= all_workers_.size())
        return false;
    if (maintenance != 0 && all_workers_.size() - waiting <= config_.interactive_reserve)
        return false;
    return mine.permit == 0 || permits < config_.heavy_permits;
}

void Engine::wait_is_over(const Waits& mine) noexcept {
    waits_.with_permit.fetch_sub(mine.permit);
    waits_.for_maintenance.fetch_sub(mine.maintenance);
    waits_.workers.fetch_sub(1);
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
    return here.engine->wait_inside_job(*here.worker, here.inside, node, patience_ns);
}

WaitStatus Engine::wait_inside_job(Worker& worker, ActorCell* source, JobNode& node,
                                   std::int64_t patience_ns) noexcept {
    const bool own = node.engine == this;
    // The awaited job has not ended, so its actor's cell stays what it is as long as that holds.
    auto* target = own ? static_cast<ActorCell*>(node.actor) : nullptr;
    if (own && target == source)
        return WaitStatus::would_deadlock;

    WaitStatus status = WaitStatus::would_deadlock;
    worker.waits_for.store(target);  // before `waits_from`, which makes the pair count
    worker.waits_from.store(source);
    const Waits mine{own && node.job_class == JobClass::maintenance && !is_executing(node) ? 1U : 0U,
                     worker.holds_permit() ? 1U : 0U};
    const bool enough = enough_is_left(mine);
    if (!own || (enough && !(source != nullptr && waits_lead(target, source)))) {
        worker.hand_back_rest();
        const bool was_looker = worker.is_looker();  // not if it is inside a job that is known to be long
        if (was_looker)
            stop_looking();
        make_somebody_look();  // for what was just given back
        status = sleep_on(node, patience_ns);
        if (was_looker)
            start_looking();
    }
    wait_is_over(mine);
    worker.waits_from.store(nullptr);
    worker.waits_for.store(nullptr);
    return status;
}

}  // namespace sluice::detail
