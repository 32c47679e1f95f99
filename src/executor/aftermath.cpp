// What a turn leaves to be done after the role was handed back: ends of jobs that will not run, contexts to drop. Users'
// objects are destroyed here, which may take long and may call the executor; so it is done by a worker that counts as no
// looker meanwhile, like one inside a long job. Home leaves it to the workers, and does it itself only while all of them are
// inside jobs: then nobody else could do anything either.

#include "executor/aftermath.hpp"

#include "executor/engine.hpp"
#include "executor/owned.hpp"

#include <utility>

namespace sluice::detail {

using sync::memory_order_relaxed;

// Whoever has taken a turn, after the hand-back.
void Engine::see_to(const Aftermath& aftermath, unsigned who, ThreadSlot& slot) noexcept {
    if (who != home_index) {
        stop_looking();
        settle(aftermath.jobs.first, aftermath.released, slot);
        start_looking();
        return;
    }
    if (!aftermath.jobs.empty()) {
        core::Job* top = left_jobs_.load(memory_order_relaxed);  // only linked to
        do {
            aftermath.jobs.last->next = top;
        } while (!left_jobs_.compare_exchange_weak(
            top, aftermath.jobs.first));  // seq_cst: before the look for lookers
    }
    if (aftermath.released != nullptr) {
        ActorCell* top = left_cells_.load(memory_order_relaxed);  // only linked to
        do {
            aftermath.last_released->link = top;
        } while (!left_cells_.compare_exchange_weak(top, aftermath.released));  // seq_cst: as above
    }
    const sync::Wake found = workers_.wake_one();
    if (found == sync::Wake::nobody)
        (void)settle_what_is_left(slot);
    else if (found == sync::Wake::looks_already)
        home_.watch();
}

bool Engine::anything_left() const noexcept {
    return left_jobs_.load() != nullptr || left_cells_.load() != nullptr;  // seq_cst: part of the looks
}

// A worker outside of jobs, or home. False: there was nothing.
bool Engine::settle_what_is_left(ThreadSlot& slot) noexcept {
    if (!anything_left())
        return false;
    core::Job* jobs = left_jobs_.exchange(nullptr);
    ActorCell* cells = left_cells_.exchange(nullptr);
    const bool worker = this_thread_context().worker != nullptr;
    if (worker)
        stop_looking();
    settle(jobs, cells, slot);
    if (worker)
        start_looking();
    end_if_drained();
    return true;
}

void Engine::settle(core::Job* job, ActorCell* released, ThreadSlot& slot) noexcept {
    ThreadContext& here = this_thread_context();
    here.settling = true;
    std::uint32_t count = 0;
    {
        const ContinuationsHeld held;  // so the callback of one of these finds all of them ended
        for (; job != nullptr; ++count)
            end_unstarted(static_cast<JobNode&>(*std::exchange(job, job->next)), slot);
    }
    for (; released != nullptr; ++count) {
        ActorCell& cell = *std::exchange(released, released->link);
        drop_context(cell);
        drop_ref(cell);
    }
    here.settling = false;
    aftermaths_.fetch_sub(count);  // seq_cst: see recycle_retired()
}

void Engine::end_unstarted(JobNode& node, ThreadSlot& slot) noexcept {
    auto& cell = static_cast<ActorCell&>(*node.actor);
    if (node.ops == nullptr) {  // a number without a job, see abandon()
        counters_.of(node.job_class).left_queue[index_of(QueueExit::abandoned)].fetch_add(1);
        left_actor_queue(node);
        free_node(node, slot);
    } else if (node.fail == core::FailReason::none) {  // see add_stray()
        const std::uint64_t number = node.number;
        fail(node, slot, core::FailReason::none);
        // Only now: from here on all_emitted_below() may let the actor's cell be used again.
        ingress_.note_voided(number);
    } else if (node.fail == core::FailReason::met) {
        fail(node, slot, core::FailReason::cancelled);
        drop_ref(cell);  // taken when the job was met, see fail()
    } else {
        fail(node, slot, node.fail);
    }
}

}  // namespace sluice::detail
