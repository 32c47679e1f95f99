// Goal (E30, E32): lookers, sleepers and wakes are counted truly, whoever is faster. Method: every sequence of operations of two
// members and a maker of work, against a naive model; members beyond the first word; timeouts. Many threads:
// lookout_stress_test.cpp; every interleaving: models/parking.pml.
#include "sync/lookout.hpp"
#include "sync/alarm.hpp"

#include "core/every_choice.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>

using namespace sluice;
using core::test::EveryChoice;

namespace {

using Lookout = sync::BasicLookout<sync::LookoutRules, 256>;

/// Where a member is. `chosen`: a waker has called it, and it has not run since.
enum class Member : std::uint8_t { away, looking, parked, chosen };

struct Naive {
    std::array<Member, 2> members{Member::away, Member::away};

    [[nodiscard]] std::uint32_t count(Member what) const {
        return static_cast<std::uint32_t>(members[0] == what) +
               static_cast<std::uint32_t>(members[1] == what);
    }
    [[nodiscard]] std::uint32_t lookers() const {
        return count(Member::looking);
    }
    /// The lowest that is away decides: it is woken, or it is being woken and nobody else is.
    sync::Wake wake_one(std::uint64_t& wakes) {
        if (lookers() != 0)
            return sync::Wake::looks_already;
        for (Member& member : members) {
            if (member == Member::chosen)
                return sync::Wake::looks_already;
            if (member == Member::parked) {
                ++wakes;
                member = Member::chosen;
                return sync::Wake::woke;
            }
        }
        return sync::Wake::nobody;
    }
    bool wake_lowest() {
        for (Member& member : members) {
            if (member == Member::parked) {
                member = Member::chosen;
                return true;
            }
        }
        return false;
    }
};

bool step_of_a_member(EveryChoice& choice, Lookout& lookout, Naive& naive, std::size_t me) {
    Member& member = naive.members[me];
    switch (member) {
        case Member::away:
            lookout.start_looking();
            member = Member::looking;
            return true;
        case Member::looking:
            if (choice.choose(2) == 0) {
                lookout.begin_park(me);
                member = Member::parked;
                return true;
            }
            member = Member::away;
            return lookout.stop_looking() == (naive.lookers() == 0);
        case Member::parked:
            if (choice.choose(2) == 0) {
                member = Member::looking;
                return !lookout.cancel_park(me);
            }
            member = Member::looking;
            return !lookout.park_for(me, 0);
        default:
            member = Member::looking;
            switch (choice.choose(3)) {
                case 0:
                    return lookout.cancel_park(me);
                case 1:
                    lookout.park(me);
                    return true;
                default:
                    return lookout.park_for(me, INT64_MAX / 2);
            }
    }
}

bool follows_the_model(EveryChoice& choice, Lookout& lookout, std::size_t steps) {
    Naive naive;
    std::uint64_t wakes = 0;
    bool good = true;
    for (std::size_t step = 0; step < steps && good; ++step) {
        const std::size_t who = choice.choose(4);
        if (who < 2) {
            good = step_of_a_member(choice, lookout, naive, who);
        } else if (who == 2) {
            const sync::Wake expected = naive.wake_one(wakes);
            good = lookout.wake_one() == expected;
        } else {
            const bool woken = naive.wake_lowest();
            wakes += woken ? 1 : 0;
            good = lookout.wake_another() == woken;
        }
        good = good && lookout.lookers() == naive.lookers() &&
               lookout.parked() == naive.count(Member::parked) &&
               lookout.anyone_looking() == (naive.lookers() > 0) && lookout.wakes() == wakes;
    }
    return good;
}

}  // namespace

TEST_CASE("every sequence of seven operations follows the naive model") {
    EveryChoice choice;
    std::uint64_t sequences = 0;
    bool good = true;
    do {
        const auto lookout = std::make_unique<Lookout>(2);
        good = follows_the_model(choice, *lookout, 7);
        ++sequences;
    } while (good && choice.next());
    CHECK(good);
    MESSAGE("sequences: " << sequences);
    CHECK(sequences > 50'000);
}

TEST_CASE("256 members: the lowest sleeper is woken first") {
    const auto lookout = std::make_unique<Lookout>(256);
    for (std::size_t i = 0; i < 256; ++i) {
        lookout->start_looking();
    }
    for (const std::size_t member : {200U, 63U, 64U, 255U, 0U, 127U}) {
        lookout->begin_park(member);
    }
    CHECK(lookout->parked() == 6);
    CHECK(lookout->wake_one() != sync::Wake::nobody);  // 250 look
    CHECK(lookout->parked() == 6);
    for (const std::size_t member : {0U, 63U, 64U, 127U, 200U, 255U}) {
        CHECK(lookout->wake_another());
        lookout->park(member);
    }
    CHECK_FALSE(lookout->wake_another());
    CHECK(lookout->lookers() == 256);
    CHECK(lookout->wakes() == 6);
}

TEST_CASE("a call that came while its member was awake already does not end the next sleep") {
    const auto lookout = std::make_unique<Lookout>(1);
    lookout->start_looking();
    lookout->begin_park(0);
    CHECK(lookout->wake_one() == sync::Wake::woke);
    CHECK(lookout->wake_one() == sync::Wake::looks_already);  // on its way: one wake for both
    CHECK(lookout->wakes() == 1);
    CHECK(lookout->cancel_park(0));
    lookout->begin_park(0);
    CHECK_FALSE(lookout->park_for(0, 1'000'000));
    CHECK(lookout->lookers() == 1);
    lookout->begin_park(0);
    std::jthread waker([&lookout] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        static_cast<void>(lookout->wake_one());
    });
    lookout->park(0);
    CHECK(lookout->lookers() == 1);
}

TEST_CASE("the alarm is off, on, and off again only when there is nothing to watch over") {
    sync::Alarm alarm;
    CHECK_FALSE(alarm.armed());
    CHECK(alarm.arm());
    CHECK(alarm.armed());
    CHECK_FALSE(alarm.arm());
    alarm.sleep();  // returns: armed
    alarm.tick(100'000);
    CHECK_FALSE(alarm.try_disarm([&alarm] {
        CHECK_FALSE(alarm.armed());  // off before the question
        return true;
    }));
    CHECK(alarm.armed());
    CHECK(alarm.try_disarm([] { return false; }));
    CHECK_FALSE(alarm.armed());
    // Somebody arms while the keeper asks: it may go to sleep, and does not.
    CHECK(alarm.arm());
    alarm.sleep();
    CHECK(alarm.try_disarm([&alarm] {
        CHECK(alarm.arm());
        return false;
    }));
    CHECK(alarm.armed());
    alarm.sleep();
    alarm.nudge();
    alarm.sleep();
}

TEST_CASE("sleepers are on lines of their own") {
    static_assert(sizeof(sync::Lookout) == 2 * sync::cache_line + 256 * sync::cache_line ||
                  sizeof(sync::Lookout) == sync::cache_line + 256 * sync::cache_line);
    static_assert(sizeof(sync::Alarm) == 2 * sync::cache_line);
}
