// Goal: a token is not lost, not doubled, brings along what came before it, and the parker may go when its owner has it.
// Method: an owner and one or two unparkers under the controlled scheduler; then the same against planted bugs.
#include "sync/parker.hpp"

#include "control/harness.hpp"
#include "control/mutants_parker.hpp"

#include <doctest/doctest.h>

#include <optional>

namespace sluice::control {

namespace {

template <class Parker>
Scenarios scenarios() {
    return {
        {{.name = "parker: what came before the unpark is seen"},
         [](Run& run) {
             Parker parker;
             plain<int> data{0};
             run.thread("owner", [&] {
                 parker.park();
                 check(data == 1, "the owner sees what the unparker did");
             });
             run.thread("unparker", [&] {
                 data = 1;
                 parker.unpark();
             });
             run.join();
         }},
        {{.name = "parker: one token for two unparkers"},
         [](Run& run) {
             Parker parker;
             plain<int> first{0};
             plain<int> second{0};
             sync::atomic<int> turn{0};  // relaxed: says who was first, and brings nothing along
             run.thread("owner", [&] {
                 while (turn.load(sync::memory_order_relaxed) != 2)
                     relax();
                 parker.park();
                 check(first == 1 && second == 1, "the owner sees what both did");
             });
             run.thread("one", [&] {
                 first = 1;
                 parker.unpark();
                 turn.store(1, sync::memory_order_relaxed);
             });
             run.thread("two", [&] {
                 second = 1;
                 while (turn.load(sync::memory_order_relaxed) != 1)
                     relax();
                 parker.unpark();
                 turn.store(2, sync::memory_order_relaxed);
             });
             run.join();
         }},
        {{.name = "parker: a token outlives a timeout"},
         [](Run& run) {
             Parker parker;
             plain<int> data{0};
             run.thread("owner", [&] {
                 if (!parker.park_for(10))
                     parker.park();
                 check(data == 1, "the owner sees what the unparker did");
             });
             run.thread("unparker", [&] {
                 data = 1;
                 parker.unpark();
             });
             run.join();
             run.thread("owner", [&] { check(!parker.park_for(0), "one token was taken once"); });
             run.join();
         }},
        {{.name = "parker: its owner may destroy it"},
         [](Run& run) {
             std::optional<Parker> parker(std::in_place);
             run.thread("owner", [&] {
                 parker->park();
                 parker.reset();
             });
             run.thread("unparker", [&] { parker->unpark(); });
             run.join();
         }},
    };
}

struct ForgetsToWake : sync::ParkerRules {
    static constexpr bool wake_a_parked_owner = false;
};
struct OnlySignals : sync::ParkerRules {
    static constexpr bool leave_a_token = false;
};

}  // namespace

TEST_CASE("control: parker") {
    must_hold(scenarios<sync::Parker>(), {"parker.hpp"});
}

TEST_CASE("control mutants: parker") {
    must_die("ForgetsToWake", "wake_a_parked_owner = false", scenarios<sync::BasicParker<ForgetsToWake>>());
    must_die("OnlySignals", "leave_a_token = false", scenarios<sync::BasicParker<OnlySignals>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::Parker>());
#include "control/mutants_parker.inc"
}

}  // namespace sluice::control
