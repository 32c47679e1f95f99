// Goal:   the packed words of the turn gate do what their headers promise: fields that do not touch each other, no admission above
//         the cap or past those who wait, one outcome and one courier for each waiter, and memory freed once.
// Method: enumeration of all states at tiny sizes, and of all interleavings of the parties of one waiter. The CAS loops are in
//         src/gate.

#include "core/words/baton_word.hpp"
#include "core/words/gate_word.hpp"
#include "core/words/split_count.hpp"
#include "core/words/waiter_word.hpp"
#include "every_choice.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <vector>

using namespace sluice::core;
using sluice::core::test::EveryChoice;

namespace {

GateWord word_of(std::uint32_t in_flight, std::uint32_t waiting, std::uint32_t newest, bool paused,
                 bool closed) {
    GateWord word{std::uint64_t{in_flight} | std::uint64_t{waiting} << GateWord::waiting_shift |
                  std::uint64_t{newest} << GateWord::newest_shift};
    word.bits |= paused ? GateWord::paused_bit : 0;
    word.bits |= closed ? GateWord::closed_bit : 0;
    return word;
}

}  // namespace

TEST_CASE("Gate word: the initial value is an open gate with nobody in it, and masks do not overlap") {
    const GateWord fresh;
    CHECK(fresh.in_flight() == 0);
    CHECK(fresh.waiting() == 0);
    CHECK(fresh.newest() == GateWord::nobody);
    CHECK_FALSE((fresh.paused() || fresh.closed() || fresh.deserted()));
    CHECK(fresh.joined() == 0);
    CHECK(fresh.admitted() == 0);
    constexpr std::uint64_t parts[] = {0xffff,
                                       std::uint64_t{0xffff} << GateWord::waiting_shift,
                                       GateWord::newest_mask,
                                       GateWord::paused_bit,
                                       GateWord::closed_bit,
                                       GateWord::deserted_bit,
                                       GateWord::epoch_mask,
                                       GateWord::joined_mask,
                                       std::uint64_t{63} << 58U};
    std::uint64_t all = 0;
    for (const std::uint64_t part : parts) {
        CHECK((all & part) == 0);
        all |= part;
    }
    CHECK(all == ~std::uint64_t{0});
}

TEST_CASE(
    "T2 T3 T4 gate word: admitted only below the cap, past nobody, and not in a pause or after the end") {
    for (std::uint32_t cap = 1; cap <= 3; ++cap)
        for (std::uint32_t in_flight = 0; in_flight <= 4; ++in_flight)
            for (std::uint32_t waiting = 0; waiting <= 2; ++waiting)
                for (const bool paused : {false, true})
                    for (const bool closed : {false, true}) {
                        const GateWord word = word_of(in_flight, waiting, GateWord::nobody, paused, closed);
                        const Entry expected = closed             ? Entry::closed
                                               : paused           ? Entry::paused
                                               : waiting > 0      ? Entry::behind_others
                                               : in_flight >= cap ? Entry::no_room
                                                                  : Entry::admit;
                        CHECK(entry(word, cap) == expected);
                        CHECK(may_grant(word, cap) == (!closed && !paused && waiting > 0 && in_flight < cap));
                    }
}

