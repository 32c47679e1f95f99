#pragma once

// What one worker has claimed from the run queue: whole runs, of which it takes job after job, and whose rest
// the scheduler's role may take back.
//
// Roles
//     owner     the worker: publish (through RunQueue::claim), take_next, inside_run, used_up; and revoke, to
//               give back what it has no time for.
//     role      whoever holds the scheduler's role: revoke.
//     anybody   observe.
// Words
//     word_       core::ClaimWord: generation, next, end. core/words/claim_word.hpp has the bits.
//     entries_    the claimed jobs, packed RunEntry. Written by the owner while the claim has nothing left;
//                 read by the owner and by the role.
// Invariant: entry i of a claim is the owner's to run if its fetch_add on the word returned next == i < end
// (entry 0 is from the beginning), and a revoker's if its CAS moved `end` from beyond i to i or below. Each
// entry goes one way, since all of this happens on the one word.
//
// The role reads the entries before its CAS, for afterwards the owner may claim again and overwrite them:
//     role: word = {g, next 1, end 3}          owner: takes nothing more (end is 1), claims, writes entry 1
//           CAS end = 1                               reads entry 1: a job of the next claim
// What it read in vain, because the owner went on, is thrown away with the failed CAS. A claim of one job is
// never published: there is no rest. The model is tests/models/claim.pml.

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/words/claim_word.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/run_entry.hpp"

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct ClaimRules {
    /// Revokes by CAS; a mutant stores the new word.
    static constexpr bool revoke_by_cas = true;
    /// Reads the entries before the CAS.
    static constexpr bool read_before_cas = true;
};

/// The rest of a claim, taken back.
struct RevokedRest {
    std::uint32_t count = 0;  ///< How many entries were written.
    /// The first of them belongs to the run that the owner is inside; otherwise it begins a run that nobody
    /// started.
    bool continues_run = false;
};

template <typename Rules>
class BasicClaim {
public:
    static constexpr std::uint32_t most = core::ClaimWord::most;

    BasicClaim() = default;
    BasicClaim(const BasicClaim&) = delete;
    BasicClaim& operator=(const BasicClaim&) = delete;

    /// The next job, or an entry without a job: nothing is left, and the owner may claim again.
    /// thread: the owner. progress: wait-free. cost: one read-modify-write from the second job of a claim on.
    [[nodiscard]] RunEntry take_next() noexcept {
        if (begun_ == count_) {
            return {};
        }
        if (begun_ > 0) {
            // Acquire: partner of revoke's CAS, so that the role's reads of the entries come before the owner
            // overwrites them. Publishes nothing: as a read-modify-write it continues the release sequence of
            // publish().
            const core::ClaimWord old{word_.fetch_add(core::ClaimWord::one_taken, memory_order_acquire)};
            const core::Taken taken = core::taken(old);
            if (!taken.mine) {
                count_ = begun_;
                return {};
            }
            assert(taken.index == begun_);
        }
        // Relaxed: the owner wrote it.
        const RunEntry entry = unpacked(entries_[begun_].load(memory_order_relaxed));
        ++begun_;
        inside_run_ = !entry.ends_run;
        return entry;
    }

    /// Whether the last job taken was not the last of its run. After an empty take_next: the rest of that run
    /// was taken back.
    /// thread: the owner.
    [[nodiscard]] bool inside_run() const noexcept {
        return inside_run_;
    }

    /// Whether nothing is left, as far as the owner knows without asking. thread: the owner.
    [[nodiscard]] bool used_up() const noexcept {
        return begun_ == count_;
    }

    /// Takes back what the owner has not begun, in order.
    /// thread: the role, or the owner, at the same time too. progress: lock-free; gives up, with nothing,
    /// when the owner took a job during each of `revoke_tries` tries: such a worker is not stuck. cost: one
    /// CAS.
    [[nodiscard]] RevokedRest revoke(std::span<RunEntry, most> out) noexcept {
        for (std::uint32_t tries = 0; tries < revoke_tries; ++tries) {
            // Acquire: partner of publish's release. The entries of that claim, or later ones, are seen
            // below.
            core::ClaimWord old{word_.load(memory_order_acquire)};
            const core::Revoked revoked = core::revoked(old);
            if (revoked.count == 0) {
                return {};
            }
            RevokedRest rest;
            if (Rules::read_before_cas) {
                rest = read(revoked, out);
            }
            if (!Rules::revoke_by_cas) {
                word_.store(revoked.word.bits, memory_order_release);
                return rest;
            }
            // Release: partner of take_next's acquire. Relaxed on failure: the loop loads again.
            if (word_.compare_exchange_strong(old.bits, revoked.word.bits, memory_order_release,
                                              memory_order_relaxed)) {
                return Rules::read_before_cas ? rest : read(revoked, out);
            }
        }
        return {};
    }

    /// How the claim stands: left() jobs could be revoked at this instant; an unchanged word with something
    /// left means an owner that stands still.
    /// thread: any. progress: wait-free.
    [[nodiscard]] core::ClaimWord observe() const noexcept {
        // Acquire: home decides from it, after it saw that nobody looks, whether it may sleep
        // (sync/lookout.hpp); what the owner did before it published is seen with it. Partner: publish's
        // release.
        return {word_.load(memory_order_acquire)};
    }

private:
    template <typename, std::size_t>
    friend class BasicRunQueue;

    // More than a claim has jobs: an owner that is only faster than the role loses at the latest with its
    // last job.
    static constexpr std::uint32_t revoke_tries = most + 1;

    // RunQueue::claim writes entries in place and then calls publish(). Only while used_up().
    void set_entry(std::uint32_t index, std::uintptr_t word) noexcept {
        // Relaxed: published by publish(). Of a role that still reads for an older claim, the CAS fails.
        entries_[index].store(word, memory_order_relaxed);
    }

    // The owner has the first job at once, without a read-modify-write. With only one job there is nothing to
    // publish.
    void publish(std::uint32_t count) noexcept {
        assert(used_up() && count > 0 && count <= most);
        begun_ = 0;
        count_ = count;
        if (count > 1) {
            // Only the owner starts a generation, and nothing is left of the last one, so no CAS can come in
            // between: a store will do. Relaxed load: the generation is the owner's own.
            const core::ClaimWord old{word_.load(memory_order_relaxed)};
            // Release: partner of the acquire loads in revoke() and observe().
            word_.store(core::after_take(core::published(old, count)).bits, memory_order_release);
        }
    }

    [[nodiscard]] RevokedRest read(const core::Revoked& revoked,
                                   std::span<RunEntry, most> out) const noexcept {
        for (std::uint32_t i = 0; i < revoked.count; ++i) {
            out[i] = unpacked(entries_[revoked.first + i].load(memory_order_relaxed));
        }
        const bool begins_run =
            revoked.first == 0 || unpacked(entries_[revoked.first - 1].load(memory_order_relaxed)).ends_run;
        return {revoked.count, !begins_run};
    }

    alignas(cache_line) atomic<std::uint64_t> word_{0};
    std::uint32_t begun_ = 0;  // owner: jobs of this claim that it took
    std::uint32_t count_ = 0;  // owner: jobs of this claim; less once it knows that the rest is gone
    bool inside_run_ = false;  // owner
    alignas(cache_line) std::array<atomic<std::uintptr_t>, most> entries_{};
};

using Claim = BasicClaim<ClaimRules>;

}  // namespace sluice::sync
