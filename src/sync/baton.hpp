#pragma once

// Lets one thread at a time work on a structure, for everybody who has work there, and lets nobody wait for it.
//
// Roles: any thread that has made work asks; one that is told so by ask() is the *holder*, works, and calls put_down()
// until it answers true.
// Encoding, transitions and invariant: core/words/baton_word.hpp. This file runs the CAS loops.
//
//     whoever has work             the holder
//     put the work where it is     do {
//       looked for                     look for work, and do it
//     if (ask()) be the holder     } while (!put_down());
//
// Work that was put before an ask() that answered false is seen by a look that begins after it: ask() writes `asked`, the
// holder's put_down() that finds it reads that value or a later one, and looks again. A plain load would not do where
// `asked` is set already: the asker has to join the release sequence, or its work could stay behind.
//
// The holder works for others as long as they ask. It must not call into users' code meanwhile: what it asked for would be
// done, but what others ask for would stand still. So it collects what is to be told, and tells it afterwards.
// tests/models/baton.pml is the model.

#include "core/words/baton_word.hpp"
#include "sync/atomic.hpp"

#include <cassert>
#include <cstdint>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct BatonRules {
    /// The holder goes round when it was asked meanwhile; a mutant may put the baton down all the same.
    static constexpr bool go_round = true;
    /// Look and take in one step; a mutant may look, and then take.
    static constexpr bool take_by_cas = true;
    /// Between a mutant's two steps, where a thread may lose its CPU.
    static void rest() noexcept {}
};

template <typename Rules>
class BasicBaton {
public:
    BasicBaton() = default;
    BasicBaton(const BasicBaton&) = delete;
    BasicBaton& operator=(const BasicBaton&) = delete;

    /// True: the caller is the holder now. False: the holder, or one after it, will look for work after this call.
    /// thread: any but the holder. progress: lock-free. memory: none.
    [[nodiscard]] bool ask() noexcept {
        // Relaxed: only a first guess for the CAS.
        core::BatonWord before{word_.load(memory_order_relaxed)};
        for (;;) {
            const core::BatonStep step = core::asked(before);
            if constexpr (!Rules::take_by_cas) {
                Rules::rest();
                word_.store(step.after.bits, memory_order_seq_cst);
                return step.holds;
            }
            // Release: partner of the acquire in put_down(), so that the holder sees the asker's work. Acquire:
            // partner of the release in put_down(), so that a new holder sees what the last one left.
            if (word_.compare_exchange_weak(before.bits, step.after.bits, memory_order_acq_rel,
                                            memory_order_relaxed)) {
                return step.holds;
            }
        }
    }

    /// The holder has done all that it found. True: it holds the baton no more. False: it was asked meanwhile, and looks
    /// again. thread: the holder. progress: lock-free. memory: none.
    [[nodiscard]] bool put_down() noexcept {
        core::BatonWord before{word_.load(memory_order_relaxed)};  // as in ask()
        for (;;) {
            assert(before.held() || !Rules::take_by_cas);
            const core::BatonStep step = core::put_down(before);
            const bool gone = !step.holds || !Rules::go_round;
            const core::BatonWord after = gone ? core::BatonWord{0} : step.after;
            // Release and acquire: partners of those in ask().
            if (word_.compare_exchange_weak(before.bits, after.bits, memory_order_acq_rel,
                                            memory_order_relaxed)) {
                return gone;
            }
        }
    }

    /// A glance: somebody works. For those who end the structure, and know that nobody asks any more.
    [[nodiscard]] bool held() const noexcept {
        // Acquire: partner of the release in put_down(): what the last holder did is seen if this says false.
        return core::BatonWord{word_.load(memory_order_acquire)}.held();
    }

private:
    atomic<std::uint32_t> word_{0};
};

using Baton = BasicBaton<BatonRules>;

}  // namespace sluice::sync
