#pragma once

// Numbers for submissions, a bound on what is queued, and the closing of the door: one word, touched by submitters only.
//
// Roles. Submitter: any thread; takes a number by CAS. Closer: whoever shuts the executor down; sets the closed bit once.
// Encoding: core/words/admission_word.hpp.
//
// Exactness (E23). queued = numbers taken - jobs that left the queue. `left_` caches a lower bound of the latter, so a
// submitter that finds room by it has room; the CAS lets no two take the same. Only when the bound seems to be hit are
// the workers' counts summed up. So the limit costs nothing until it is near, and is never exceeded.
//
// Truth of a refusal (E34). The jobs that left are counted between two readings of the word. If it is the same, nobody was
// accepted meanwhile, so when the count began no fewer were queued than now seem to be: the queue was full, and the count
// is what met the bound. If not, the count is of a moment that has passed, and is made again.
// Nor does a count of those that left ever exceed the number that it is taken off: the word is read afterwards (acquire).

#include "core/words/admission_word.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

#include <cstdint>

namespace sluice::detail {

class Admission {
public:
    enum class Verdict : std::uint8_t { accepted, full, closed };
    struct Answer {
        Verdict verdict;
        std::uint64_t
            number;  ///< accepted: the job's, from 1; full: how many were queued, which is the limit
    };

    explicit Admission(std::uint64_t limit) noexcept : limit_(limit) {}

    /// Takes the next number, unless closed or full. `count_left()` gives how many jobs left the queue so far, never too
    /// many, and synchronises with them. **Progress**: lock-free: it tries again only when others were accepted.
    /// **Memory**: none.
    template <class CountLeft>
    [[nodiscard]] Answer take(CountLeft&& count_left) noexcept {
        // relaxed as far as numbers go: E14 needs that those of ordered submissions are ordered, and read-modify-writes of
        // one word are (coherence). What a number stands for is published by the ingress, not by this word. acquire, of
        // this load and of those of the word: each stays where it stands, before the count and after it (see above).
        std::uint64_t left = left_->load(sync::memory_order_acquire);  // pairs with the release below
        core::AdmissionWord word{word_->load(sync::memory_order_acquire)};
        bool counted = false;
        for (;;) {
            const core::Admission step = core::admission(word, left, limit_);
            if (step.action == core::AdmissionAction::refuse_closed)
                return {Verdict::closed, 0};
            if (step.action == core::AdmissionAction::refuse_full) {
                if (counted)
                    return {Verdict::full, step.queued};
                left = count_left();
                // Any lower bound will do, also an older one. release: who reads it sees the numbers that it counts.
                left_->store(left, sync::memory_order_release);
                const core::AdmissionWord before = word;
                word = {word_->load(sync::memory_order_acquire)};
                counted = word == before;
                continue;
            }
            if (word_->compare_exchange_weak(word.bits, step.word.bits, sync::memory_order_acquire,
                                             sync::memory_order_acquire)) {
                return {Verdict::accepted, step.first};
            }
            counted = false;  // others were accepted meanwhile, and others may have left
        }
    }

    /// Refuses all later submissions. Numbers up to the one returned were taken and will arrive. **Progress**: wait-free.
    std::uint64_t close() noexcept {
        // seq_cst: a thread that sees the shutdown announced elsewhere sees the door closed.
        return core::AdmissionWord{word_->fetch_or(core::AdmissionWord::closed_bit)}.number();
    }

    [[nodiscard]] bool closed() const noexcept {
        return core::AdmissionWord{word_->load()}.closed();
    }
    /// Numbers taken so far.
    [[nodiscard]] std::uint64_t taken() const noexcept {
        return core::AdmissionWord{word_->load()}.number();
    }
    [[nodiscard]] std::uint64_t limit() const noexcept {
        return limit_;
    }

private:
    sync::CacheAligned<sync::atomic<std::uint64_t>> word_;
    sync::CacheAligned<sync::atomic<std::uint64_t>> left_;
    const std::uint64_t limit_;
};

}  // namespace sluice::detail
