// Goal: never more permits out than there are, what a holder did is seen by the next, and who gets none can be told of one.
// Method: the data behind one permit is plain; the handshake of the file's comment, whose loser sleeps for ever.
#include "sync/permits.hpp"

#include "control/harness.hpp"
#include "control/mutants_permits.hpp"

#include <doctest/doctest.h>

namespace sluice::control {

namespace {

template <class Permits>
Scenarios scenarios() {
    return {
        {{.name = "permits: one permit, two takers"},
         [](Run& run) {
             Permits permits(1);
             plain<int> data{0};
             const auto work = [&] {
                 for (int i = 0; i < 2; ++i) {
                     if (permits.try_take()) {
                         data = data + 1;
                         permits.give_back();
                     }
                 }
             };
             run.thread("one", work);
             run.thread("two", work);
             run.join();
             check(permits.available() == 1 && permits.capacity() == 1, "all are back");
             check(data >= 2, "two tries at least had it");
         }},
        {{.name = "permits: two permits, three takers"},
         [](Run& run) {
             Permits permits(2);
             sync::atomic<int> inside{0};
             const auto work = [&] {
                 if (permits.try_take()) {
                     check(inside.fetch_add(1) < 2, "two are inside at most");
                     inside.fetch_sub(1);
                     permits.give_back();
                 }
             };
             run.thread("one", work);
             run.thread("two", work);
             run.thread("three", work);
             run.join();
             check(permits.available() == 2, "all are back");
         }},
        {{.name = "permits: who gets none is told of the next"},
         [](Run& run) {
             Permits permits(1);
             sync::atomic<std::uint32_t> told{0};
             sync::atomic<bool> flag{false};
             check(permits.try_take(), "there is one");
             run.thread("taker", [&] {
                 if (permits.try_take())
                     return;
                 flag.store(true);
                 if (permits.try_take())
                     return;
                 while (told.load() == 0)
                     sync::wait(told, 0);
                 check(permits.try_take(), "it was told");
             });
             run.thread("giver", [&] {
                 permits.give_back();
                 if (flag.load()) {
                     told.store(1);
                     sync::wake_one(told);
                 }
             });
             run.join();
         }},
        {{.name = "permits: one stands with a permit or without"},
         [](Run& run) {
             Permits permits(2);
             run.thread_that_stands("one", choose(6), [&] {
                 if (permits.try_take())
                     permits.give_back();
             });
             run.thread("two", [&] {
                 for (int i = 0; i < 2; ++i) {
                     check(permits.try_take(), "the other has one at most");
                     permits.give_back();
                 }
             });
             run.join();
             check(permits.available() == 2, "all are back");
         }},
    };
}

struct LooksThenTakes : sync::PermitsRules {
    static constexpr bool take_by_cas = false;
};

}  // namespace

TEST_CASE("control: permits") {
    must_hold(scenarios<sync::Permits>(), {"permits.hpp"});
}

TEST_CASE("control mutants: permits") {
    must_die("LooksThenTakes", "take_by_cas = false", scenarios<sync::BasicPermits<LooksThenTakes>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::Permits>());
#include "control/mutants_permits.inc"
}

}  // namespace sluice::control
