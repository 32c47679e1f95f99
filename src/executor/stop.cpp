// Jobs that end because their submitter no longer wants them, or no longer in time (E24, E25). See stop_watch.hpp.

#include "core/words/job_word.hpp"
#include "executor/engine.hpp"
#include "executor/owned.hpp"
#include "executor/stop_watch.hpp"
#include "platform/clock.hpp"

#include <utility>

namespace sluice::detail {

namespace job_word = core::job_word;
using sync::memory_order_acq_rel;
using sync::memory_order_relaxed;

static_assert(sizeof(StopWatch) <= inline_payload_bytes && alignof(StopWatch) <= 16,
              "it lies in a node's payload");

// Requester. The callback may run on any thread and inside the submission itself.
void StopWatch::request() noexcept {
    // acq_rel: pairs with the starter's in Engine::may_start(); what the requester did before is seen by who ends the job.
    if (job_word::started(job_.state.fetch_or(job_word::stopped_bit, memory_order_acq_rel)))
        return;
    job_.engine->push_stop(*this);
}

void Engine::push_stop(StopWatch& watch) noexcept {
    StopWatch* top = stops_.load(memory_order_relaxed);  // only linked to
    do {
        watch.next = top;
    } while (!stops_.compare_exchange_weak(top, &watch));  // seq_cst: published before the look for lookers
    make_somebody_look();
}

// Submitter.
StopWatch* Engine::make_stop_watch(JobNode& node, JobNode& carrier) noexcept {
    return ::new (static_cast<void*>(carrier.inline_payload.data())) StopWatch(node, carrier);
}

void Engine::free_stop_watch(JobNode& node, ThreadSlot& slot) noexcept {
    if (node.watch == nullptr)
        return;
    JobNode& carrier = node.watch->carrier();
    std::exchange(node.watch, nullptr)->~StopWatch();
    pool_.give(slot.nodes, &carrier);
}

// Starter: whether the job is this thread's to run or to end. If so its token can no longer end it, and the watch is gone.
bool Engine::take_from_requester(JobNode& node, ThreadSlot& slot) noexcept {
    if (node.watch == nullptr)
        return true;
    // acq_rel: pairs with StopWatch::request().
    const bool stopped = job_word::stopped(node.state.fetch_or(job_word::started_bit, memory_order_acq_rel));
    if (stopped && !node.watch->arrive())
        return false;  // whoever takes the request ends it
    free_stop_watch(node, slot);
    return true;
}

// A worker has come to a job that can be withdrawn. False: it is not to run, and has ended or will by the request.
bool Engine::may_start(JobNode& node, ThreadSlot& slot) noexcept {
    if (node.timed && node.timer.deadline <= platform::now_ns()) {
        fail(node, slot, core::FailReason::deadline_exceeded);
        return false;
    }
    if (node.watch != nullptr &&
        job_word::stopped(node.state.fetch_or(job_word::started_bit, memory_order_acq_rel))) {  // as above
        fail(node, slot, core::FailReason::cancelled);
        return false;
    }
    free_stop_watch(node, slot);
    return true;
}

// Role holder. Jobs that stand in no queue any more end after the turn, with those that were withdrawn.
bool Engine::serve_stops() noexcept {
    StopWatch* watch = stops_.exchange(nullptr);  // seq_cst: as turn_needed() reads it
    const bool any = watch != nullptr;
    while (watch != nullptr) {
        StopWatch& request = *std::exchange(watch, watch->next);
        JobNode& node = request.job();
        const bool left_the_core = request.arrive();
        if (left_the_core) {
            node.fail = core::FailReason::met;
            owned_->stopped.append(node);
        } else if (node.queued) {
            owned_->core.withdraw(node, core::FailReason::cancelled);
        }
        // else: on its way in, or handed out; it is met when it comes (withdraw_if_stopped, may_start).
    }
    return any;
}

// Role holder. A job has come into its queue, anew or again.
void Engine::withdraw_if_stopped(JobNode& node) noexcept {
    if (node.queued && node.watch != nullptr && node.watch->request_was_taken())
        owned_->core.withdraw(node, core::FailReason::cancelled);
}

// Role holder. Reads the clock only if a queued job has a deadline.
bool Engine::end_overdue() noexcept {
    const core::Nanos next = owned_->core.next_expiry();
    if (next == core::Deadlines::never)
        return false;
    const std::int64_t now = platform::now_ns();
    if (next > now)
        return false;
    more_overdue_.store(owned_->core.expire(now, turn_jobs_max));  // seq_cst: as turn_needed() reads it
    return true;
}

// Role holder, at the end of a turn: by when the next one must be taken. Dekker with a home that goes to sleep: it says
// until when it sleeps, and reads this afterwards.
void Engine::show_next_expiry() noexcept {
    const std::int64_t next = owned_->core.next_expiry();
    if (next == next_expiry_.load(memory_order_relaxed))  // the role holder's own word
        return;
    next_expiry_.store(next);  // seq_cst: before the read of home's
    home_.wake_before(next);
}

}  // namespace sluice::detail
