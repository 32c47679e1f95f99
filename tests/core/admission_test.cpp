// Goal:   the table of E9, row by row, with E10 and the pause of E15; and that in and out of flight cancel each other.
// Method: all lanes against all states of one actor, compared with the table as the spec prints it.

#include "core/admission.hpp"
#include "world.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::core;
using namespace sluice::core::test;

namespace {

/// The spec's table, in its own words.
bool table_of_e9(unsigned reads, bool status, bool writer, unsigned in_flight, Lane lane,
                 const Limits& limits) {
    if (writer)
        return false;
    const bool below_actor_cap = in_flight < limits.actor_cap;
    switch (lane) {
        case Lane::pure_read:
            return reads < limits.read_cap && below_actor_cap;
        case Lane::serial_status:
            return !status && below_actor_cap;
        case Lane::heavy_init:
            return below_actor_cap;
        case Lane::mutating:
            return reads == 0 && !status && below_actor_cap;
    }
    return false;
}

}  // namespace

TEST_CASE("E9: every lane in every state of an actor") {
    Limits limits;
    limits.actor_cap = 4;
    limits.read_cap = 2;
    for (std::uint8_t reads = 0; reads <= 2; ++reads)
        for (const bool status : {false, true})
            for (const bool writer : {false, true})
                for (std::uint8_t builds = 0; builds <= 2; ++builds) {
                    Actor actor;
                    actor.reads = reads;
                    actor.status = status;
                    actor.writer = writer;
                    actor.in_flight = static_cast<std::uint8_t>(reads + status + writer + builds);
                    for (const Lane lane : lanes) {
                        const bool expected =
                            table_of_e9(reads, status, writer, actor.in_flight, lane, limits);
                        CHECK(admissible(check_lane(actor, lane, limits)) == expected);
                        if (closed(actor, limits))
                            CHECK_FALSE(expected);
                    }
                }
}

TEST_CASE("E9: only heavy_init needs a permit") {
    const Actor actor;
    for (const Lane lane : lanes)
        CHECK(check_lane(actor, lane, Limits{}) ==
              (lane == Lane::heavy_init ? Verdict::needs_permit : Verdict::admit));
}

TEST_CASE("E9: each refusal names its reason") {
    Limits limits;
    limits.actor_cap = 3;
    limits.read_cap = 1;
    Actor actor;
    actor.reads = actor.in_flight = 1;
    CHECK(check_lane(actor, Lane::pure_read, limits) == Verdict::read_cap_reached);
    CHECK(check_lane(actor, Lane::mutating, limits) == Verdict::readers_in_flight);
    actor.status = true;
    actor.in_flight = 2;
    CHECK(check_lane(actor, Lane::serial_status, limits) == Verdict::status_in_flight);
    actor.in_flight = 3;
    CHECK(check_lane(actor, Lane::heavy_init, limits) == Verdict::actor_cap_reached);
    Actor writing;
    writing.writer = true;
    CHECK(check_lane(writing, Lane::pure_read, limits) == Verdict::writer_in_flight);
}

TEST_CASE("E10: maintenance is held back by an interactive head that is mutating, and by no other") {
    const Limits limits;
    for (const Lane head : lanes) {
        Job before, behind;
        before.lane = head;
        Actor actor;
        actor.interactive.head = &before;
        actor.maintenance.head = &behind;
        CHECK((check_head(actor, JobClass::maintenance, limits) == Verdict::interactive_barrier) ==
              (head == Lane::mutating));
        CHECK(admissible(check_head(actor, JobClass::interactive, limits)));
    }
}

TEST_CASE("E15: a pending install stops every lane of both classes") {
    Job install, head;
    Actor actor;
    actor.last_install = &install;
    actor.interactive.head = actor.maintenance.head = &head;
    for (const Lane lane : lanes) {
        head.lane = lane;
        CHECK_FALSE(admissible(check_head(actor, JobClass::interactive, Limits{})));
        CHECK_FALSE(admissible(check_head(actor, JobClass::maintenance, Limits{})));
    }
}

TEST_CASE("E9: admit and leave cancel each other in every lane") {
    for (const Lane lane : lanes) {
        Actor actor;
        admit(actor, lane);
        CHECK(actor.in_flight == 1);
        CHECK(actor.has_reader() == (lane == Lane::pure_read || lane == Lane::serial_status));
        CHECK(bool{actor.writer} == (lane == Lane::mutating));
        leave(actor, lane);
        CHECK(actor.in_flight == 0);
        CHECK_FALSE(actor.has_reader());
        CHECK_FALSE(bool{actor.writer});
    }
}
