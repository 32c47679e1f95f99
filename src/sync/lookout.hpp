#pragma once

// Who is awake to find work, who sleeps, and how nobody sleeps while work waits.
//
// A *looker* is a thread that will look for work before it stops being a looker: it is awake, and not inside
// a job that may be long. Whoever makes work need not wake anybody while there is a looker.
//
// Roles
//     member    a thread with an index below members(): begin_park, cancel_park, park, park_for,
//               start_looking, stop_looking.
//     anybody   anyone_looking, wake_one, wake_another, and the counts.
// Words
//     lookers_    how many lookers there are. A waker counts the member that it wakes before that one runs.
//     parked_[w]  bit b: member 64 w + b sleeps, or is about to, and nobody has woken it yet. Set by the
//                 member. Cleared by the one waker that has counted it in lookers_ and now owes it an unpark,
//                 or by the member itself, which then counts itself.
//     parkers_    where the members sleep. A token may be left over from a wake that its member did not wait
//                 for, so a member asks its bit.
// Invariant: if work was announced that nobody has found, then a looker exists that has not looked since, or
// a waker is on its way to make one, or each member is inside a job, or somebody was told by wake_one that it woke nobody
// and sees to it (the home thread, sync/alarm.hpp).
//
// The protocol; each line is two steps in this order, all of them sequentially consistent:
//     whoever makes work        announce it (Ingress::push, RunQueue::announce), wake_one()
//     a member that parks       begin_park(): bit, then lookers_ - 1; look. Work: cancel_park(); none: park()
//     ... that enters a long job stop_looking(); was it the last, look. Work: wake_one()
// Were the look before the count, or the question before the announcement, work would be lost:
//     member: looks, finds nothing     submitter: announces, lookers_ is 1      member: lookers_ = 0, sleeps
//     submitter: lookers_ is 1         member: lookers_ = 0, looks, sleeps      submitter: announces
// The model is tests/models/parking.pml.
//
// A looker may be inside a job that was expected to be short, and turns out long. So who leaves because somebody looks
// arms the alarm of sync/alarm.hpp, and so does a member that enters a job with a claimed rest behind it. Who woke a member
// need not: that one looks.

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/parker.hpp"

namespace sluice::sync {

/// What became of a call for a looker.
enum class Wake : std::uint8_t {
    nobody,         ///< nobody looks and nobody sleeps
    looks_already,  ///< there was a looker; it may be inside a job
    woke,           ///< a member was woken, and will look
};

/// What a test changes to see its stress fail; nobody else does.
struct LookoutRules {
    /// A waker wakes; a mutant only clears the bit.
    static constexpr bool unpark = true;
    /// A member that finds its bit cleared leaves the count to the waker.
    static constexpr bool count_once = true;
    /// A member believes its bit and not a token.
    static constexpr bool ask_the_bit = true;
    /// A waker that found nobody asks again after it took its count back.
    static constexpr bool ask_again = true;
};

template <typename Rules, std::size_t MostMembers>
class BasicLookout {
public:
    static constexpr std::size_t most_members = MostMembers;

    /// No member looks yet: each calls start_looking() when it starts.
    explicit BasicLookout(std::size_t members) noexcept : members_(members) {
        assert(members > 0 && members <= most_members);
    }
    BasicLookout(const BasicLookout&) = delete;
    BasicLookout& operator=(const BasicLookout&) = delete;

    [[nodiscard]] std::size_t members() const noexcept {
        return members_;
    }

    // For whoever makes work.

    /// thread: any. progress: wait-free. True: what the caller announced before will be looked at.
    [[nodiscard]] bool anyone_looking() const noexcept {
        return lookers_.load(memory_order_seq_cst) != 0;
    }

    /// Sees to it that somebody looks at what the caller announced before. Unless it woke somebody the caller arms
    /// whoever watches over those that are inside jobs.
    /// thread: any. progress: lock-free: a failed CAS or a missed bit means that another woke a member. cost:
    /// a load while somebody looks; otherwise the wake-up.
    [[nodiscard]] Wake wake_one() noexcept {
        for (;;) {
            std::uint32_t none = 0;
            if (anyone_looking() || !lookers_.compare_exchange_strong(none, 1, memory_order_seq_cst)) {
                return Wake::looks_already;
            }
            if (wake_lowest()) {
                return Wake::woke;
            }
            // Nobody to pass the count to. While it stood, another submitter may have relied on it and a
            // member may have gone to sleep: who set its bit before the count was taken back may have looked
            // before that submitter announced. So ask once more.
            //     waker: lookers_ = 1, nobody parked    member: bit, lookers_ 2 -> 1, looks, sleeps
            //     other: announces, lookers_ is 1       waker: lookers_ = 0
            const bool last = lookers_.fetch_sub(1, memory_order_seq_cst) == 1;
            if (!Rules::ask_again || (last && !anyone_parked())) {
                return Wake::nobody;
            }
        }
    }

    /// Wakes one more member although somebody looks: there is work for two, or the looker may be stuck.
    /// False: nobody sleeps.
    /// thread: a looker, or one that looks again (or keeps watch) after false: for a moment it counted as a
    /// looker itself.
    /// progress: lock-free.
    bool wake_another() noexcept {
        lookers_.fetch_add(1, memory_order_seq_cst);
        if (wake_lowest()) {
            return true;
        }
        lookers_.fetch_sub(1, memory_order_seq_cst);
        return false;
    }

    // For members.

