// Goal: a call is not lost, brings along what came before it, and nobody waits for a waker that stands still between its steps.
// Method: an owner and some wakers under the controlled scheduler, one of whom may stand; then the same against planted bugs.
#include "sync/sleeper.hpp"

#include "control/harness.hpp"
#include "control/mutants_sleeper.hpp"

#include <doctest/doctest.h>

namespace sluice::control {

namespace {

template <class Sleeper>
Scenarios scenarios() {
    return {
        {{.name = "sleeper: what came before the call is seen"},
         [](Run& run) {
             Sleeper sleeper;
             plain<int> data{0};
             run.thread("owner", [&] {
                 sleeper.announce();
                 sleeper.sleep();
                 check(sleeper.be_awake(), "it was called");
                 check(data == 1, "the owner sees what the waker did");
             });
             run.thread("waker", [&] {
                 data = 1;
                 while (!sleeper.call())
                     relax();
             });
             run.join();
         }},
        {{.name = "sleeper: announced, then looked; made, then called"},
         [](Run& run) {
             Sleeper sleeper;
             sync::atomic<int> work{0};
             run.thread("owner", [&] {
                 sleeper.announce();
                 if (work.load() == 0)
                     sleeper.sleep();
                 sleeper.be_awake();
                 check(work.load() == 1, "the work is there");
             });
             run.thread("waker", [&] {
                 work.store(1);
                 sleeper.call();
             });
             run.join();
         }},
        {{.name = "sleeper: one waker for each sleep"},
         [](Run& run) {
             Sleeper sleeper;
             sync::atomic<int> calls{0};
             sleeper.announce();
             run.thread("owner", [&] {
                 sleeper.sleep();
                 sleeper.be_awake();
             });
             for (const char* const name : {"one", "two"}) {
                 run.thread(name, [&] { calls.fetch_add(sleeper.call() ? 1 : 0); });
             }
             run.join();
             check(calls.load() == 1, "one of them called");
         }},
        {{.name = "sleeper: a time limit"},
         [](Run& run) {
             Sleeper sleeper;
             plain<int> data{0};
             run.thread("owner", [&] {
                 sleeper.announce();
                 sleeper.sleep_for(10);
                 if (sleeper.be_awake())
                     check(data == 1, "the owner sees what the waker did");
             });
             run.thread("waker", [&] {
                 data = 1;
                 sleeper.call();
             });
             run.join();
             check(!sleeper.asleep(), "it is awake");
         }},
        {{.name = "sleeper: a waker stands, another makes sure"},
         [](Run& run) {
             Sleeper sleeper;
             sleeper.announce();
             run.thread("owner", [&] {
                 sleeper.sleep();
                 sleeper.be_awake();
             });
             run.thread_that_stands("one", choose(5), [&] { sleeper.call(); });
             run.thread("two", [&] { static_cast<void>(sleeper.call() || sleeper.help()); });
             run.join();
         }},
        {{.name = "sleeper: a mark that comes late is not for the next sleep"},
         [](Run& run) {
             Sleeper sleeper;
             sync::atomic<int> sleeps{1};
             sleeper.announce();
             run.thread("owner", [&] {
                 sleeper.sleep();
                 sleeper.be_awake();
                 sleeper.announce();
                 sleeps.store(2);
                 sleeper.sleep();
                 sleeper.be_awake();
             });
             run.thread("first", [&] { sleeper.call(); });
             run.thread_that_stands("second", choose(6), [&] {
                 while (sleeps.load() != 2)
                     relax();
                 sleeper.call();
             });
             run.thread("third", [&] {
                 while (sleeps.load() != 2)
                     relax();
                 static_cast<void>(sleeper.call() || sleeper.help());
             });
             run.join();
         }},
    };
}

struct OnlyWrites : sync::SleeperRules {
    static constexpr bool ring = false;
};
struct ReliesOnTheWaker : sync::SleeperRules {
    static constexpr bool help = false;
};

}  // namespace

TEST_CASE("control: sleeper") {
    must_hold(scenarios<sync::Sleeper>(), {"sleeper.hpp"});
}

TEST_CASE("control mutants: sleeper") {
    must_die("OnlyWrites", "ring = false", scenarios<sync::BasicSleeper<OnlyWrites>>());
    must_die("ReliesOnTheWaker", "help = false", scenarios<sync::BasicSleeper<ReliesOnTheWaker>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::Sleeper>());
#include "control/mutants_sleeper.inc"
}

}  // namespace sluice::control
