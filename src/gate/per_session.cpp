// max_queued_per_session (T16): exact, without a table of sessions.
//
// Who wants to join counts those of its session that wait, announces itself, and then says so in the version of its session's bucket, by
// a CAS from the version that it read before it counted. Others count whoever is announced.
//     A: reads version v          B: reads version v
//     A: counts, announces        B: counts, announces
//     A: version v -> v + 1       B: fails: takes its announcement back, and counts A the next time
// So of two that counted without seeing each other only one goes on. Sessions share buckets, which costs a second count and no more.
// Who is refused has met a full session at the moment of its count, or others that were joining just then.
//
// Only gates with the limit come here; counting goes over all places in use.

#include "gate/gate_state.hpp"

namespace sluice::detail {

using core::WaiterPhase;
using core::WaiterWord;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_seq_cst;

/// How many of this waiter's session wait or are announced, itself not among them.
std::uint32_t GateState::count_session(std::uint32_t self) const noexcept {
    const Waiter& mine = waiters_[self];
    const std::uint64_t hash = mine.session_hash.load(memory_order_relaxed);  // our own
    const std::uint32_t used = used_.load(memory_order_acquire);  // partner of the release in take_waiter()
    std::uint32_t count = 0;
    for (std::uint32_t index = 0; index < used; ++index) {
        const Waiter& other = waiters_[index];
        const WaiterWord seen{other.word.load(memory_order_acquire)};
        // seq_cst: after the version was read. What was announced before that version is seen, with its session.
        const bool counts = index != self && seen.open() &&
                            (seen.phase() == WaiterPhase::waiting ||
                             other.announced.load(memory_order_seq_cst) == seen.generation());
        // Relaxed: ordered by either of the two above; of another life, if the word says so below.
        if (counts && other.session_hash.load(memory_order_relaxed) == hash &&
            other.session.equals(mine.session)) {
            const WaiterWord again{other.word.load(memory_order_acquire)};
            count += again.open() && again.generation() == seen.generation() ? 1U : 0U;
        }
    }
    return count;
}

/// True: the waiter may join. False: `count` others of its session wait.
bool GateState::enter_session(std::uint32_t index, std::uint32_t& count) noexcept {
    Waiter& waiter = waiters_[index];
    const std::uint32_t generation = WaiterWord{waiter.word.load(memory_order_relaxed)}.generation();
    auto& version =
        session_versions_[waiter.session_hash.load(memory_order_relaxed) % session_versions_.size()];
    for (;;) {
        std::uint64_t before = version.load(memory_order_seq_cst);
        count = count_session(index);
        if (count >= config_.max_queued_per_session)
            return false;
        // seq_cst: before the version; partner of the load above. It carries the session's name along.
        waiter.announced.store(generation, memory_order_seq_cst);
        if (version.compare_exchange_strong(before, before + 1, memory_order_seq_cst))
            return true;
        waiter.announced.store(0, memory_order_seq_cst);
    }
}

}  // namespace sluice::detail
