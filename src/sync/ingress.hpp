#pragma once

// How jobs come in: each submitting thread has a FIFO lane of its own, and the holder of the scheduler's role
// merges the lanes by number (E14).
//
// Roles
//     submitter  the one thread that a lane belongs to at a time: push, push_bulk. It may hand the lane to
//                another thread, synchronised: what the old one pushed happens-before what the new one does.
//     consumer   whoever holds the scheduler's role: drain, next_number, all_emitted_below. Taking the role
//                synchronises with handing it back.
//     anybody    add_lane, pending, note_voided.
// Words
//     lane.pushed   jobs put into the lane, ever. Written by the submitter after the put; read by everybody.
//     lane.emitted  jobs of the lane that drain() returned, ever. Written by the consumer; read by everybody.
//     group.active  which of 64 lanes are looked at. A bit is set by who begins to use the lane, and cleared by the
//                   consumer when the lane is empty and nobody uses it: so a look costs what is in use.
//     lane.in_use   written by the submitter when it begins and ends to use the lane; read by the consumer.
//     voided        how many numbers will never arrive, and the largest of them.
// Invariant: emitted <= taken <= pushed <= put, for each lane: the consumer takes only what `pushed`
// announces, so a take finds what it looks for, and a lane is empty for pending() as soon as everything
// announced went out.
//
// The queue inside is moodycamel's ConcurrentQueue, one explicit producer a lane, taken from lane by lane
// (its own order over several producers is not ours, see core/ingress_order.hpp). No fence and no order here
// relies on its internals but this: a put happens-before the take of that item.

#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace sluice::core {
struct IngressRules;
struct Job;
}  // namespace sluice::core

namespace sluice::sync {

/// Rules: core::IngressRules, or a test's mutant of it.
template <typename Rules>
class BasicIngress {
public:
    class Lane;

    /// The numbers of the jobs begin with `first_number`. `memory` serves the lanes and must be safe to use
    /// from any thread that adds one; the queue's blocks come from malloc, for its hooks know no instance.
    /// May throw std::bad_alloc.
    explicit BasicIngress(std::pmr::memory_resource& memory, std::uint64_t first_number = 1);
    /// No other thread may be inside any operation. Jobs that were not drained are forgotten.
    ~BasicIngress();
    BasicIngress(const BasicIngress&) = delete;
    BasicIngress& operator=(const BasicIngress&) = delete;

    /// A new lane, which lives as long as the ingress.
    /// thread: any. progress: lock-free, up to the memory resource. errors: nullptr when out of memory.
    [[nodiscard]] Lane* add_lane() noexcept;

    /// The submitter will not push any more; the lane may be used again, by anybody that knows that it left.
    /// progress: wait-free.
    static void leave_lane(Lane& lane) noexcept;
    /// Before the first push into a lane that was left. progress: wait-free.
    static void reuse_lane(Lane& lane) noexcept;

    /// Puts a job, whose number is set, into the lane and announces it. The caller looks for sleepers
    /// afterwards (sync/lookout.hpp).
    /// thread: the lane's submitter. progress: wait-free, up to malloc. errors: false when out of memory, and
    /// nothing was put.
    /// memory: allocates only while the lane holds more jobs than ever before.
    [[nodiscard]] static bool push(Lane& lane, core::Job& job) noexcept;
    /// As push for several jobs with increasing numbers: all or none, announced at once.
    [[nodiscard]] static bool push_bulk(Lane& lane, core::Job* const* jobs, std::size_t count) noexcept;

    /// A number was taken, its job will never be pushed, and nobody refers to it any more.
    /// thread: any. progress: lock-free.
    void note_voided(std::uint64_t number) noexcept;

    /// Takes at most `max` jobs out, in an order that E14 allows. Waits for nobody: a number whose job is not
    /// there yet comes out late.
    /// thread: the consumer. progress: wait-free: a look at all lanes lets a job out, or finds one of the finitely
    /// many smaller numbers that were on their way.
    [[nodiscard]] std::size_t drain(core::Job** out, std::size_t max) noexcept;

    /// Whether a job was announced that was not drained.
    /// thread: any. progress: wait-free, O(lanes in use). It is the look of the parking handshake: a job announced
    /// before the caller took itself out of the lookers is seen. May be true for a job that is being drained
    /// at the moment, never false for one that was not drained.
    [[nodiscard]] bool pending() const noexcept;

    /// One more than the largest number that came out. thread: the consumer.
    [[nodiscard]] std::uint64_t next_number() const noexcept;
    /// Whether every number below n came out or was voided. Never true too early; false may also mean that a
    /// number below next_number() but not below n is missing, or that a voided one is not below either. Exact
    /// when no number from n on was taken, as after closing the admission. thread: the consumer.
    [[nodiscard]] bool all_emitted_below(std::uint64_t n) const noexcept;

    /// How many lanes were added, ever. thread: any.
    [[nodiscard]] std::size_t lanes() const noexcept;

private:
    struct Inside;
    struct Group;

    [[nodiscard]] Group* group_of(std::size_t index) noexcept;
    static void announce(Lane& lane, std::uint64_t count) noexcept;

    Inside* inside_;
};

using Ingress = BasicIngress<core::IngressRules>;
extern template class BasicIngress<core::IngressRules>;

}  // namespace sluice::sync
