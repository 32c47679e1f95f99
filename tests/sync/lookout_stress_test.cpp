// Goal (E30, E32): no job waits for ever while a member could run it: not when everybody goes to sleep as it comes, not behind
// a job that was expected to be short and blocks. And idle means asleep.
// Method: members, submitters and a home thread follow the protocol of lookout.hpp and alarm.hpp, with pauses in its windows.
// A submitter waits for its job before the next, so one lost wake-up stops it; one submitter's first job of two
// blocks until the second has run. The same stress must stall, or count wrongly, with each planted bug,
// in the parts or in their use.
#include "sync/alarm.hpp"
#include "sync/lookout.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

using namespace sluice;
using Clock = std::chrono::steady_clock;

namespace {

/// How the threads use the parts; a test breaks one rule.
struct Use {
    static constexpr bool look_after_count = true;  // a member looks after begin_park
    static constexpr bool ask_after_announcement =
        true;                                          // a submitter asks for lookers after its announcement
    static constexpr bool look_when_last = true;       // the last looker looks before it enters a long job
    static constexpr bool armed_in_short_jobs = true;  // no job as a looker unless the alarm is armed
    static constexpr bool ask_for_lookers = true;      // home asks for lookers before it goes to sleep
    static constexpr std::uint64_t short_jobs_one_in = 2;
    static constexpr std::size_t simple_submitters = 2;
};

constexpr std::size_t members = 3;
constexpr std::size_t slots = 4;  // of simple submitters; the last two of the one that submits in pairs

struct Outcome {
    bool stalled = false;
    std::uint64_t jobs = 0;
    std::uint64_t wakes = 0;
    bool home_slept = false;
    bool counted_right = false;  // each member left as a looker, and nobody else is one
};

template <typename LookoutRules, typename AlarmRules, typename How>
class Stress {
public:
    /// A member that cannot be woken even in the end needs a limit: long after the stall was noticed.
    Outcome run(double most_seconds, double stall_seconds, double park_limit_seconds = 0) {
        const auto begin = Clock::now();
        end_ = begin + to_duration(most_seconds);
        stall_ = to_duration(stall_seconds);
        park_limit_ns_ = static_cast<std::int64_t>(park_limit_seconds * 1e9);
        test::run_together(static_cast<unsigned>(members + How::simple_submitters + 2), [this](unsigned me) {
            test::Random random(me);
            if (me < members) {
                be_member(me, random);
            } else if (me < members + How::simple_submitters) {
                submit_one_by_one(me - members, random);
            } else if (me == members + How::simple_submitters) {
                submit_in_pairs(random);
            } else {
                keep_watch(random);
            }
        });
        return {stalled_.load(), done_.load(), lookout_->wakes(), home_slept_.load(),
                lookout_->lookers() == members};
    }

private:
    static Clock::duration to_duration(double seconds) {
        return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    }