TEST_CASE("Gate word: every step changes its own fields and no other, at both ends of all of them") {
    const std::uint64_t rest = GateWord::paused_bit | GateWord::closed_bit | GateWord::deserted_bit;
    for (const std::uint32_t in_flight : {1U, 2U, 0xfffeU})
        for (const std::uint32_t waiting : {1U, 2U, GateWord::waiting_max - 1})
            for (const std::uint32_t newest : {0U, 7U, GateWord::nobody})
                for (const std::uint64_t flags : {std::uint64_t{0}, rest})
                    for (std::uint64_t epoch = 0; epoch < 8; ++epoch)
                        for (const std::uint64_t joined :
                             {std::uint64_t{0}, std::uint64_t{14}, std::uint64_t{15}})
                            for (const std::uint64_t admitted :
                                 {std::uint64_t{0}, std::uint64_t{62}, std::uint64_t{63}}) {
                                GateWord word = word_of(in_flight, waiting, newest, false, false);
                                word.bits |= flags | epoch << 51U | joined << 54U | admitted << 58U;
                                const auto same = [&](GateWord after, bool seats, bool line, bool names) {
                                    CHECK((after.bits & rest) == flags);
                                    if (!seats) {
                                        CHECK(after.in_flight() == in_flight);
                                        CHECK(after.admitted() == admitted);
                                    }
                                    if (!line) {
                                        CHECK(after.waiting() == waiting);
                                        CHECK(after.joined() == joined);
                                    }
                                    if (!names)
                                        CHECK(after.newest() == newest);
                                    CHECK((after.bits & GateWord::epoch_mask) == epoch << 51U);
                                };
                                const GateWord entered = one_admitted(word);
                                same(entered, true, false, false);
                                CHECK(entered.in_flight() == in_flight + 1);
                                CHECK(entered.admitted() == (admitted + 1) % 64);
                                const GateWord granted = one_granted(word);
                                same(granted, true, true, false);
                                CHECK(granted.in_flight() == in_flight + 1);
                                CHECK(granted.waiting() == waiting - 1);
                                CHECK(granted.admitted() == (admitted + 1) % 64);
                                CHECK(granted.joined() == joined);
                                const GateWord released = one_released(word);
                                same(released, true, false, false);
                                CHECK(released.in_flight() == in_flight - 1);
                                CHECK(released.admitted() == admitted);
                                const GateWord longer = one_joined(word, 5);
                                same(longer, false, true, true);
                                CHECK(longer.waiting() == waiting + 1);
                                CHECK(longer.newest() == 5);
                                CHECK(longer.joined() == (joined + 1) % 16);
                                const GateWord shorter = some_dropped(word, 1);
                                same(shorter, false, true, false);
                                CHECK(shorter.waiting() == waiting - 1);
                                CHECK(shorter.joined() == joined);
                                const GateWord taken = all_taken_in(word);
                                same(taken, false, false, true);
                                CHECK(taken.newest() == GateWord::nobody);
                                GateWord moved = epoch_moved(word);
                                CHECK((moved.bits & GateWord::epoch_mask) == ((epoch + 1) % 8) << 51U);
                                moved.bits = (moved.bits & ~GateWord::epoch_mask) | epoch << 51U;
                                CHECK(moved == word);
                                CHECK(made_pause(word).paused());
                                CHECK_FALSE(resumed(made_pause(word)).paused());
                            }
}

TEST_CASE(
    "T19 split count: the total is known whatever the laps are behind, and they are brought up once a lap") {
    using Count = SplitCount<4>;  // laps of 4
    for (std::uint64_t total = 0; total < 200; ++total)
        for (std::uint64_t behind = 0; behind < 4 && behind <= total / Count::lap; ++behind) {
            const std::uint64_t laps = total / Count::lap - behind;
            CHECK(Count::behind(total % 16, laps) == behind);
            CHECK(Count::total(total % 16, laps) == total);
        }
    // Counting by the rule: whoever ends a lap brings the laps up, or the next lap does not begin.
    std::uint64_t laps = 0;
    for (std::uint64_t total = 0; total < 100; ++total) {
        if (!Count::may_count(total % 16, laps)) {
            CHECK(Count::behind(total % 16, laps) == 1);
            ++laps;
        }
        CHECK(Count::may_count(total % 16, laps));
        CHECK(Count::total(total % 16, laps) == total);
    }
}

TEST_CASE("Baton word: in every interleaving of askers and holder, nothing that was asked for is left") {
    EveryChoice tree;
    do {
        BatonWord word;
        int undone = 0, to_ask = 3, holders = 0;
        while (to_ask > 0 || holders > 0) {
            if (to_ask > 0 && (holders == 0 || tree.choose(2) == 0)) {
                --to_ask;
                ++undone;
                const BatonStep step = asked(word);
                word = step.after;
                holders += step.holds ? 1 : 0;
                CHECK(holders <= 1);
            } else {
                undone = 0;  // the look; then others may ask
                while (to_ask > 0 && tree.choose(2) == 0) {
                    --to_ask;
                    ++undone;
                    const BatonStep step = asked(word);
                    CHECK_FALSE(step.holds);
                    word = step.after;
                }
                const BatonStep step = put_down(word);
                word = step.after;
                holders -= step.holds ? 0 : 1;
            }
        }
        CHECK(undone == 0);
        CHECK(word == BatonWord{});
    } while (tree.next());
}

