// Goal: one thread at a time holds the baton, it sees what was asked for, and no work is left when it is put down.
// Method: each thread leaves a relaxed word as its work; the holder's own data is plain, so a second holder is a data race.
#include "sync/baton.hpp"

#include "control/harness.hpp"
#include "control/mutants_baton.hpp"

#include <doctest/doctest.h>

#include <array>

namespace sluice::control {

namespace {

template <std::size_t workers>
struct Shop {
    std::array<sync::atomic<int>, workers> work{};
    std::array<plain<int>, workers> done{};  // the holder's

    void ask(auto& baton, std::size_t me) {
        work[me].store(1, sync::memory_order_relaxed);
        if (!baton.ask())
            return;
        do {
            for (std::size_t i = 0; i < workers; ++i) {
                if (done[i] == 0 && work[i].load(sync::memory_order_relaxed) == 1)
                    done[i] = 1;
            }
        } while (!baton.put_down());
    }
};

template <std::size_t workers, class Baton>
void all_is_done(Run& run) {
    static constexpr std::array names{"one", "two", "three"};
    Baton baton;
    Shop<workers> shop;
    for (std::size_t i = 0; i < workers; ++i)
        run.thread(names[i], [&, i] { shop.ask(baton, i); });
    run.join();
    for (const auto& done : shop.done)
        check(done == 1, "all work is done");
    check(!baton.held(), "nobody holds it");
}

template <class Baton>
Scenarios scenarios() {
    return {
        {{.name = "baton: two ask"}, all_is_done<2, Baton>},
        {{.name = "baton: three ask"}, all_is_done<3, Baton>},
        {{.name = "baton: who sees it put down sees what was done"},
         [](Run& run) {
             Baton baton;
             plain<int> data{0};
             sync::atomic<int> begun{0};
             run.thread("holder", [&] {
                 check(baton.ask(), "nobody else asks");
                 begun.store(1, sync::memory_order_release);
                 data = 1;
                 check(baton.put_down(), "nobody else asked");
             });
             run.thread("ender", [&] {
                 while (begun.load(sync::memory_order_acquire) == 0)
                     relax();
                 while (baton.held())
                     relax();
                 check(data == 1, "the work is seen");
             });
             run.join();
         }},
        {{.name = "baton: the holder stands, who asks may go"},
         [](Run& run) {
             Baton baton;
             Shop<2> shop;
             run.thread_that_stands("one", choose(10), [&] { shop.ask(baton, 0); });
             run.thread("two", [&] { shop.ask(baton, 1); });
             run.join();
             for (const auto& done : shop.done)
                 check(done == 1, "all work is done in the end");
         }},
    };
}

struct PutsDownWhenAsked : sync::BatonRules {
    static constexpr bool go_round = false;
};
struct LooksThenTakes : sync::BatonRules {
    static constexpr bool take_by_cas = false;
};

}  // namespace

TEST_CASE("control: baton") {
    must_hold(scenarios<sync::Baton>(), {"baton.hpp"});
}

TEST_CASE("control mutants: baton") {
    must_die("PutsDownWhenAsked", "go_round = false", scenarios<sync::BasicBaton<PutsDownWhenAsked>>());
    must_die("LooksThenTakes", "take_by_cas = false", scenarios<sync::BasicBaton<LooksThenTakes>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::Baton>());
#include "control/mutants_baton.inc"
}

}  // namespace sluice::control
