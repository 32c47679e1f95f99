// Goal (P1, P15, E2's manner): defaults as specified; a table of one's own; every wrong value named with field, value, range.
#include "core/pool_normalise.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

using namespace sluice;
using namespace std::chrono_literals;

namespace {

template <class Change>
std::string refusal(Change change) {
    PoolConfig config;
    change(config);
    const auto effective = core::normalise(config);
    return effective ? "accepted" : effective.error().message();
}

}  // namespace

TEST_CASE("P1: the default table") {
    const auto config = core::normalise(PoolConfig{});
    REQUIRE(config.has_value());
    CHECK(config->max_queued == 64);
    CHECK(config->max_queued_bytes == 1024 * 1024);
    REQUIRE(config->lanes.size() == 4);
    CHECK((config->lanes[0].name == "control" && config->lanes[0].limit == 16));
    CHECK((config->lanes[1].name == "user" && config->lanes[1].limit == 16));
    CHECK((config->lanes[2].name == "cheap" && config->lanes[2].limit == 32));
    CHECK((config->lanes[3].name == "bulk" && config->lanes[3].limit == 32));
    REQUIRE(config->kinds.size() == 4);
    CHECK((config->kinds[0].workers == 1 && config->kinds[0].lanes == 0b0001));
    CHECK((config->kinds[1].workers == 2 && config->kinds[1].lanes == 0b0011));
    CHECK((config->kinds[2].workers == 3 && config->kinds[2].lanes == 0b0111));
    CHECK((config->kinds[3].workers == 10 && config->kinds[3].lanes == 0b1111));
    CHECK(config->workers == 16);
    const core::PoolLimits limits = core::limits_of(*config);
    CHECK((limits.lanes == 4 && limits.kinds == 4 && limits.total == 64 && limits.bytes == 1024 * 1024));
    CHECK(limits.lane[2] == 32);
}

TEST_CASE("P15: lanes and kinds are data") {
    PoolConfig config;
    config.lanes = {{"now", 3, 5ms}, {"later", 1 << 20, {}}};
    config.kinds = {{"fast", 2, {"now"}}, {"unused", 0, {"later"}}, {"all", 1, {"later", "now"}}};
    const auto effective = core::normalise(config);
    REQUIRE(effective.has_value());
    CHECK(effective->lanes[0].max_wait == 5ms);
    CHECK(effective->kinds[2].lanes == 0b11);
    CHECK(effective->workers == 3);
}

TEST_CASE("a wrong value is refused with its field, the value and the range") {
    CHECK(refusal([](PoolConfig& c) { c.max_queued = 0; }) == "max_queued is 0, but must be 1..2^20");
    CHECK(refusal([](PoolConfig& c) { c.max_queued = (1 << 20) + 1; }) ==
          "max_queued is 1048577, but must be 1..2^20");
    CHECK(refusal([](PoolConfig& c) { c.max_queued_bytes = -1; }) ==
          "max_queued_bytes is -1, but must be 0..2^62");
    CHECK(refusal([](PoolConfig& c) { c.lanes[3].limit = 0; }) ==
          "lanes.limit is 0 for \"bulk\", but must be 1..2^20");
    CHECK(refusal([](PoolConfig& c) { c.lanes[1].max_wait = -1ns; }) ==
          "lanes.max_wait is -1 for \"user\", but must be 0..2^62 ns");
    CHECK(refusal([](PoolConfig& c) { c.kinds[0].workers = 257; }) ==
          "kinds.workers is 257 for \"control\", but must be 0..256");
    CHECK(refusal([](PoolConfig& c) { c.kinds[0].lanes = {"contrl"}; }) ==
          "kinds.lanes is \"contrl\" for \"control\", but must be names of lanes in the table");
    CHECK(refusal([](PoolConfig& c) { c.kinds[0].lanes = {}; }) ==
          "kinds.lanes is empty for \"control\", but must be at least one lane of the table");
    CHECK(refusal([](PoolConfig& c) { c.kinds[3].workers = 0; }) ==
          "kinds is without a worker for lane \"bulk\", but must be a table with a worker for every lane");
    CHECK(refusal([](PoolConfig& c) { c.lanes[1].name = "bulk"; }) ==
          "lanes.name is \"bulk\" twice, but must be another name for each");
    CHECK(refusal([](PoolConfig& c) { c.kinds[1].name = ""; }) ==
          "kinds.name is \"\", but must be 1..32 characters");
    CHECK(refusal([](PoolConfig& c) { c.lanes.clear(); }) ==
          "lanes is a table of 0, but must be a table of 1..16");
    CHECK(refusal([](PoolConfig& c) {
              c.lanes.clear();
              c.kinds = {{"all", 1, {}}};
              for (int i = 0; i < 40; ++i) {
                  c.lanes.push_back({"lane" + std::to_string(i), 1, {}});
                  c.kinds[0].lanes.push_back(c.lanes.back().name);
              }
          }) == "lanes is a table of 40, but must be a table of 1..16");
    CHECK(refusal([](PoolConfig& c) { c.spin_budget = 2s; }) ==
          "spin_budget is 2000000000, but must be 0..1000000000 ns");
    CHECK(refusal([](PoolConfig& c) { c.thread_name_prefix = "much too long"; }) ==
          "thread_name_prefix is \"much too long\", but must be 1..9 characters, none of them NUL");
    CHECK(refusal([](PoolConfig& c) { c.thread_name_prefix = std::string("a\0b", 3); }) ==
          "thread_name_prefix is \"a\\0b\", but must be 1..9 characters, none of them NUL");
    CHECK(refusal([](PoolConfig& c) { c.cpus = {-1}; }) == "cpus is -1, but must be 0..4095 for each CPU");
}
