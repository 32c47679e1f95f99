#pragma once

// The queue from the scheduler to the workers: a bounded ring of jobs in runs, put by the role, claimed in
// bulk by whoever is free.
//
// Roles
//     role      whoever holds the scheduler's role: try_push_run, announce, recall. Taking the role
//               synchronises with handing it back.
//     claimer   any worker, with its own claim: claim.
//     anybody   empty, size.
// Words
//     slots_[i % capacity]  packed RunEntry (sync/run_entry.hpp): the job at position i, and whether it ends
//                           its run
//     tail_                 one past the last position put; written by the role
//     head_                 the first position that nobody claimed; moved by claimers' CAS, past whole runs
// Positions are 64 bits and never wrap. Invariant: head_ <= tail_ <= head_ + capacity; the slots from head_
// to tail_ hold whole runs.
//
// A claimer copies the slots before its CAS on head_, for afterwards the role may put new jobs into them.
// What it copied in vain, because another was faster, is overwritten; nothing that the entries point to is
// touched before the CAS.
//
// Between its CAS and the publication of its claim a claimer holds jobs that nobody else can see: a few
// instructions. If it is suspended there, they wait.

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/job.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/claim.hpp"
#include "sync/run_entry.hpp"

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct RunQueueRules {
    /// Copies the slots before the CAS.
    static constexpr bool copy_before_cas = true;
    /// Claims by CAS; a mutant stores the new head.
    static constexpr bool claim_by_cas = true;
};

/// Two turns of 512 jobs, which is the longest backlog that run-ahead allows (E28, design.md).
inline constexpr std::size_t run_queue_capacity = 1024;

template <typename Rules, std::size_t Capacity>
class BasicRunQueue {
    static_assert(std::has_single_bit(Capacity));

public:
    static constexpr std::size_t capacity = Capacity;
    /// A run is claimed whole, and a claim holds no more.
    static constexpr std::uint32_t longest_run = core::ClaimWord::most;

    BasicRunQueue() = default;
    BasicRunQueue(const BasicRunQueue&) = delete;
    BasicRunQueue& operator=(const BasicRunQueue&) = delete;

    /// Puts the `count` jobs that begin with `first` and are linked by `next` as one run; all, or none when
    /// they do not fit.
    /// thread: the role. progress: wait-free. Awake workers see it at once; call announce() before asking
    /// whether one sleeps.
    [[nodiscard]] bool try_push_run(core::Job* first, std::uint32_t count) noexcept {
        assert(count > 0 && count <= longest_run);
        // Relaxed: only the role writes it.
        const std::uint64_t tail = tail_.load(memory_order_relaxed);
        if (room(tail) < count) {
            return false;
        }
        core::Job* job = first;
        for (std::uint32_t i = 0; i < count; ++i) {
            const RunEntry entry{job, i + 1 == count};
            job = job->next;
            // Relaxed: published by the store below.
            slot(tail + i).store(packed(entry), memory_order_relaxed);
        }
        // Release: partner of the acquire loads of tail_ in take_runs(). Slots and jobs are seen with it.
        tail_.store(tail + count, memory_order_release);
        return true;
    }

    /// Orders the runs put so far before what the caller looks at next.
    /// thread: the role, after a series of try_push_run and before it asks for sleepers. progress: wait-free.
    void announce() noexcept {
        // Sequentially consistent, against a worker that says that it sleeps and then looks at empty().
        // Without it:
        //     role:    [tail = 1, not yet visible]  parked -> nobody, no wake-up
        //     worker:  parked = me                  tail -> 0, empty, sleeps
        // The same value again: once a turn, and not once a run.
        tail_.store(tail_.load(memory_order_relaxed), memory_order_seq_cst);
    }

    /// Claims whole runs from the front: as many as make at most `max_jobs`, but one run in any case. Returns
    /// the number of jobs; take them by claim.take_next().
    /// thread: a claimer, with its own used-up claim. progress: lock-free: a failed CAS means that another
    /// claimed.
    template <typename ClaimRules>
    [[nodiscard]] std::uint32_t claim(BasicClaim<ClaimRules>& claim, std::uint32_t max_jobs) noexcept {
        assert(claim.used_up());
        const std::uint32_t count =
            take_runs(max_jobs, [&claim](std::uint32_t i, std::uintptr_t word) { claim.set_entry(i, word); });
        if (count > 0) {
            claim.publish(count);
        }
        return count;
    }

