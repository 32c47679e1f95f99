// Goal: no member sleeps while announced work waits that nobody else will look at; each looker is counted once.
// Method: members that look and park, submitters that announce and wake. A member that misses its work sleeps for ever.
#include "sync/lookout.hpp"

#include "control/harness.hpp"
#include "control/mutants_lookout.hpp"

#include <doctest/doctest.h>

#include <array>

namespace sluice::control {

namespace {

template <class Lookout>
struct Site {
    static constexpr std::size_t most = 2;
    explicit Site(std::size_t members) : lookout(members) {}

    Lookout lookout;
    std::array<sync::atomic<int>, most> work{};  // 1: announced
    std::array<plain<int>, most> data{};
    sync::atomic<unsigned> found{0};

    bool look() {
        for (std::size_t i = 0; i < most; ++i) {
            int one = 1;
            if (work[i].load() == 1 && work[i].compare_exchange_strong(one, 2)) {
                check(data[i] == 1, "the work is seen");
                found.fetch_add(1);
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool anything() const {
        return work[0].load() == 1 || work[1].load() == 1;
    }
    /// A looker until `wanted` were found by all together.
    void member(std::size_t me, unsigned wanted) {
        while (found.load() < wanted) {
            if (look())
                continue;
            lookout.begin_park(me);
            if (anything() || found.load() >= wanted)
                static_cast<void>(lookout.cancel_park(me));
            else
                lookout.park(me);
        }
    }
    /// A looker until this work was found, and a sleeper in between.
    void member_for(std::size_t me, std::size_t wanted) {
        while (work[wanted].load() != 2) {
            if (look())
                continue;
            lookout.begin_park(me);
            if (anything() || work[wanted].load() == 2)
                static_cast<void>(lookout.cancel_park(me));
            else
                lookout.park(me);
        }
    }
    /// What wake_one() says does not matter here: whoever does not sleep looks again before it does.
    void submit(std::size_t i) {
        data[i] = 1;
        work[i].store(1);
        static_cast<void>(lookout.wake_one());
    }
};

template <class Lookout>
Scenarios scenarios() {
    return {
        {{.name = "lookout: one member, two submitters"},
         [](Run& run) {
             Site<Lookout> site(1);
             site.lookout.start_looking();
             run.thread("member", [&] { site.member(0, 2); });
             for (std::size_t i = 0; i < 2; ++i) {
                 run.thread(i == 0 ? "one" : "two", [&, i] { site.submit(i); });
             }
             run.join();
             check(site.lookout.lookers() == 1 && site.lookout.parked() == 0, "it is counted once");
         }},
        {{.name = "lookout: a member that comes back from a job"},
         [](Run& run) {
             Site<Lookout> site(1);
             run.thread("member", [&] {
                 site.lookout.start_looking();
                 site.member(0, 2);
             });
             for (std::size_t i = 0; i < 2; ++i) {
                 run.thread(i == 0 ? "one" : "two", [&, i] { site.submit(i); });
             }
             run.join();
             check(site.lookout.lookers() == 1 && site.lookout.parked() == 0, "it is counted once");
         }},
        {{.name = "lookout: what the waker did is seen without a look"},
         [](Run& run) {
             Lookout lookout(1);
             plain<int> data{0};
             lookout.start_looking();
             run.thread("member", [&] {
                 lookout.begin_park(0);
                 lookout.park(0);
                 check(data == 1, "seen");
             });
             run.thread("waker", [&] {
                 data = 1;
                 while (lookout.parked() == 0)
                     relax();
                 static_cast<void>(lookout.wake_another());
             });
             run.join();
             check(lookout.lookers() == 1, "it is counted once");
         }},
        {{.name = "lookout: who parks is found"},
         [](Run& run) {
             Lookout lookout(1);
             lookout.start_looking();
             run.thread("member", [&] {
                 lookout.begin_park(0);
                 lookout.park(0);
             });
             run.thread("waker", [&] {
                 while (lookout.wakes() == 0) {
                     auto answer = lookout.wake_one();
                     check(answer != decltype(answer)::nobody, "it looks, or it sleeps");
                     relax();
                 }
             });
             run.join();
             check(lookout.lookers() == 1, "it is counted once");
         }},
        {{.name = "lookout: the last looker looks again"},
         [](Run& run) {
             Site<Lookout> site(2);
             site.lookout.start_looking();
             site.lookout.start_looking();
             run.thread("goes into a job", [&] {
                 if (site.lookout.stop_looking() && site.anything())
                     static_cast<void>(site.lookout.wake_one());  // the other sleeps
             });
             run.thread("sleeper", [&] { site.member(1, 1); });
             run.thread("submitter", [&] { site.submit(0); });
             run.join();
         }},
        {{.name = "lookout: a submitter stands, another's work is found"},
         [](Run& run) {
             Site<Lookout> site(1);
             site.lookout.start_looking();
             run.thread("member", [&] { site.member_for(0, 1); });
             run.thread_that_stands("one", choose(14), [&] { site.submit(0); });
             run.thread("two", [&] { site.submit(1); });
             run.join();
         }},
        {{.name = "lookout: one who wakes another member stands, a submitter's work is found"},
         [](Run& run) {
             Site<Lookout> site(2);
             site.lookout.start_looking();
             run.thread("member", [&] { site.member_for(0, 1); });
             run.thread_that_stands("one", choose(8), [&] { site.lookout.wake_another(); });
             run.thread("two", [&] { site.submit(1); });
             run.join();
         }},
        {{.name = "lookout: a time limit"},
         [](Run& run) {
             Site<Lookout> site(1);
             site.lookout.start_looking();
             run.thread("member", [&] {
                 while (site.found.load() < 1) {
                     if (site.look())
                         continue;
                     site.lookout.begin_park(0);
                     if (site.anything())
                         static_cast<void>(site.lookout.cancel_park(0));
                     else
                         static_cast<void>(site.lookout.park_for(0, 50));
                 }
             });
             run.thread("submitter", [&] { site.submit(0); });
             run.join();
             check(site.lookout.lookers() == 1 && site.lookout.parked() == 0, "it is counted once");
         }},
    };
}

struct OnlyWrites : sync::LookoutRules {
    static constexpr bool ring = false;
};
struct ReliesOnTheWaker : sync::LookoutRules {
    static constexpr bool help = false;
};
struct CountsTwice : sync::LookoutRules {
    static constexpr bool count_once = false;
};
}  // namespace

TEST_CASE("control: lookout") {
    must_hold(scenarios<sync::BasicLookout<sync::LookoutRules, 2>>(), {"lookout.hpp", "sleeper.hpp"});
}

TEST_CASE("control mutants: lookout") {
    must_die("OnlyWrites", "ring = false", scenarios<sync::BasicLookout<OnlyWrites, 2>>());
    must_die("ReliesOnTheWaker", "help = false", scenarios<sync::BasicLookout<ReliesOnTheWaker, 2>>());
    must_die("CountsTwice", "count_once = false", scenarios<sync::BasicLookout<CountsTwice, 2>>());
#define SLUICE_MUTANT(name, change) \
    must_die(#name, change, scenarios<sync::name::BasicLookout<sync::name::LookoutRules, 2>>());
#include "control/mutants_lookout.inc"
}

}  // namespace sluice::control
