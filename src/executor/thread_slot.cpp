#include "executor/thread_slot.hpp"

#include "executor/engine.hpp"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

namespace sluice::detail {

using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

namespace {

/// A thread's leases. Each holds a reference on its engine.
class Leases {
public:
    struct Lease {
        Engine* engine = nullptr;
        ThreadSlot* slot = nullptr;
    };

    Leases() = default;
    Leases(const Leases&) = delete;
    Leases& operator=(const Leases&) = delete;
    ~Leases();

    [[nodiscard]] ThreadSlot* find(const Engine& engine) noexcept {
        const auto at = std::ranges::find(leases_, &engine, &Lease::engine);
        return at == leases_.end() ? nullptr : at->slot;
    }
    /// False: no memory.
    ///
    /// The dead first: the engine may be, or become, one of them, and the caller is about to use the slot.
    [[nodiscard]] bool add(Engine& engine, ThreadSlot& slot) noexcept {
        end_dead();
        try {
            leases_.push_back({&engine, &slot});
        } catch (...) {
            return false;
        }
        engine.retain();
        return true;
    }

    void wake_for_open_batches() const noexcept {
        for (const Lease& lease : leases_)
            lease.engine->wake_for_batches(*lease.slot);
    }

private:
    // One at a time, and out of the list first: an engine's memory goes back to the user's resource, who may submit
    // meanwhile, and so come back to this list.
    void end_dead() noexcept;
    static void end(const Lease& lease) noexcept {
        lease.engine->end_batches(*lease.slot);
        SlotLease::give_up(lease.slot);
        lease.engine->release();
    }

    std::vector<Lease> leases_;
};

// Two plain words beside the list: the usual case is one read, and after the list's destruction (other thread-local
// objects may still submit) they can still be asked.
thread_local Leases::Lease last_used;
thread_local bool leases_gone = false;
thread_local Leases leases;

void Leases::end_dead() noexcept {
    const auto is_dead = [](const Lease& lease) { return lease.engine->dead(); };
    for (auto at = std::ranges::find_if(leases_, is_dead); at != leases_.end();
         at = std::ranges::find_if(leases_, is_dead)) {
        const Lease lease = *at;
        leases_.erase(at);
        if (last_used.engine == lease.engine)
            last_used = {};
        end(lease);
    }
}

Leases::~Leases() {
    leases_gone = true;
    last_used = {};
    for (const Lease& lease : leases_)
        end(lease);
}

}  // namespace

SlotLease::SlotLease(Engine& engine, bool& temporary) noexcept {
    if (last_used.engine == &engine) {
        slot_ = last_used.slot;
        return;
    }
    if (leases_gone) {
        slot_ = engine.lease_slot();
        temporary = slot_ != nullptr;
        return;
    }
    slot_ = leases.find(engine);
    if (slot_ == nullptr) {
        slot_ = engine.lease_slot();
        if (slot_ == nullptr)
            return;
        if (!leases.add(engine, *slot_)) {
            temporary = true;
            return;
        }
    }
    last_used = {&engine, slot_};
}

void SlotLease::adopt(Engine& engine, ThreadSlot& slot) noexcept {
    (void)leases.add(engine,
                     slot);  // without memory for that it is this thread's until it uses another engine
    last_used = {&engine, &slot};
}

void SlotLease::wake_for_open_batches() noexcept {
    if (!leases_gone)
        leases.wake_for_open_batches();
}

void SlotLease::give_up(ThreadSlot* slot) noexcept {
    // release: pairs with the acquire in Engine::lease_slot(); the next owner sees the slot as this one left it.
    if (slot == nullptr)
        return;
    sync::Ingress::leave_lane(*slot->lane);
    slot->leased.store(false, memory_order_release);
}

// **Progress**: lock-free, but for the allocation of a slot that no ended thread has left behind.
ThreadSlot* Engine::lease_slot() noexcept {
    for (ThreadSlot* slot = slots_.load(); slot != nullptr; slot = slot->next) {
        bool leased = false;
        // acquire: pairs with the release in give_up(). relaxed: only a glance.
        if (!slot->leased.load(memory_order_relaxed) &&
            slot->leased.compare_exchange_strong(leased, true, memory_order_acquire, memory_order_relaxed)) {
            sync::Ingress::reuse_lane(*slot->lane);
            return slot;
        }
    }
    auto* slot = new (std::nothrow) ThreadSlot;
    if (slot == nullptr)
        return nullptr;
    slot->lane = ingress_.add_lane();
    if (slot->lane == nullptr || !pool_.open(slot->nodes)) {
        delete slot;  // a lane stays behind, empty
        return nullptr;
    }
    slot->leased.store(true, memory_order_relaxed);            // published by the CAS
    slot->next = slots_.load(memory_order_relaxed);            // only linked to
    while (!slots_.compare_exchange_weak(slot->next, slot)) {  // seq_cst: see registry.hpp, reading marks
    }
    return slot;
}

}  // namespace sluice::detail
