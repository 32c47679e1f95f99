// Goal: looking before sleeping goes on while it pays, stops when it does not, and is tried again now and then, so that no
// state lasts because of itself.
#include "core/spin_history.hpp"

#include <doctest/doctest.h>

using sluice::core::SpinHistory;

namespace {

int looks(SpinHistory& history, int chances, bool found) {
    int count = 0;
    for (int i = 0; i < chances; ++i) {
        if (!history.worth_it())
            continue;
        ++count;
        history.note(found);
    }
    return count;
}

}  // namespace

TEST_CASE("SpinHistory: who fails stops looking after a few times, and tries again one time in sixteen") {
    SpinHistory history;
    CHECK(looks(history, 4, false) == 4);
    CHECK(looks(history, 15, false) == 0);
    CHECK(looks(history, 1, false) == 1);
    CHECK(looks(history, 1600, false) == 100);
}

TEST_CASE("SpinHistory: one success is believed for several failures") {
    SpinHistory history;
    (void)looks(history, 100, false);
    CHECK(looks(history, 16, true) >= 1);
    CHECK(looks(history, 100, true) == 100);
    CHECK(looks(history, 4, false) == 4);
    CHECK(looks(history, 1, false) == 0);
}
