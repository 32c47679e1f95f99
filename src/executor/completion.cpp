// How a job ends, whichever thread ends it, and how its memory goes back.
//
// Closure first, then the counts, then the word: whoever waits finds the closure destroyed and the job counted.

#include "executor/engine.hpp"

#include <sluice/detail/job_handle.hpp>

#include <functional>
#include <utility>

namespace sluice::detail {

namespace job_word = core::job_word;
using sync::memory_order_acq_rel;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

Error error_of(const JobNode& node, ErrorCode code, std::exception_ptr exception) {
    const auto& cell = static_cast<const ActorCell&>(*node.actor);
    const auto names = node.has_names ? node.names.get() : sync::NamePair::Copy{};
    return Error(
        {.code = code, .actor = cell.id, .request_id = names.first(), .exception = std::move(exception)});
}

void Engine::complete(JobNode& node, ThreadSlot& slot, ErrorCode outcome, Error error) noexcept {
    node.outcome = outcome;
    if (outcome != ErrorCode{})
        node.error = std::move(error);
    if (!node.has_handle) {
        destroy_outcome(node);
        free_node(node, slot);
        return;
    }
    // acq_rel. Release: pairs with the acquire of the waiter's load in done() and wait(), who reads the outcome. Acquire:
    // pairs with the handle's drop, who may have read the node before.
    const std::uint32_t old = node.state.fetch_add(job_word::ended_step, memory_order_acq_rel);
    // From here on the node may be freed and used again by the handle's thread. A wake-up touches its address only.
    // But with a continuation the handle belongs to it, and it has not run.
    if (job_word::has_waiter(old))
        sync::wake_all(node.state);
    else if (job_word::has_continuation(old))
        run_continuation(*node.continuation);
    if (job_word::dropped(old)) {
        destroy_outcome(node);
        free_node(node, slot);
    }
}

void Engine::destroy_outcome(JobNode& node) noexcept {
    if (node.outcome != ErrorCode{}) {
        node.error = Error();
    } else if (node.ops->destroy_result != nullptr) {
        node.ops->destroy_result(node.payload);
    }
}

void Engine::free_payload(JobNode& node) noexcept {
    if (node.payload == node.inline_payload.data() || node.payload_bytes == 0)
        return;
    resource_->deallocate(node.payload, std::exchange(node.payload_bytes, 0), node.payload_alignment);
}

void Engine::free_node(JobNode& node, ThreadSlot& slot) noexcept {
    free_payload(node);
    // relaxed: for observers only; the next user of the node gets it through the pool.
    node.state.store(job_word::free(node.state.load(memory_order_relaxed)), memory_order_relaxed);
    pool_.give(slot.nodes, &node);
}

// A queued job ends without having run: the actor was removed or is fatal, the executor shuts down, its submitter no longer
// wants it or no longer in time, or (none) there was no memory to queue it. With a token it may be the requester's to end.
void Engine::fail(JobNode& node, ThreadSlot& slot, core::FailReason reason) noexcept {
    if (!take_from_requester(node, slot)) {
        // The job ends when its request is taken, and needs its actor's cell until then. For the cause of a fatal actor
        // the turn has taken a reference already. relaxed: from a reference that is held.
        if (reason != core::FailReason::actor_fatal)
            static_cast<ActorCell&>(*node.actor).refs.fetch_add(1, memory_order_relaxed);
        return;
    }
    struct Ending {
        QueueExit exit;
        ErrorCode code;
    };
    const Ending ending = [reason]() -> Ending {
        switch (reason) {
            case core::FailReason::actor_removed:
                return {QueueExit::actor_removed, ErrorCode::actor_removed};
            case core::FailReason::actor_fatal:
                return {QueueExit::actor_fatal, ErrorCode::actor_fatal};
            case core::FailReason::shut_down:
                return {QueueExit::shut_down, ErrorCode::shut_down};
            case core::FailReason::cancelled:
                return {QueueExit::cancelled, ErrorCode::cancelled};
            case core::FailReason::deadline_exceeded:
                return {QueueExit::deadline_exceeded, ErrorCode::deadline_exceeded};
            case core::FailReason::met:
            case core::FailReason::none:
                break;
        }
        return {QueueExit::abandoned, ErrorCode::out_of_memory};
    }();
    auto& cell = static_cast<ActorCell&>(*node.actor);
    Error error = error_of(node, ending.code, reason == core::FailReason::actor_fatal ? cell.cause : nullptr);
    node.ops->destroy_closure(node.payload);
    auto& counters = counters_.of(node.job_class);
    if (node.built) {
        cell.heavy_in_flight.fetch_sub(1);
        counters.heavy_failed[index_of(ending.exit)].fetch_add(1);
    } else {
        counters.left_queue[index_of(ending.exit)].fetch_add(1);
        left_actor_queue(node);
    }
    complete(node, slot, ending.code, std::move(error));
    if (reason == core::FailReason::actor_fatal)
        drop_ref(cell);  // taken by the turn, for the cause
}

// The handle lets go. A job that has not ended is left to whoever ends it; of one that has, the result is destroyed
// before the word says so, for after an executor's end the word decides who frees the memory (NodePool::close).
void Engine::drop_handle(JobNode& node) noexcept {
    std::uint32_t word = node.state.load(memory_order_acquire);  // pairs with the release in complete()
    while (!job_word::done(word)) {
        // release: what this thread did with the node comes before its end. acquire on failure: as the load above.
        if (node.state.compare_exchange_weak(word, word | job_word::dropped_bit, memory_order_release,
                                             memory_order_acquire)) {
            return;
        }
    }
    Engine& engine = *node.engine;
    destroy_outcome(node);
    engine.free_payload(node);
    // Until the word says that the handle has let go, the engine is there; afterwards only for who holds it: by a lease of
    // its own (no user's code runs from here on, so it stays), or else by a reference.
    bool temporary = false;
    ThreadSlot* slot = engine.dead() ? nullptr : SlotLease(engine, temporary).get();
    const bool leased = slot != nullptr && !temporary;
    if (!leased)
        engine.retain();
    // acq_rel: pairs with the marking in Engine::orphan(); one of the two comes second and frees.
    word = node.state.fetch_add(job_word::dropped_bit, memory_order_acq_rel);
    if (job_word::orphan(word)) {
        if (engine.pool_.release_late())
            engine.release();
    } else if (slot !=
               nullptr) {  // null: no memory for a slot, or the pool ends: the node is out of use until then
        engine.pool_.give(slot->nodes, &node);
    }
    if (temporary)
        SlotLease::give_up(slot);
    if (!leased)
        engine.release();
}

// True: a handle still owns the node; its release will find the mark.
bool Engine::orphan(JobNode& node) noexcept {
    const std::uint32_t word =
        node.state.fetch_or(job_word::orphan_bit, memory_order_acq_rel);  // pairs with drop_handle()
    return job_word::done(word) && !job_word::dropped(word);
}

bool JobHandle::done() const noexcept {
    // acquire: pairs with the release in Engine::complete().
    return node_ != nullptr && job_word::done(node_->state.load(memory_order_acquire));
}

WaitStatus JobHandle::wait(std::int64_t patience_ns) noexcept {
    if (node_ == nullptr)
        return WaitStatus::no_state;
    if (done())
        return WaitStatus::done;
    return node_->engine->wait(*node_, patience_ns);
}

bool JobHandle::attach(Continuation& continuation) noexcept {
    node_->continuation = &continuation;
    std::uint32_t word = node_->state.load(memory_order_acquire);  // pairs with the release in complete()
    while (!job_word::done(word)) {
        // A wait that timed out has left its mark; nobody sleeps there any more.
        const std::uint32_t attached = (word & ~job_word::waiter_bit) | job_word::continuation_bit;
        // release: pairs with the acquire in complete(), which then reads the pointer. acquire on failure: as above.
        if (node_->state.compare_exchange_weak(word, attached, memory_order_release, memory_order_acquire)) {
            return true;
        }
    }
    return false;
}

bool JobHandle::take_back_continuation() noexcept {
    std::uint32_t word = node_->state.load(memory_order_acquire);  // pairs with the release in complete()
    while (!job_word::done(word)) {
        // acquire: as above, in either case (nothing is published by taking something back).
        if (node_->state.compare_exchange_weak(word, word & ~job_word::continuation_bit, memory_order_acquire,
                                               memory_order_acquire)) {
            return true;
        }
    }
    return false;
}

void* JobHandle::allocate_callback(std::size_t size, std::size_t alignment) noexcept {
    constexpr std::size_t step = alignof(std::max_align_t);
    const std::size_t begin = (node_->inline_used + step - 1) / step * step;
    if (alignment <= step && begin + size <= inline_payload_bytes)
        return node_->inline_payload.data() + begin;
    return node_->engine->allocate_callback(size, alignment);
}

void JobHandle::free_callback(void* memory, std::size_t size, std::size_t alignment) noexcept {
    const std::less<const void*> before;
    const auto& inside = node_->inline_payload;
    if (before(memory, inside.data()) || !before(memory, inside.data() + inside.size()))
        node_->engine->free_block(memory, size, alignment);
}

void JobHandle::count_callback_that_threw() noexcept {
    node_->engine->count_callback_that_threw();
}

bool JobHandle::failed() const noexcept {
    return node_->outcome != ErrorCode{};
}
Error JobHandle::error() const noexcept {
    return node_->error;
}
Error JobHandle::error_of_move(std::exception_ptr thrown) const {
    return error_of(*node_, ErrorCode::job_threw, std::move(thrown));
}
void* JobHandle::result() const noexcept {
    return node_->ops->result(node_->payload);
}
void JobHandle::release(JobNode* node) noexcept {
    node->engine->drop_handle(*node);
}

std::optional<Error> JobHandle::wait_error(WaitStatus status) const {
    if (node_ == nullptr)
        return Error({.code = ErrorCode::no_state});
    if (status == WaitStatus::forked)
        return error_of(*node_, ErrorCode::forked, nullptr);  // nothing changes in the child
    // The error names the actor, whose cell is the job's own until the job has ended, and then may be another's. So a
    // reference is taken first, of whoever has the cell, and only then the word says whose it is. (The cell's memory is the
    // engine's, which stays as long as this handle.)
    auto& cell = static_cast<ActorCell&>(*node_->actor);
    while (!done()) {
        if (!Registry::try_retain(cell))
            continue;  // nobody has it: the job has ended, as the word is about to say
        const ActorRef reference(&cell);
        if (!done()) {
            return error_of(
                *node_, status == WaitStatus::timed_out ? ErrorCode::timed_out : ErrorCode::would_deadlock,
                nullptr);
        }
    }
    return std::nullopt;
}

}  // namespace sluice::detail