namespace {

/// Everybody who may touch one waiter, one step at a time.
struct OneWaiter {
    WaiterWord word = drafted({});
    bool in_line = true;
    bool submitted = false;  // submit() has returned
    int couriers = 1;        // the submitter
    int freed = 0;
    int outcomes_told = 0;
    int won = 0;  // granted or dropped, by whom it may be
    bool chosen_by_holder = false;
    std::uint32_t posted = 3;
    std::uint32_t told = 3;
    WaiterPhase told_outcome = WaiterPhase::free;

    void take(WaiterStep step) {
        word = step.after;
        couriers += step.task == WaiterTask::carry ? 1 : 0;
        freed += step.task == WaiterTask::free ? 1 : 0;
        CHECK(couriers <= 1);
        CHECK(freed <= 1);
    }

    void holder(std::size_t what) {
        if (!in_line)
            return;
        if (chosen_by_holder) {  // between the two steps of a grant
            in_line = false;
            take(granted(word));
            return;
        }
        if (what == 0 && posted > 1 && word.open()) {
            --posted;
            take(posted_step());
        } else if (what == 1 && chosen(word).task != WaiterTask::refused) {
            take(chosen(word));
            chosen_by_holder = true;
            ++won;
        } else if (!word.open()) {
            in_line = false;
            take(unlinked(word));
        }
    }
    [[nodiscard]] WaiterStep posted_step() const {
        return ::posted(word, posted);
    }

    void dropper(WaiterPhase outcome) {
        const WaiterStep step = dropped(word, outcome);
        if (step.task == WaiterTask::refused) {
            CHECK(step.after == word);
            return;
        }
        take(step);
        ++won;
    }

    void courier() {
        if (couriers == 0)
            return;
        const CourierStep step = collected(word);
        if (step.task == CourierTask::position) {
            CHECK(word.position() < told);  // in order, none stale
            told = word.position();
            word = step.after;
        } else if (step.task == CourierTask::rest) {
            word = step.after;
            couriers = 0;
            submitted = true;
        } else {
            CHECK(outcomes_told == 0);
            ++outcomes_told;
            told_outcome = word.phase();
            take(delivered(word));
            couriers = 0;
            submitted = true;
        }
    }
};

}  // namespace

TEST_CASE(
    "T7 T21 waiter word: in every interleaving one outcome is told, once, after the last position, and "
    "memory is freed once") {
    std::set<WaiterPhase> outcomes;
    EveryChoice tree;
    do {
        OneWaiter one;
        for (int steps = 0; steps < 7; ++steps) {
            switch (tree.choose(5)) {
                case 0:
                    one.courier();
                    break;
                case 1:
                    one.holder(0);
                    break;
                case 2:
                    one.holder(1);
                    break;
                case 3:
                    one.dropper(WaiterPhase::cancelled);
                    break;
                default:
                    one.dropper(WaiterPhase::expired);
                    break;
            }
            CHECK(one.won <= 1);
        }
        // Whatever is under way ends: the waiter is dropped if nothing was decided.
        for (int rounds = 0; rounds < 6; ++rounds) {
            one.courier();
            if (one.submitted)
                one.dropper(WaiterPhase::expired);
            one.holder(2);
        }
        CHECK(one.won == 1);
        CHECK(one.outcomes_told == 1);
        CHECK(one.freed == 1);
        CHECK(one.couriers == 0);
        outcomes.insert(one.told_outcome);
    } while (tree.next());
    CHECK(outcomes ==
          std::set<WaiterPhase>{WaiterPhase::granted, WaiterPhase::cancelled, WaiterPhase::expired});
}

TEST_CASE(
    "Waiter word: a joining waiter is dropped by the end of the gate only, and a new life has a new "
    "generation") {
    const WaiterWord joining = drafted({});
    CHECK(joining.phase() == WaiterPhase::joining);
    CHECK(joining.carried());
    CHECK(dropped(joining, WaiterPhase::cancelled).task == WaiterTask::refused);
    CHECK(dropped(joining, WaiterPhase::shut_down).task == WaiterTask::none);
    CHECK(chosen(joining).after.phase() == WaiterPhase::chosen);
    for (std::uint64_t generation : {0ULL, 1ULL, 0xffff'ffffULL}) {
        const WaiterWord old{generation << 32U | 0xffff'ff5fU};
        CHECK(drafted(old).generation() == static_cast<std::uint32_t>(generation + 1));
        CHECK((drafted(old).bits & 0xffff'ffffU) ==
              (WaiterWord::carried_bit | static_cast<std::uint64_t>(WaiterPhase::joining)));
        CHECK(freed(old).bits == generation << 32U);
    }
}
