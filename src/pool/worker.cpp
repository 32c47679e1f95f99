#include "pool/worker.hpp"

#include "platform/cpu.hpp"
#include "platform/thread.hpp"
#include "pool/pool.hpp"

#include <exception>
#include <utility>

namespace sluice::detail {

using sync::memory_order_relaxed;
using sync::memory_order_release;

// A worker that comes out of a job is no looker: as long as it finds the next item nobody has relied on it, and it touches
// no shared word but those of the items. It becomes one when it finds nothing, and then looks once more.
void PoolWorker::main() noexcept {
    pool_.enter_thread(*this);
    PoolKind& kind = *pool_.kinds_[kind_];
    kind.lookout.start_looking();
    looking_ = true;
    for (;;) {
        if (PoolSlot* slot = pool_.take(kind.lanes, kind_)) {
            if (looking_)
                stop_looking();
            run(*slot);
        } else if (pool_.over()) {
            break;
        } else if (!looking_) {
            kind.lookout.start_looking();
            looking_ = true;
        } else {
            idle();
        }
    }
    if (looking_)
        (void)kind.lookout.stop_looking();  // nothing is left to look for
    pool_.leave_thread(*this);
}

// Keeps "somebody looks": first no looker any more, then a look at all that others left to this one.
void PoolWorker::stop_looking() noexcept {
    PoolKind& kind = *pool_.kinds_[kind_];
    looking_ = false;
    if (!kind.lookout.stop_looking())
        return;
    for (std::uint32_t lanes = kind.lanes; lanes != 0; lanes &= lanes - 1) {
        const std::uint32_t lane = lanes & ~(lanes - 1);
        if (pool_.anything_in(lane))
            pool_.call_for_all(lane);
    }
}

// Closure first, then the counts, then the word: who sees the item ended finds the closure destroyed and the item counted.
void PoolWorker::run(PoolSlot& slot) noexcept {
    std::exception_ptr thrown;
    try {
        slot.ops->run(slot.payload, nullptr);
    } catch (...) {
        thrown = std::current_exception();
    }
    slot.ops->destroy_closure(slot.payload);
    pool_.free_payload(slot);
    if (!thrown) {
        // relaxed load: our own word. release: partner of the acquire in snapshots.
        ran.store(ran.load(memory_order_relaxed) + 1, memory_order_release);
        pool_.settle(slot, core::ran_step);
    } else {
        pool_.tell_thrown(slot, std::move(thrown));
        core::PoolRecord record;
        pool_.change(slot, record, [this](core::PoolRecord& r) { r.threw(pool_.limits_, kind_); });
        pool_.settle(slot, core::thrown_step);
    }
    // seq_cst: Dekker with who waits for nothing to be left; its count is looked at after this.
    settled.store(settled.load(memory_order_relaxed) + 1);
    pool_.ended();
}

bool PoolWorker::work_is_there() noexcept {
    return pool_.over() || pool_.anything_in(pool_.kinds_[kind_]->lanes);
}

void PoolWorker::idle() noexcept {
    if (spin_for_work())
        return;
    sync::Lookout& lookout = pool_.kinds_[kind_]->lookout;
    lookout.begin_park(member_);
    if (work_is_there()) {
        (void)lookout.cancel_park(member_);
    } else {
        lookout.park(member_);
    }
}

// As a worker of the executor: only if that paid lately, and yielding, for on few CPUs a spinner holds the very CPU
// that the enqueuer needs. For the same reason one of a kind at a time, and none of a kind whose lanes another one covers.
bool PoolWorker::spin_for_work() noexcept {
    const std::int64_t budget = pool_.spin_budget_ns_;
    if (budget == 0)
        return false;
    PoolKind& kind = *pool_.kinds_[kind_];
    if (!pool_.spins_always_ && (!kind.may_spin || !spins_.worth_it() || kind.spinning.exchange(true)))
        return false;
    const std::int64_t idle_since = pool_.clock_.now();
    bool found = false;
    for (unsigned round = 0; !found; ++round) {
        for (unsigned i = 0; i < 8; ++i)
            platform::cpu_relax();
        found = work_is_there();
        if (round % 4 == 3) {
            if (pool_.clock_.now() - idle_since > budget)
                break;
            platform::yield();
        }
    }
    if (!pool_.spins_always_)
        kind.spinning.store(false);
    spins_.note(found);
    return found;
}

}  // namespace sluice::detail
