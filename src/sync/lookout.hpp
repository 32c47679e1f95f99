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
//     lookers_     how many lookers there are. Each counts itself, a woken one too, when it runs.
//     sleepers_    a word for each member: awake, asleep, called (sleeper.hpp).
//     away_[w]     bit b: member 64 w + b is not awake, as its word says. Set and cleared by the member, so that a waker need not
//                  look at all words. Set after its word says asleep, cleared after its word says awake.
// Invariant: if work was announced that nobody has found, then a looker exists that has not looked since, or a member was
// called that has not said yet that it is awake, or whoever announced is still inside wake_one, or each member is inside a job, or
// somebody was told by wake_one that it woke nobody and sees to it (the home thread, sync/alarm.hpp).
// Nobody relies on another who has yet to do something: who finds a member called makes sure of the call itself.
//
// The protocol; each line is two steps in this order, all of them sequentially consistent:
//     whoever makes work        announce it (Ingress::push, RunQueue::announce), wake_one()
//     a member that parks       begin_park(): asleep, bit, lookers_ - 1; look. Work: cancel_park(); none: park()
//     ... that wakes            lookers_ + 1, awake; look
//     ... that enters a long job stop_looking(); was it the last, look. Work: wake_one()
// Were the look before the count, or the question before the announcement, work would be lost:
//     member: looks, finds nothing     submitter: announces, lookers_ is 1      member: lookers_ = 0, sleeps
//     submitter: lookers_ is 1         member: lookers_ = 0, looks, sleeps      submitter: announces
// Did a waker count the member that it is about to wake, others would rely on that count, and wait for the waker:
//     waker: lookers_ = 1, is preempted        submitter: announces, lookers_ is 1, leaves
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
#include "sync/sleeper.hpp"

namespace sluice::sync {

/// What became of a call for a looker.
enum class Wake : std::uint8_t {
    nobody,  ///< nobody looked and nobody slept; who has come back meanwhile will look
    looks_already,  ///< there was a looker, or one is on its way; it may be inside a job, or enter one for others first
    woke,  ///< a member was woken, and will look
};

/// What a test changes to see its stress fail; nobody else does.
struct LookoutRules : SleeperRules {
    /// A waker leaves the count to the member that it wakes; a mutant counts it as well.
    static constexpr bool count_once = true;
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
    /// thread: any. progress: wait-free. cost: a load while somebody looks; three while a member is being woken;
    /// otherwise the wake-up.
    [[nodiscard]] Wake wake_one() noexcept {
        if (anyone_looking()) {
            return Wake::looks_already;
        }
        for (std::size_t w = 0; w < words(); ++w) {
            for (std::uint64_t mask = away_[w].load(memory_order_seq_cst); mask != 0; mask &= mask - 1) {
                Sleeper& sleeper = sleepers_[64 * w + lowest(mask)].value;
                if (wake(sleeper)) {
                    return Wake::woke;
                }
                if (sleeper.help()) {
                    return Wake::looks_already;
                }
                // It has come back since nobody looked, so it will look.
            }
        }
        return Wake::nobody;
    }

    /// Wakes one more member although somebody looks: there is work for two, or the looker may be stuck. The lowest, so
    /// that a few members stay warm.
    /// False: nobody sleeps whom nobody has woken.
    /// thread: any. progress: wait-free.
    bool wake_another() noexcept {
        for (std::size_t w = 0; w < words(); ++w) {
            for (std::uint64_t mask = away_[w].load(memory_order_seq_cst); mask != 0; mask &= mask - 1) {
                if (wake(sleepers_[64 * w + lowest(mask)].value)) {
                    return true;
                }
            }
        }
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
        assert(member < members_);
        sleepers_[member].value.announce();
        // The bit first: from the moment the count is gone, a waker must find it.
        away_[member / 64].fetch_or(bit(member), memory_order_seq_cst);
        leave();
    }

    /// The look found work: the caller is a looker again. True: a waker chose it at the same time.
    /// progress: wait-free.
    bool cancel_park(std::size_t member) noexcept {
        return come_back(member);
    }

    /// Sleeps until a waker chooses the caller, which is then a looker again. What the waker did before is
    /// visible.
    /// progress: blocks until wake_one or wake_another chooses this member.
    void park(std::size_t member) noexcept {
        sleepers_[member].value.sleep();
        come_back(member);
    }

    /// As park, for at most this long. Either way the caller is a looker again. False: the time is over and
    /// nobody chose it.
    [[nodiscard]] bool park_for(std::size_t member, std::int64_t nanoseconds) noexcept {
        sleepers_[member].value.sleep_for(nanoseconds);
        return come_back(member);
    }

    // Counts, for decisions that may be wrong, for snapshots and for tests. thread: any. progress: wait-free.

    [[nodiscard]] std::uint32_t lookers() const noexcept {
        return lookers_.load(memory_order_seq_cst);
    }
    /// Members that sleep, or are about to, and that nobody has woken.
    [[nodiscard]] std::size_t parked() const noexcept {
        std::size_t count = 0;
        for (std::size_t w = 0; w < words(); ++w) {
            for (std::uint64_t mask = away_[w].load(memory_order_relaxed); mask != 0; mask &= mask - 1) {
                count += sleepers_[64 * w + lowest(mask)].value.asleep() ? 1U : 0U;
            }
        }
        return count;
    }
    /// Members woken, ever.
    [[nodiscard]] std::uint64_t wakes() const noexcept {
        return wakes_.load(memory_order_relaxed);
    }

private:
    using Sleeper = BasicSleeper<Rules>;

    [[nodiscard]] static std::uint64_t bit(std::size_t member) noexcept {
        return std::uint64_t{1} << (member % 64);
    }
    [[nodiscard]] static std::size_t lowest(std::uint64_t mask) noexcept {
        return static_cast<std::size_t>(std::countr_zero(mask));
    }
    [[nodiscard]] std::size_t words() const noexcept {
        return (members_ + 63) / 64;
    }

    // True: the caller was the last looker.
    bool leave() noexcept {
        const std::uint32_t before = lookers_.fetch_sub(1, memory_order_seq_cst);
        assert(before > 0);
        return before == 1;
    }

    // The member looks again, at all that was announced until now.
    bool come_back(std::size_t member) noexcept {
        lookers_.fetch_add(1, memory_order_seq_cst);
        const bool chosen = sleepers_[member].value.be_awake();
        away_[member / 64].fetch_and(~bit(member), memory_order_seq_cst);
        return chosen;
    }

    bool wake(Sleeper& sleeper) noexcept {
        if (!sleeper.call()) {
            return false;
        }
        // Relaxed: a count for tests and snapshots.
        wakes_.fetch_add(1, memory_order_relaxed);
        if (!Rules::count_once) {
            lookers_.fetch_add(1, memory_order_seq_cst);
        }
        return true;
    }

    // All on one line: who parks or wakes writes both the count and a mask, and a submitter reads the count
    // only.
    alignas(cache_line) atomic<std::uint32_t> lookers_{0};
    std::array<atomic<std::uint64_t>, (MostMembers + 63) / 64> away_{};
    atomic<std::uint64_t> wakes_{0};
    std::size_t members_;
    std::array<CacheAligned<Sleeper>, MostMembers> sleepers_{};
};

using Lookout = BasicLookout<LookoutRules, 256>;

}  // namespace sluice::sync
