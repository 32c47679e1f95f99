// How a gate begins and ends.
//
// The end, in steps:
//   1. `closed` is set: nobody is admitted, nobody joins any more; whoever joined before is seen by the look that follows.
//   2. The timers are cleared. One that is being set at that moment sees `closed` afterwards, and clears itself; one whose call is being
//      made finds nobody.
//   3. The line is dropped by whoever holds the baton; each waiter gets exactly one outcome, and is told by its courier.
//   4. The closer waits until no visit but its own is left: no callback runs, none is still to come. A release that comes now finds
//      nobody waiting.
//   5. `deserted` is set; the last ticket frees the memory, or, if there is none, the closer does.

#include "core/gate_normalise.hpp"
#include "gate/gate_state.hpp"
#include "memory/default_resource.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace sluice::detail {

using core::GateWord;
using sync::memory_order_acq_rel;
using sync::memory_order_seq_cst;

/// Where the parts lie in the one block of memory, and how many there are of each.
struct GateState::Memory {
    std::byte* base = nullptr;
    std::size_t waiters = 0;
    std::size_t groups = 0;
    std::size_t buckets = 0;
    std::size_t waiters_at = 0;
    std::size_t line_at = 0;
    std::size_t groups_at = 0;
    std::size_t buckets_at = 0;
    std::size_t size = 0;

    template <class T>
    [[nodiscard]] std::span<T> make(std::size_t at, std::size_t count) const noexcept {
        T* const first = reinterpret_cast<T*>(base + at);
        for (std::size_t i = 0; i < count; ++i)
            ::new (base + at + i * sizeof(T)) T();
        return {first, count};
    }
};

// Twice the waiters that there may be: one whole queue may be on its way to hear how it ended while the next one fills.
GateState::Memory GateState::layout(const EffectiveTurnConfig& config) noexcept {
    Memory memory;
    memory.waiters = std::size_t{config.max_queue_length} * 2;
    const bool by_session = config.order == TurnOrder::round_robin && memory.waiters > 0;
    memory.groups = by_session ? memory.waiters : 1;
    memory.buckets = by_session ? std::bit_ceil(memory.waiters) : 0;
    memory.waiters_at = sizeof(GateState);
    static_assert(sizeof(GateState) % alignof(Waiter) == 0 && sizeof(Waiter) % alignof(core::LineGroup) == 0);
    memory.groups_at = memory.waiters_at + memory.waiters * sizeof(Waiter);
    memory.line_at = memory.groups_at + memory.groups * sizeof(core::LineGroup);
    memory.buckets_at = memory.line_at + memory.waiters * sizeof(core::LineWaiter);
    memory.size = memory.buckets_at + memory.buckets * sizeof(std::uint32_t);
    return memory;
}

GateState::GateState(const EffectiveTurnConfig& config, const Memory& memory) noexcept
    : cap_(config.initial_concurrent_turns),
      adaptive_(config.limit != LimitPolicy::fixed),
      config_(config),
      backoff_rules_(core::backoff_rules_of(config)),
      began_(config.clock->now()),
      memory_(config.memory),
      memory_size_(memory.size),
      waiters_(memory.make<Waiter>(memory.waiters_at, memory.waiters)),
      line_(memory.make<core::LineWaiter>(memory.line_at, memory.waiters),
            memory.make<core::LineGroup>(memory.groups_at, memory.groups),
            memory.make<std::uint32_t>(memory.buckets_at, memory.buckets)),
      limit_({config.limit, config.min_concurrent_turns, config.max_concurrent_turns},
             config.initial_concurrent_turns),
      backoff_(core::BackoffWord::of(backoff_rules_.base_ms, 0).bits),
      sessions_(config.max_live_sessions) {
    for (std::size_t index = waiters_.size(); index-- > 0;)
        free_.push(static_cast<std::uint32_t>(index), links());
}

Result<GateState*> GateState::make(const TurnGateConfig& asked) {
    auto config = core::normalise(asked);
    if (!config)
        return std::unexpected(
            Error({.code = ErrorCode::invalid_argument, .message = config.error().message()}));
    if (config->clock == nullptr)
        config->clock = &system_clock();
    if (config->memory == nullptr)
        config->memory = memory::default_resource();
    Memory memory = layout(*config);
    try {
        memory.base = static_cast<std::byte*>(config->memory->allocate(memory.size, alignof(GateState)));
    } catch (const std::bad_alloc&) {
        return std::unexpected(
            Error({.code = ErrorCode::out_of_memory, .message = "there was no memory for the gate"}));
    }
    return ::new (memory.base) GateState(*config, memory);
}

void GateState::unref() noexcept {
    // Acquire and release: what each holder did comes before the end.
    if (refs_.fetch_sub(1, memory_order_acq_rel) != 1)
        return;
    std::pmr::memory_resource* const memory = memory_;
    const std::size_t size = memory_size_;
    std::destroy(waiters_.begin(), waiters_.end());
    this->~GateState();
    memory->deallocate(this, size, alignof(GateState));
}

// seq_cst: the closer sets `closed` and then looks for visits; a visit is counted before it looks at the word.
GateState::Visit::Visit(GateState& gate) noexcept : gate_(gate) {
    gate_.add_ref();
    gate_.inside_.fetch_add(1, memory_order_seq_cst);
}

GateState::Visit::~Visit() {
    gate_.deliver(mail);
    gate_.inside_.fetch_sub(1, memory_order_seq_cst);
    // seq_cst: the closer sets `closed` and reads `inside_`, this is the other way round; one of the two sees the other.
    if (core::GateWord{gate_.word_.load(memory_order_seq_cst)}.closed())
        sync::wake_all(gate_.inside_);
    gate_.unref();
}

void GateState::shutdown() noexcept {
    Visit visit(*this);
    GateWord seen = word();
    while (!seen.closed() && !step(seen, {seen.bits | GateWord::closed_bit})) {}
    clear_timers();
    look(visit.mail);
}

void GateState::close() noexcept {
    shutdown();
    deliver_pending();  // if this is inside a callback of this gate: waiters hear of the end before it
    const std::uint32_t own = inside_callback() ? 1 : 0;
    for (std::uint32_t inside = inside_.load(memory_order_seq_cst); inside > own;
         inside = inside_.load(memory_order_seq_cst))
        sync::wait(inside_, inside);
    GateWord seen = word();
    while (!step(seen, {seen.bits | GateWord::deserted_bit})) {}
    if (seen.in_flight() == 0)
        unref();  // the tickets' share
    unref();      // the gate's own
}

}  // namespace sluice::detail