    // Work: a slot a submitter. 0 empty, 1 an ordinary job, 2 one that blocks until the job of the next slot has run.
    [[nodiscard]] bool pending() const {
        for (const std::atomic<int>& slot : slots_) {
            if (slot.load() != 0) {
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool over() const {
        return submitting_.load() == 0 || stalled_.load();
    }

    void announce(std::size_t slot, int kind, test::Random& random) {
        bool asked = false;
        bool looked_after = false;
        if (!How::ask_after_announcement) {
            asked = true;
            looked_after = lookout_->anyone_looking();
            window(random);
        }
        slots_[slot].store(kind);
        window(random);
        if (!(asked ? looked_after || lookout_->wake_one() != sync::Wake::nobody
                    : lookout_->wake_one() != sync::Wake::nobody)) {
            alarm_.arm();
        }
    }

    // False: the job was not done within the time that means it never will be.
    bool await_done(std::size_t slot, std::uint64_t count) {
        const auto begin = Clock::now();
        while (ran_[slot].load() < count) {
            if (Clock::now() - begin > stall_) {
                stalled_.store(true);
            }
            if (stalled_.load()) {
                return false;
            }
            std::this_thread::yield();
        }
        return true;
    }

    void submit_one_by_one(std::size_t slot, test::Random& random) {
        for (std::uint64_t count = 1; Clock::now() < end_; ++count) {
            announce(slot, 1, random);
            if (!await_done(slot, count)) {
                break;
            }
            if (random.one_in(8)) {
                std::this_thread::sleep_for(std::chrono::microseconds(random.below(300)));
            }
        }
        submitting_.fetch_sub(1);
        alarm_.nudge();
    }

    void submit_in_pairs(test::Random& random) {
        for (std::uint64_t count = 1; Clock::now() < end_; ++count) {
            announce(slots - 2, 2, random);
            const auto begin = Clock::now();
            while (blocked_.load() < count && !stalled_.load()) {
                if (Clock::now() - begin > stall_) {
                    stalled_.store(true);
                }
                std::this_thread::yield();
            }
            // The others' jobs must not wait behind the one that blocks: it goes on only after some of them.
            const std::uint64_t before = ran_[0].load();
            while (ran_[0].load() < before + 2 && submitting_.load() > 1 && !stalled_.load()) {
                std::this_thread::yield();
            }
            announce(slots - 1, 1, random);
            if (!await_done(slots - 1, count) || !await_done(slots - 2, count)) {
                break;
            }
            if (random.one_in(2)) {
                std::this_thread::sleep_for(std::chrono::microseconds(random.below(2'000)));
            }
        }
        submitting_.fetch_sub(1);
        alarm_.nudge();
    }

    void be_member(std::size_t me, test::Random& random) {
        lookout_->start_looking();
        while (!over()) {
            if (run_one(random)) {
                continue;
            }
            if (!How::look_after_count) {
                window(random);
                lookout_->begin_park(me);
            } else {
                lookout_->begin_park(me);
                window(random);
                if (pending() || over()) {
                    lookout_->cancel_park(me);
                    continue;
                }
            }
            if (park_limit_ns_ != 0 || random.one_in(4)) {
                static_cast<void>(
                    lookout_->park_for(me, park_limit_ns_ != 0 ? park_limit_ns_ : INT64_MAX / 4));
            } else {
                lookout_->park(me);
            }
        }
        gone_.fetch_add(1);
    }

    bool run_one(test::Random& random) {
        for (std::size_t slot = 0; slot < slots; ++slot) {
            if (slots_[slot].load(std::memory_order_relaxed) == 0) {
                continue;
            }
            const int kind = slots_[slot].exchange(0);
            if (kind != 0) {
                run(slot, kind, random);
                return true;
            }
        }
        return false;
    }

    void run(std::size_t slot, int kind, test::Random& random) {
        window(random);
        const bool expected_short = How::short_jobs_one_in != 0 && random.one_in(How::short_jobs_one_in);
        if (expected_short) {
            if (How::armed_in_short_jobs && !alarm_.armed()) {
                alarm_.arm();
            }
        } else if (lookout_->stop_looking() && How::look_when_last) {
            window(random);
            if (pending() && lookout_->wake_one() == sync::Wake::nobody) {
                alarm_.arm();
            }
        }
        if (kind == 2) {
            const std::uint64_t before = ran_[slot + 1].load();
            blocked_.fetch_add(1);
            while (ran_[slot + 1].load() == before && !stalled_.load()) {
                std::this_thread::sleep_for(std::chrono::microseconds(20));
            }
        }
        if (!expected_short) {
            lookout_->start_looking();
        }
        done_.fetch_add(1);
        ran_[slot].fetch_add(1);
    }

    void keep_watch(test::Random& random) {
        while (!over()) {
            home_slept_.store(true);
            alarm_.sleep();
            while (alarm_.armed() && !over()) {
                alarm_.tick(50'000);
                if (pending() && lookout_->parked() != 0) {
                    lookout_->wake_another();
                }
                window(random);
                if (alarm_.try_disarm([&] {
                        const bool lookers = How::ask_for_lookers && lookout_->lookers() != 0;
                        const bool watch = lookers || pending();
                        window(random);
                        return watch;
                    })) {
                    break;
                }
            }
            if (over()) {
                break;
            }
        }
        while (gone_.load() < members) {
            lookout_->wake_another();
            std::this_thread::yield();
        }
    }

    // A place where another thread should come in between.
    static void window(test::Random& random) {
        if (random.one_in(4)) {
            std::this_thread::yield();
        } else if (random.one_in(32)) {
            std::this_thread::sleep_for(std::chrono::microseconds(random.below(50)));
        }
    }

    using Lookout = sync::BasicLookout<LookoutRules, 64>;
    std::unique_ptr<Lookout> lookout_ = std::make_unique<Lookout>(members);
    sync::BasicAlarm<AlarmRules> alarm_;
    std::array<std::atomic<int>, slots> slots_{};
    std::array<std::atomic<std::uint64_t>, slots> ran_{};
    std::atomic<std::uint64_t> blocked_{0};
    std::atomic<std::uint64_t> done_{0};
    std::atomic<std::uint64_t> submitting_{How::simple_submitters + 1};
    std::atomic<std::uint64_t> gone_{0};
    std::atomic<bool> stalled_{false};
    std::atomic<bool> home_slept_{false};
    Clock::time_point end_;
    Clock::duration stall_{};
    std::int64_t park_limit_ns_ = 0;  // none
};

// What is planted into the parts.
struct DoesNotRing : sync::LookoutRules {
    static constexpr bool ring = false;
};
struct CountsTwice : sync::LookoutRules {
    static constexpr bool count_once = false;
};
struct AsksBeforeOff : sync::AlarmRules {
    static constexpr bool off_before_question = false;
};

// What is planted into their use. Only long jobs where the alarm would hide the bug.
struct OnlyLong : Use {
    static constexpr std::uint64_t short_jobs_one_in = 0;
};
struct LooksBefore : OnlyLong {
    static constexpr bool look_after_count = false;
};
struct AsksBefore : OnlyLong {
    static constexpr bool ask_after_announcement = false;
};
struct LeavesUnlooked : OnlyLong {
    static constexpr std::size_t simple_submitters = 1;  // two would help each other out
    static constexpr bool look_when_last = false;
};
struct Unwatched : Use {
    static constexpr bool armed_in_short_jobs = false;
};
struct SleepsOverLookers : Use {
    static constexpr bool ask_for_lookers = false;
};

template <typename LookoutRules, typename AlarmRules, typename How>
bool notices(const std::string& name, double park_limit_seconds = 0) {
    const auto begin = Clock::now();
    Outcome outcome;
    std::uint64_t jobs = 0;
    bool noticed = false;
    // Short runs, for a wrong count shows at the end of one.
    for (int run = 0; run < 60 && !noticed; ++run) {
        outcome = Stress<LookoutRules, AlarmRules, How>().run(1, 1, park_limit_seconds);
        jobs += outcome.jobs;
        noticed = outcome.stalled || !outcome.counted_right;
    }
    const std::string what = outcome.stalled ? "stalled" : noticed ? "miscounted" : "went well";
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    MESSAGE(name << ": " << what << " after " << jobs << " jobs, " << seconds << " s");
    return noticed;
}

}  // namespace

TEST_CASE("E32: stress: no wake-up is lost") {
    const Outcome both = Stress<sync::LookoutRules, sync::AlarmRules, Use>().run(3, 20);
    CHECK_FALSE(both.stalled);
    CHECK(both.counted_right);
    CHECK(both.home_slept);
    MESSAGE(both.jobs << " jobs, " << both.wakes << " wakes");
    const Outcome only_long = Stress<sync::LookoutRules, sync::AlarmRules, OnlyLong>().run(3, 20);
    CHECK_FALSE(only_long.stalled);
    CHECK(only_long.counted_right);
    MESSAGE(only_long.jobs << " jobs, " << only_long.wakes << " wakes");
}

TEST_CASE("the stress notices each planted bug") {
    using sync::AlarmRules;
    using sync::LookoutRules;
    CHECK(notices<DoesNotRing, AlarmRules, OnlyLong>("does not ring", 3));
    CHECK(notices<CountsTwice, AlarmRules, OnlyLong>("counts twice"));
    CHECK(notices<LookoutRules, AlarmRules, LooksBefore>("looks before the count"));
    CHECK(notices<LookoutRules, AlarmRules, AsksBefore>("asks before the announcement"));
    CHECK(notices<LookoutRules, AlarmRules, LeavesUnlooked>("last looker does not look"));
    CHECK(notices<LookoutRules, AlarmRules, Unwatched>("short jobs without an alarm"));
    CHECK(notices<LookoutRules, AlarmRules, SleepsOverLookers>("home sleeps over lookers"));
    CHECK(notices<LookoutRules, AsksBeforeOff, Use>("alarm asks before it is off"));
}
