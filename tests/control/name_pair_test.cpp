// Goal: names that were read between two looks at a word that said the same life are of that life, whole.
// Method: an owner that ends a life and begins another, as the executor's nodes do, and an observer, as its snapshot does.
#include "sync/name_pair.hpp"

#include "control/harness.hpp"
#include "control/mutants_name_pair.hpp"

#include <doctest/doctest.h>

#include <string_view>

namespace sluice::control {

namespace {

template <class Names>
Scenarios scenarios() {
    return {
        {{.name = "name_pair: two looks at one life"},
         [](Run& run) {
             Names names;
             sync::atomic<std::uint32_t> life{1};  // odd: somebody may look
             names.set("first", "of life one");
             run.thread("owner", [&] {
                 life.fetch_add(1, sync::memory_order_acq_rel);
                 names.set("other", "of life two");
                 life.fetch_add(1, sync::memory_order_release);
             });
             run.thread("observer", [&] {
                 const std::uint32_t before = life.load(sync::memory_order_acquire);
                 if (before % 2 == 0)
                     return;
                 const auto copy = names.get();
                 if (life.load(sync::memory_order_acquire) != before)
                     return;
                 const bool one = before == 1;
                 check(copy.first() == (one ? "first" : "other"), "the first name is of that life");
                 check(copy.second() == (one ? "of life one" : "of life two"), "and the second");
             });
             run.join();
         }},
    };
}

}  // namespace

TEST_CASE("control: name_pair") {
    must_hold(scenarios<sync::NamePair>(), {"name_pair.cpp"});
}

TEST_CASE("control mutants: name_pair") {
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::NamePair>());
#include "control/mutants_name_pair.inc"
}

}  // namespace sluice::control
