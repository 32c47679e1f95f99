// Waiting for a job without hanging silently (E20).
//
// A wait by a thread that is not the executor's own just waits. A worker inside a job first makes sure that its wait can
// end: not for a job of its own actor; not in a ring of actors whose jobs wait for each other; not as the last worker
// that could run anything. Then it gives back what it had claimed and not started, and stops being a looker.
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
using sync::memory_order_relaxed;

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

WaitStatus Engine::wait(JobNode& node, std::int64_t patience_ns) noexcept {
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
    const std::uint32_t others = waiting_workers_.fetch_add(1);
    const bool somebody_left = others + 1 < all_workers_.size();
    if (!own || (somebody_left && !(source != nullptr && waits_lead(target, source)))) {
        worker.hand_back_rest();
        stop_looking();
        make_somebody_look();  // for what was just given back
        status = sleep_on(node, patience_ns);
        start_looking();
    }
    waiting_workers_.fetch_sub(1);
    worker.waits_from.store(nullptr);
    worker.waits_for.store(nullptr);
    return status;
}

}  // namespace sluice::detail
