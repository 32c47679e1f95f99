// Goal: each element comes out once, whole, in the order of its producer; for the ring of one producer and one consumer.
// Method: elements are plain, so a cell that changes hands without an order is a data race; two cells, so that laps are short.
#include "sync/cache_line.hpp"
#include "sync/spsc_ring.hpp"

#include "control/harness.hpp"
#include "control/mutants_spsc_ring.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory_resource>

namespace sluice::control {

namespace {

using Element = plain<int>;

template <class Ring>
void push(Ring& ring, int value) {
    const Element element{value};
    while (!ring.try_push(element))
        relax();
}
template <class Ring>
int pop(Ring& ring) {
    Element element{0};
    while (!ring.try_pop(element))
        relax();
    return element;
}

template <class Ring>
void one_to_one(Run& run, Ring& ring) {
    run.thread("producer", [&] {
        for (int i = 1; i <= 4; ++i)
            push(ring, i);
    });
    run.thread("consumer", [&] {
        for (int i = 1; i <= 4; ++i)
            check(pop(ring) == i, "in order, none lost, none twice");
    });
    run.join();
}

template <class Ring>
Scenarios spsc() {
    return {
        {{.name = "spsc_ring: in order"},
         [](Run& run) {
             Ring ring;
             one_to_one(run, ring);
             check(ring.empty(), "all came out");
         }},
        {{.name = "spsc_ring: the handshake of empty()"},
         [](Run& run) {
             Ring ring;
             sync::atomic<std::uint32_t> common{0};  // 1: one sleeps
             run.thread("producer", [&] {
                 push(ring, 1);
                 if (common.fetch_add(2, sync::memory_order_acq_rel) == 1)
                     sync::wake_one(common);
             });
             run.thread("consumer", [&] {
                 common.fetch_add(1, sync::memory_order_acq_rel);
                 if (ring.empty()) {
                     while (common.load(sync::memory_order_acquire) == 1)
                         sync::wait(common, 1);
                 }
                 Element element{0};
                 check(ring.try_pop(element) && element == 1, "nobody sleeps on an element");
             });
             run.join();
         }},
    };
}

struct PublishesFirst : sync::SpscRingRules {
    static constexpr bool fill_before_publish = false;
};
struct Overruns : sync::SpscRingRules {
    static constexpr std::size_t overrun = 1;
};

}  // namespace

TEST_CASE("control: spsc_ring") {
    must_hold(spsc<sync::SpscRing<Element, 2>>(), {"spsc_ring.hpp"});
}

TEST_CASE("control mutants: spsc_ring") {
    must_die("PublishesFirst", "fill_before_publish = false",
             spsc<sync::SpscRing<Element, 2, PublishesFirst>>());
    must_die("Overruns", "overrun = 1", spsc<sync::SpscRing<Element, 2, Overruns>>());
#define SLUICE_MUTANT(name, change) must_die(#name, change, spsc<sync::name::SpscRing<Element, 2>>());
#include "control/mutants_spsc_ring.inc"
}

}  // namespace sluice::control