    /// Takes whole runs back from the front; call until it returns 0 to have all. (The role claims like
    /// anybody.)
    /// thread: the role. progress: lock-free.
    [[nodiscard]] std::uint32_t recall(std::span<RunEntry, longest_run> out) noexcept {
        return take_runs(longest_run,
                         [&out](std::uint32_t i, std::uintptr_t word) { out[i] = unpacked(word); });
    }

    /// thread: any. progress: wait-free. It is the look of the parking handshake: see announce().
    [[nodiscard]] bool empty() const noexcept {
        return size() == 0;
    }

    /// Exact for the role while nobody claims, otherwise a moment's value. thread: any. progress: wait-free.
    [[nodiscard]] std::size_t size() const noexcept {
        // head_ first, so that the difference is not negative; sequentially consistent tail_: partner of
        // announce().
        const std::uint64_t head = head_.load(memory_order_acquire);
        return static_cast<std::size_t>(tail_.load(memory_order_seq_cst) - head);
    }

private:
    [[nodiscard]] atomic<std::uintptr_t>& slot(std::uint64_t position) noexcept {
        return slots_[static_cast<std::size_t>(position % Capacity)];
    }

    [[nodiscard]] std::uint64_t room(std::uint64_t tail) noexcept {
        if (tail - head_seen_ + longest_run > Capacity) {
            // Acquire: partner of the claimers' CAS. What they copied, they have copied before the role puts
            // new jobs there.
            head_seen_ = head_.load(memory_order_acquire);
        }
        return Capacity - (tail - head_seen_);
    }

    template <typename Put>
    [[nodiscard]] std::uint32_t take_runs(std::uint32_t max_jobs, Put put) noexcept {
        for (;;) {
            // Acquire: another claimer saw a tail beyond this head; the load of tail_ below is not to return
            // an older one.
            std::uint64_t head = head_.load(memory_order_acquire);
            // Acquire: partner of try_push_run's release.
            const std::uint64_t tail = tail_.load(memory_order_acquire);
            const std::uint32_t count = whole_runs(head, tail, max_jobs, put);
            if (count == 0) {
                if (tail == head) {
                    return 0;
                }
                continue;  // overtaken by a whole lap while reading
            }
            if (!Rules::claim_by_cas) {
                head_.store(head + count, memory_order_release);
                return count;
            }
            // Release: partner of room()'s acquire, and of the acquire above. Relaxed on failure: the loop
            // loads again.
            if (head_.compare_exchange_strong(head, head + count, memory_order_release,
                                              memory_order_relaxed)) {
                if (!Rules::copy_before_cas) {
                    static_cast<void>(whole_runs(head, head + count, count, put));
                }
                return count;
            }
        }
    }

    // Puts the entries from `head` on, up to the last end of a run within `max_jobs`, or up to the first end.
    template <typename Put>
    [[nodiscard]] std::uint32_t whole_runs(std::uint64_t head, std::uint64_t tail, std::uint32_t max_jobs,
                                           Put put) noexcept {
        const std::uint64_t there = tail - head;
        const auto most = static_cast<std::uint32_t>(there < longest_run ? there : longest_run);
        std::uint32_t whole = 0;
        for (std::uint32_t i = 0; i < most && (i < max_jobs || whole == 0); ++i) {
            // Relaxed: put there before the tail that was read, or else the CAS on head_ fails.
            const std::uintptr_t word = slot(head + i).load(memory_order_relaxed);
            put(i, word);
            if ((word & ends_run_bit) != 0) {
                whole = i + 1;
            }
        }
        return whole;
    }

    alignas(cache_line) atomic<std::uint64_t> head_{0};
    alignas(cache_line) atomic<std::uint64_t> tail_{0};
    std::uint64_t head_seen_ = 0;  // role: a head that was, so that most puts do not touch the claimers' line
    alignas(cache_line) std::array<atomic<std::uintptr_t>, Capacity> slots_{};
};

using RunQueue = BasicRunQueue<RunQueueRules, run_queue_capacity>;

}  // namespace sluice::sync
