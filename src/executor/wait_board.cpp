#include "executor/wait_board.hpp"

#include "core/words/job_word.hpp"
#include "executor/engine.hpp"

#include <span>

namespace sluice::detail {

namespace {

/// A wait as it was read, and whether it is blocked as far as is known.
struct Seen {
    const Engine* waiter;
    const Engine* awaited;
    std::size_t workers;  ///< of `waiter`
    const ActorCell* from;
    const ActorCell* target;
    bool own_from;      ///< `from` is a cell of the engine that asks
    bool needs_permit;  ///< of that engine, perhaps
    bool blocked;
};

/// Whether a blocked wait stands inside `actor`.
bool blocked_inside(std::span<const Seen> waits, const ActorCell* actor) noexcept {
    for (const Seen& wait : waits) {
        if (wait.blocked && wait.from == actor)
            return true;
    }
    return false;
}

/// Heavy jobs that hold permits and cannot end: their actors have blocked waits inside.
std::uint32_t permits_held_back(std::span<const Seen> waits) noexcept {
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < waits.size(); ++i) {
        const ActorCell* actor = waits[i].from;
        if (waits[i].blocked && actor != nullptr && waits[i].own_from &&
            !blocked_inside(waits.first(i), actor)) {
            count += actor->heavy_in_flight.load();
        }
    }
    return count;
}

/// Whether each worker of an engine is in a blocked wait.
bool no_worker_left(std::span<const Seen> waits, const Engine* engine) noexcept {
    std::size_t blocked = 0;
    std::size_t workers = 1;
    for (const Seen& wait : waits) {
        if (!wait.blocked || wait.waiter != engine)
            continue;
        ++blocked;
        workers = wait.workers;
    }
    return blocked >= workers;
}

}  // namespace

WaitBoard& WaitBoard::instance() noexcept {
    static constinit WaitBoard board;
    return board;
}

WaitSlot* WaitBoard::announce(const Engine& waiter, const ActorCell* from, const JobNode& node) noexcept {
    for (std::size_t i = 0; i < most_waits; ++i) {
        WaitSlot& slot = slots_[i];
        if (slot.taken.load() || slot.taken.exchange(true))
            continue;
        std::size_t used = used_.load();
        while (used <= i && !used_.compare_exchange_weak(used, i + 1)) {}
        slot.workers.store(waiter.config().pool_size);
        slot.from.store(from);
        slot.target.store(static_cast<const ActorCell*>(node.actor));
        slot.node.store(&node);
        slot.awaited.store(node.engine);
        slot.waiter.store(&waiter);
        slot.number.store(numbers_.fetch_add(1) + 1);
        return &slot;
    }
    return nullptr;
}

void WaitBoard::take_back(WaitSlot& slot) noexcept {
    slot.waiter.store(nullptr);
    slot.number.store(0);
    slot.taken.store(false);
}

bool WaitBoard::blocked(const WaitSlot& mine, const Engine& engine) const noexcept {
    std::array<Seen, most_waits> all;
    std::size_t count = 0;
    std::size_t self = 0;
    const std::uint64_t last = mine.number.load();
    for (std::size_t i = 0; i < used_.load(); ++i) {
        const WaitSlot& slot = slots_[i];
        const Engine* waiter = slot.waiter.load();
        const std::uint64_t number = slot.number.load();
        if (waiter == nullptr || number == 0 || number > last)
            continue;
        const bool own = slot.awaited.load() == &engine;
        const ActorCell* target = slot.target.load();
        // Own cells and nodes stay readable; a wait whose job has ended is about to go, and blocks nobody.
        if (own && core::job_word::done(slot.node.load()->state.load()) && &slot != &mine)
            continue;
        if (&slot == &mine)
            self = count;
        all[count++] = {waiter,
                        slot.awaited.load(),
                        slot.workers.load(),
                        slot.from.load(),
                        target,
                        waiter == &engine,
                        own && target->heavy_queued.load() != 0,
                        true};
    }
    const auto waits = std::span(all).first(count);
    for (bool changed = true; changed;) {
        changed = false;
        const bool no_permit = permits_held_back(waits) >= engine.config().heavy_permits;
        for (Seen& wait : waits) {
            if (!wait.blocked || blocked_inside(waits, wait.target) || no_worker_left(waits, wait.awaited) ||
                (wait.needs_permit && no_permit)) {
                continue;
            }
            wait.blocked = false;
            changed = true;
        }
    }
    return waits[self].blocked;
}

}  // namespace sluice::detail
