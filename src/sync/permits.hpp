#pragma once

// A number of permits, taken and given back by anyone. Nobody waits here: who gets none is told so.
//
// Roles: any thread takes; whoever has a permit gives it back, from any thread.
// Encoding, transitions and invariant: core/words/permit_word.hpp. This file runs the CAS loop.
//
// Orders are seq_cst, so that a caller without a permit can be sure to hear of the next one, with a flag of
// its own:
//     taker                          giver
//     try_take()  -> none            give_back()
//     flag.store(true, seq_cst)      if (flag.load(seq_cst)) tell the taker
//     try_take()  once more
// What must not happen is that the second try misses the permit and the giver misses the flag. All four
// operations are in the one order of seq_cst operations: if the try comes before the give-back, so does the
// store of the flag before the load. With acquire and release both loads could read the old values. On x86-64
// it costs nothing: a read-modify-write is a full barrier there anyway, and a load is a plain one.

#include "core/words/permit_word.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

#include <cassert>
#include <cstdint>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct PermitsRules {
    /// Look and take in one step; a mutant may look, and then take.
    static constexpr bool take_by_cas = true;
    /// Between a mutant's two steps, where a thread may lose its CPU.
    static void rest() noexcept {}
};

template <typename Rules>
class BasicPermits {
public:
    explicit BasicPermits(std::uint32_t capacity) noexcept : word_(core::PermitWord::of(capacity, 0).bits) {}

    BasicPermits(const BasicPermits&) = delete;
    BasicPermits& operator=(const BasicPermits&) = delete;

    /// Takes a permit; false if all are out. Sees what earlier holders did before they gave theirs back.
    /// thread: any. progress: lock-free, also when none is left. memory: none.
    [[nodiscard]] bool try_take() noexcept {
        std::uint64_t before = word_.load(memory_order_seq_cst);
        for (;;) {
            const core::PermitStep step = core::one_taken({before});
            if (!step.allowed) {
                return false;
            }
            if constexpr (!Rules::take_by_cas) {
                Rules::rest();
                word_.store(step.after.bits, memory_order_seq_cst);
                return true;
            }
            if (word_.compare_exchange_weak(before, step.after.bits, memory_order_seq_cst)) {
                return true;
            }
        }
    }

    /// Gives a permit back that try_take gave out.
    /// thread: any. progress: lock-free. memory: none.
    void give_back() noexcept {
        // Relaxed: only a first guess for the CAS, which checks it. It is never older than the caller's own
        // take, so the word that it shows has at least one permit out.
        std::uint64_t before = word_.load(memory_order_relaxed);
        core::PermitStep step;
        do {
            step = core::one_given_back({before});
            if (!step.allowed) {
                // A mutant has lost count, which is for its stress to notice.
                assert(!Rules::take_by_cas && "a permit was given back that nobody had");
                return;
            }
        } while (!word_.compare_exchange_weak(before, step.after.bits, memory_order_seq_cst));
    }

    /// Permits that are not out, at some moment of the call.
    [[nodiscard]] std::uint32_t available() const noexcept {
        return core::PermitWord{word_.load(memory_order_seq_cst)}.available();
    }

    [[nodiscard]] std::uint32_t capacity() const noexcept {
        // Relaxed: this half of the word never changes.
        return core::PermitWord{word_.load(memory_order_relaxed)}.capacity();
    }

private:
    alignas(cache_line) atomic<std::uint64_t> word_;
};

using Permits = BasicPermits<PermitsRules>;

}  // namespace sluice::sync
