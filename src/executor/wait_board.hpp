#pragma once

// Which workers wait inside jobs, of all executors in the process, and whether such a wait can end (E20).
//
// Roles. A worker that waits inside a job announces its wait in a slot of its own and takes it back afterwards. Any worker
// that is about to wait, or has waited for a while, reads all slots.
//
// Of waits that block each other exactly one is refused, the one that was announced last: a wait draws a number after it
// has announced itself, and looks only at those with lower ones. All seq_cst, so it sees whoever drew before it; but for one
// that has drawn a number and not written it yet. That one it misses, as it misses what blocks it later (a build that
// starts, finishes, and keeps its permit), so it asks again from time to time.

#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::detail {

class Engine;
struct ActorCell;
struct JobNode;

/// One announced wait. `waiter` is written after the fields below it and cleared first.
struct alignas(sync::cache_line) WaitSlot {
    sync::atomic<bool> taken{false};
    sync::atomic<std::uint64_t> number{0};           ///< drawn after the announcement; 0: not yet
    sync::atomic<const Engine*> waiter{nullptr};     ///< whose worker waits; null: nothing is announced
    sync::atomic<std::size_t> workers{0};            ///< how many that engine has
    sync::atomic<const ActorCell*> from{nullptr};    ///< the actor inside whose job it waits; null: none
    sync::atomic<const Engine*> awaited{nullptr};    ///< whose job it waits for
    sync::atomic<const JobNode*> node{nullptr};      ///< that job
    sync::atomic<const ActorCell*> target{nullptr};  ///< and its actor
};

class WaitBoard {
public:
    /// Workers that can wait inside jobs at the same time, in one process; more are refused.
    static constexpr std::size_t most_waits = 512;

    /// The process's. **Thread**: any.
    [[nodiscard]] static WaitBoard& instance() noexcept;

    /// Announces a wait; null: too many. **Progress**: lock-free. **Cost**: O(waits).
    [[nodiscard]] WaitSlot* announce(const Engine& waiter, const ActorCell* from,
                                     const JobNode& node) noexcept;
    static void take_back(WaitSlot& slot) noexcept;

    /// Whether this wait cannot end unless it is refused, or one that was announced before it. Asked on a worker's thread;
    /// `engine` is the worker's, whose cells and nodes may be looked into: those of other engines are only compared.
    ///
    /// A wait is blocked if a blocked wait stands inside the awaited actor, if all workers of the awaited executor are in
    /// blocked waits, or if what is awaited may need a heavy permit and all permits are held by heavy jobs whose installs
    /// stand behind blocked waits. Of all the ways to say which waits are blocked this takes the largest. **Cost**: O(waits^2), cubed in the worst case.
    [[nodiscard]] bool blocked(const WaitSlot& mine, const Engine& engine) const noexcept;

private:
    std::array<WaitSlot, most_waits> slots_;
    sync::atomic<std::size_t> used_{0};       ///< slots from here on were never taken
    sync::atomic<std::uint64_t> numbers_{0};  ///< the last that was drawn
};

}  // namespace sluice::detail
