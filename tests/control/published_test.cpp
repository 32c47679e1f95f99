// Goal: a value is read whole, and not older than one that the reader knew of.
// Method: a writer that publishes four times, so that both slots are used again, and a reader of two equal words.
#include "sync/published.hpp"

#include "control/harness.hpp"
#include "control/mutants_published.hpp"

#include <doctest/doctest.h>

namespace sluice::control {

namespace {

struct Pair {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
};

template <class Published>
Scenarios scenarios() {
    return {
        {{.name = "published: whole, and never older"},
         [](Run& run) {
             Published value;
             run.thread("writer", [&] {
                 for (std::uint64_t i = 1; i <= 4; ++i)
                     value.publish({i, i});
             });
             run.thread("reader", [&] {
                 std::uint64_t last = 0;
                 for (int i = 0; i < 2; ++i) {
                     Pair pair;
                     const std::uint64_t version = value.version();
                     if (!value.try_read(pair))
                         continue;
                     check(pair.a == pair.b, "whole");
                     check(pair.a >= last && pair.a >= version, "not older");
                     last = pair.a;
                 }
             });
             run.join();
             check(value.read().a == 4, "the last one stays");
         }},
        {{.name = "published: the writer stands"},
         [](Run& run) {
             Published value;
             value.publish({1, 1});
             run.thread_that_stands("writer", choose(10), [&] {
                 value.publish({2, 2});
                 value.publish({3, 3});
             });
             run.thread("reader", [&] {
                 const Pair pair = value.read();
                 check(pair.a == pair.b && pair.a >= 1, "whole, and it comes back");
             });
             run.join();
         }},
    };
}

struct TrustsTheFirstLook : sync::PublishedRules {
    static constexpr bool check_version_again = false;
};

}  // namespace

TEST_CASE("control: published") {
    must_hold(scenarios<sync::Published<Pair>>(), {"published.hpp"});
}

TEST_CASE("control mutants: published") {
    must_die("TrustsTheFirstLook", "check_version_again = false",
             scenarios<sync::Published<Pair, TrustsTheFirstLook>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, scenarios<sync::name::Published<Pair>>());
#include "control/mutants_published.inc"
}

}  // namespace sluice::control
