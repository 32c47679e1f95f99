#pragma once

// An actor's cell: the core's state of it, its context, and the counts that keep both alive.
//
// Roles. The core::Actor part belongs to whoever holds the scheduler's role. `phase` is written by registration, removal
// and by the worker whose exclusive job threw; anybody reads it. The counts are changed by anybody. The rest is written
// before the cell is published in the registry, and constant while anybody holds a reference.
//
// Life. Cells are type-stable: their memory lasts as long as the engine, so that a look-up may try to take a reference
// on a cell that is being recycled (`refs` zero: it fails). References: one of the registry while registered, one of the
// scheduler until it is through with the actor, one a handle. The context has references of its own: the scheduler's,
// and one a listing. A cell whose last reference is dropped is *retired*: it waits until the ingress has emitted every
// number that was taken by then (a job for it may still be under way; E14 orders it before), then it is free.

#include "core/actor_state.hpp"
#include "sync/atomic.hpp"

#include <sluice/detail/engine_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

namespace sluice::detail {

class Engine;

enum class ActorPhase : std::uint8_t { alive, fatal, removed };

struct alignas(16) ActorCell : core::Actor {
    // What observers see, written by the role holder: first `ended`, then `accepted` is read, so neither is ever ahead.
    sync::atomic<std::uint64_t> seen_accepted{0};
    sync::atomic<std::uint64_t> seen_ended{0};

    // Seldom used. It keeps what the role holder writes for each job, above, off the lines of what submitters read, below.
    sync::atomic<std::uint32_t> refs{0};
    sync::atomic<std::uint32_t> context_refs{0};
    std::size_t hash = 0;
    std::exception_ptr cause;      ///< what made it fatal; written before `phase` says so
    ActorCell* link = nullptr;     ///< in one list at a time: control requests, retired, free
    std::uint64_t retired_at = 0;  ///< the ingress must have emitted every number below
    // For waits inside jobs (wait_board.hpp).
    sync::atomic<std::uint32_t> heavy_queued{0};     ///< heavy jobs that have not started
    sync::atomic<std::uint32_t> heavy_in_flight{0};  ///< heavy jobs that have, and hold a permit

    // What each submission reads.
    Engine* engine = nullptr;
    sync::atomic<ActorPhase> phase{ActorPhase::removed};
    sync::atomic<std::uint32_t> queued{0};  ///< kept only under Config::max_queued_per_actor

    // Constant, and with it the next cell is as far away as the above is.
    std::string id;
    void* context = nullptr;
    const ContextType* type = nullptr;
};

// Cells lie one behind the other, on any multiple of 16: 48 bytes apart means never on one line.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
static_assert(offsetof(ActorCell, engine) - offsetof(ActorCell, refs) >= 48);
static_assert(sizeof(ActorCell) - offsetof(ActorCell, id) >= 48);
#pragma GCC diagnostic pop
static_assert(alignof(ActorCell) == 16, "four bits of a cell's address hold a tag in the registry");
static_assert(sizeof(ActorCell) <= 240,
              "an idle actor costs at most 256 bytes with its place in the registry");

}  // namespace sluice::detail
