#pragma once

// The life of a node, from a submission to the moment it may be used again.
//
//   bit 0..2    phase           free -> constructing -> queued -> running -> done -> free (see Phase)
//   bit 3       waiter          somebody sleeps on this word: whoever writes `done` wakes
//   bit 4       handle_dropped  no Completion refers to the node (any more): whoever writes `done` recycles
//   bit 5       orphan          the executor is gone: the last one frees the memory instead of recycling the node
//   bit 6..31   generation      counts lives, so that a stale handle can be told (26 bits)
//
// Written by: the submitter up to `queued`; then the executor (worker or role) moves the phase, and the holder of the
// handle sets waiter and handle_dropped. Those two meet on this word, so each writes by a read-modify-write, and exactly
// one of them is told to recycle: the later one.
// Invariant `one end`: of finish() and drop_handle(), whichever comes second returns recycle or free_memory; the first never.

#include <cstdint>

namespace sluice::core {

enum class Phase : std::uint8_t { free, constructing, queued, running, done };

struct JobStateWord {
    std::uint32_t bits = 0;

    static constexpr std::uint32_t phase_mask = 0b111;
    static constexpr std::uint32_t waiter_bit = 1U << 3;
    static constexpr std::uint32_t handle_dropped_bit = 1U << 4;
    static constexpr std::uint32_t orphan_bit = 1U << 5;
    static constexpr std::uint32_t generation_one = 1U << 6;
    static constexpr std::uint32_t generation_mask = ~(generation_one - 1);

    [[nodiscard]] constexpr Phase phase() const noexcept {
        return static_cast<Phase>(bits & phase_mask);
    }
    [[nodiscard]] constexpr bool waiter() const noexcept {
        return (bits & waiter_bit) != 0;
    }
    [[nodiscard]] constexpr bool handle_dropped() const noexcept {
        return (bits & handle_dropped_bit) != 0;
    }
    [[nodiscard]] constexpr bool orphan() const noexcept {
        return (bits & orphan_bit) != 0;
    }
    [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
        return bits >> 6;
    }
    [[nodiscard]] constexpr bool done() const noexcept {
        return phase() == Phase::done;
    }

    [[nodiscard]] constexpr JobStateWord with_phase(Phase phase) const noexcept {
        return {(bits & ~phase_mask) | static_cast<std::uint32_t>(phase)};
    }

    friend constexpr bool operator==(JobStateWord, JobStateWord) = default;
};

/// What the caller of a transition must do next, after its write has succeeded.
enum class JobStateAction : std::uint8_t {
    nothing,
    wake,         ///< Wake who sleeps on the word.
    recycle,      ///< Destroy the result, give the node back to the pool.
    free_memory,  ///< Destroy the result, free the memory: the pool is gone.
    not_allowed,  ///< The transition does not exist from this state: our own mistake. Write nothing.
};

struct JobStateStep {
    JobStateWord word;
    JobStateAction action = JobStateAction::nothing;
};

namespace job_state {

[[nodiscard]] constexpr JobStateAction last_one_out(JobStateWord word) noexcept {
    return word.orphan() ? JobStateAction::free_memory : JobStateAction::recycle;
}

/// A node leaves the pool. Old bits but the generation are forgotten. `posted`: there is no handle (E27).
[[nodiscard]] constexpr JobStateStep allocate(JobStateWord old, bool posted) noexcept {
    if (old.phase() != Phase::free)
        return {old, JobStateAction::not_allowed};
    const std::uint32_t kept = (old.bits & JobStateWord::generation_mask) + JobStateWord::generation_one;
    const std::uint32_t dropped = posted ? JobStateWord::handle_dropped_bit : 0;
    return {JobStateWord{kept | dropped}.with_phase(Phase::constructing), JobStateAction::nothing};
}

/// The closure is in the node, the node goes to the ingress.
[[nodiscard]] constexpr JobStateStep queue(JobStateWord old) noexcept {
    if (old.phase() != Phase::constructing)
        return {old, JobStateAction::not_allowed};
    return {old.with_phase(Phase::queued), JobStateAction::nothing};
}

/// A worker begins the job.
[[nodiscard]] constexpr JobStateStep start(JobStateWord old) noexcept {
    if (old.phase() != Phase::queued)
        return {old, JobStateAction::not_allowed};
    return {old.with_phase(Phase::running), JobStateAction::nothing};
}

/// The result is in the node: after a run, or without one (refused while constructing, failed while queued).
[[nodiscard]] constexpr JobStateStep finish(JobStateWord old) noexcept {
    if (old.phase() == Phase::free || old.done())
        return {old, JobStateAction::not_allowed};
    JobStateWord done = old.with_phase(Phase::done);
    done.bits &= ~JobStateWord::waiter_bit;
    if (old.handle_dropped())
        return {done, last_one_out(old)};
    return {done, old.waiter() ? JobStateAction::wake : JobStateAction::nothing};
}

/// The holder of the handle is about to sleep. It may if the result says so by `word.waiter()`; otherwise it is done.
[[nodiscard]] constexpr JobStateStep wait(JobStateWord old) noexcept {
    if (old.phase() == Phase::free || old.handle_dropped())
        return {old, JobStateAction::not_allowed};
    if (old.done())
        return {old, JobStateAction::nothing};
    return {{old.bits | JobStateWord::waiter_bit}, JobStateAction::nothing};
}

/// The handle goes (E19: that does not cancel the job).
[[nodiscard]] constexpr JobStateStep drop_handle(JobStateWord old) noexcept {
    if (old.phase() == Phase::free || old.handle_dropped())
        return {old, JobStateAction::not_allowed};
    JobStateWord dropped{old.bits | JobStateWord::handle_dropped_bit};
    dropped.bits &= ~JobStateWord::waiter_bit;
    return {dropped, old.done() ? last_one_out(old) : JobStateAction::nothing};
}

/// The executor is destroyed. Everything has completed by then, so only the handle is left to free a done node.
[[nodiscard]] constexpr JobStateStep abandon(JobStateWord old) noexcept {
    if (old.phase() == Phase::free || !old.done())
        return {old, JobStateAction::not_allowed};
    return {{old.bits | JobStateWord::orphan_bit}, JobStateAction::nothing};
}

/// The last one out has destroyed what was in the node.
[[nodiscard]] constexpr JobStateStep release(JobStateWord old) noexcept {
    if (!old.done() || !old.handle_dropped())
        return {old, JobStateAction::not_allowed};
    return {{old.bits & JobStateWord::generation_mask}, JobStateAction::nothing};
}

}  // namespace job_state
}  // namespace sluice::core