    /// The caller looks for work from now on, and before it stops looking. progress: wait-free.
    void start_looking() noexcept {
        lookers_.fetch_add(1, memory_order_seq_cst);
    }

    /// The caller enters something long. True: it was the last looker, so it looks now, and calls wake_one()
    /// if there is work. Work that is announced from now on is not its concern. progress: wait-free.
    [[nodiscard]] bool stop_looking() noexcept {
        return leave();
    }

    /// First half of going to sleep; the caller then looks, and calls cancel_park, park or park_for.
    /// progress: wait-free.
    void begin_park(std::size_t member) noexcept {
        assert(member < members_ && (!is_parked(member) || !Rules::ask_the_bit));
        // The bit first: from the moment the count is gone, a waker must find it.
        word(member).fetch_or(bit(member), memory_order_seq_cst);
        leave();
    }

    /// The look found work: the caller is a looker again. True: a waker chose it at the same time.
    /// progress: wait-free; a waker that is between its two steps is not waited for, its token is left for
    /// the next park to ignore.
    bool cancel_park(std::size_t member) noexcept {
        const std::uint64_t before = word(member).fetch_and(~bit(member), memory_order_seq_cst);
        const bool woken = (before & bit(member)) == 0;
        if (!woken || !Rules::count_once) {
            lookers_.fetch_add(1, memory_order_seq_cst);
        }
        return woken;
    }

    /// Sleeps until a waker chooses the caller, which is then a looker again. What the waker did before is
    /// visible.
    /// progress: blocks until wake_one or wake_another chooses this member.
    void park(std::size_t member) noexcept {
        // A loop, for a token may be a left-over.
        do {
            if (Rules::ask_the_bit && !is_parked(member)) {
                return;
            }
            parkers_[member].value.park();
        } while (Rules::ask_the_bit);
    }

    /// As park, for at most this long. Either way the caller is a looker again. False: the time is over and
    /// nobody chose it.
    [[nodiscard]] bool park_for(std::size_t member, std::int64_t nanoseconds) noexcept {
        const std::int64_t begin = now_ns();
        std::int64_t left = nanoseconds;
        while (is_parked(member)) {
            if (!parkers_[member].value.park_for(left)) {
                return cancel_park(member);
            }
            left = nanoseconds - (now_ns() - begin);
        }
        return true;
    }

    // Counts, for decisions that may be wrong, for snapshots and for tests. thread: any. progress: wait-free.

    [[nodiscard]] std::uint32_t lookers() const noexcept {
        return lookers_.load(memory_order_seq_cst);
    }
    [[nodiscard]] bool anyone_parked() const noexcept {
        for (std::size_t w = 0; w <= (members_ - 1) / 64; ++w) {
            if (parked_[w].load(memory_order_seq_cst) != 0) {
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] std::size_t parked() const noexcept {
        std::size_t count = 0;
        for (std::size_t w = 0; w <= (members_ - 1) / 64; ++w) {
            count += static_cast<std::size_t>(std::popcount(parked_[w].load(memory_order_relaxed)));
        }
        return count;
    }
    /// Members woken, ever.
    [[nodiscard]] std::uint64_t wakes() const noexcept {
        return wakes_.load(memory_order_relaxed);
    }

private:
    [[nodiscard]] static std::uint64_t bit(std::size_t member) noexcept {
        return std::uint64_t{1} << (member % 64);
    }
    [[nodiscard]] atomic<std::uint64_t>& word(std::size_t member) noexcept {
        return parked_[member / 64];
    }
    // Acquire: partner of the waker's fetch_and; its announcement is seen with it.
    [[nodiscard]] bool is_parked(std::size_t member) const noexcept {
        return (parked_[member / 64].load(memory_order_acquire) & bit(member)) != 0;
    }

    // True: the caller was the last looker.
    bool leave() noexcept {
        const std::uint32_t before = lookers_.fetch_sub(1, memory_order_seq_cst);
        assert(before > 0 || !Rules::ask_the_bit);
        return before == 1;
    }

    // The caller has counted one looker more, and passes that count to the lowest sleeper: the lowest, so
    // that a few members stay warm.
    [[nodiscard]] bool wake_lowest() noexcept {
        for (std::size_t w = 0; w <= (members_ - 1) / 64; ++w) {
            std::uint64_t mask = parked_[w].load(memory_order_seq_cst);
            while (mask != 0) {
                const std::uint64_t lowest = mask & (~mask + 1);
                mask = parked_[w].fetch_and(~lowest, memory_order_seq_cst);
                if ((mask & lowest) != 0) {
                    // Relaxed: a count for tests and snapshots.
                    wakes_.fetch_add(1, memory_order_relaxed);
                    if (Rules::unpark) {
                        parkers_[64 * w + static_cast<std::size_t>(std::countr_zero(lowest))].value.unpark();
                    }
                    return true;
                }
                // Another waker, or the member itself, was faster; go on with what there was then.
            }
        }
        return false;
    }

    // All on one line: who parks or wakes writes both the count and a mask, and a submitter reads the count
    // only.
    alignas(cache_line) atomic<std::uint32_t> lookers_{0};
    std::array<atomic<std::uint64_t>, (MostMembers + 63) / 64> parked_{};
    atomic<std::uint64_t> wakes_{0};
    std::size_t members_;
    std::array<CacheAligned<Parker>, MostMembers> parkers_{};
};

using Lookout = BasicLookout<LookoutRules, 256>;

}  // namespace sluice::sync
