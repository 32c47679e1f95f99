// Goal (P2, P3, P16): admission admits what fits and nothing else, names the first bound in the order total, lane, bytes, and
// every transition keeps the sums.
// Method: every sequence of transitions from the empty record, to the end of what tiny limits allow, beside a model that
// counts on its fingers. Then the same words at their largest values, where a carry would show.
#include "core/pool_record.hpp"
#include "core/words/item_word.hpp"
#include "core/words/lane_cell.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

using namespace sluice::core;

namespace {

constexpr std::uint64_t big = 2;  // bytes of the larger item

PoolLimits tiny() {
    PoolLimits limits;
    limits.lanes = 2;
    limits.kinds = 3;
    limits.total = 3;
    limits.bytes = 4;
    limits.lane = {2, 2};
    return limits;
}

/// What is in the record, as a list of items.
struct Model {
    std::array<std::array<std::uint32_t, 3>, 2> queued{};  // lane, bytes
    std::array<std::uint32_t, 2> waiting{};
    std::array<std::uint32_t, 3> taken{};
    std::uint32_t cancelled = 0, discarded = 0, thrown = 0;
    bool closed = false;

    [[nodiscard]] std::uint32_t in(std::size_t lane) const {
        return queued[lane][0] + queued[lane][1] + queued[lane][2];
    }
    [[nodiscard]] std::uint64_t bytes() const {
        return queued[0][1] + queued[1][1] + 2 * (queued[0][2] + queued[1][2]);
    }
    [[nodiscard]] Verdict would(const PoolLimits& limits, std::uint32_t lane, std::uint64_t size) const {
        if (closed)
            return Verdict::closed;
        if (size > limits.bytes)
            return Verdict::never_fits;
        if (in(0) + in(1) + 1 > limits.total)
            return Verdict::total;
        if (in(lane) + 1 > limits.lane[lane])
            return Verdict::lane;
        return bytes() + size > limits.bytes ? Verdict::bytes : Verdict::admitted;
    }
    friend bool operator<(const Model& a, const Model& b) {
        return std::tie(a.queued, a.waiting, a.taken, a.cancelled, a.discarded, a.thrown, a.closed) <
               std::tie(b.queued, b.waiting, b.taken, b.cancelled, b.discarded, b.thrown, b.closed);
    }
};

struct State {
    Model model;
    PoolRecord record;
};

void agree(const State& state, const PoolLimits& limits) {
    const auto& [model, record] = state;
    REQUIRE(record.closed() == model.closed);
    REQUIRE(record.bytes() == model.bytes());
    REQUIRE(record.bytes() <= limits.bytes);
    REQUIRE(record.queued_total(limits) == model.in(0) + model.in(1));
    REQUIRE(record.queued_total(limits) <= limits.total);
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
        REQUIRE(record.queued(lane) == model.in(lane));
        REQUIRE(record.queued(lane) <= limits.lane[lane]);
        REQUIRE(record.waiting(lane) == model.waiting[lane]);
    }
    REQUIRE(record.anyone_waiting(limits) == (model.waiting[0] + model.waiting[1] != 0));
    for (std::uint32_t kind = 0; kind < 3; ++kind)
        REQUIRE(record.taken(limits, kind) == model.taken[kind]);
    REQUIRE(record.cancelled() == model.cancelled);
    REQUIRE(record.discarded() == model.discarded);
    REQUIRE(record.thrown() == model.thrown);
}

/// All states that one transition leads to.
std::vector<State> successors(const State& from, const PoolLimits& limits) {
    std::vector<State> result;
    const auto same = [&](const PoolRecord& record) { return record.words == from.record.words; };
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
        for (std::uint32_t size = 0; size <= 2; ++size) {
            State next = from;
            const Verdict would = from.model.would(limits, lane, size);
            const bool behind = from.model.waiting[lane] != 0;
            const Verdict newcomer = would == Verdict::admitted && behind ? Verdict::waiters : would;
            REQUIRE(next.record.admit(limits, lane, size) == newcomer);
            if (newcomer == Verdict::admitted) {
                ++next.model.queued[lane][size];
                result.push_back(next);
            } else {
                REQUIRE(same(next.record));
            }
            if (newcomer >= Verdict::total && from.model.waiting[lane] == 0) {
                next = from;
                next.record.join_line(lane);
                ++next.model.waiting[lane];
                result.push_back(next);
            }
            if (behind) {
                next = from;
                REQUIRE(next.record.admit_waiter(limits, lane, size) == would);
                if (would == Verdict::admitted) {
                    --next.model.waiting[lane];
                    ++next.model.queued[lane][size];
                    result.push_back(next);
                } else {
                    REQUIRE(same(next.record));
                }
                next = from;
                next.record.leave_line(lane);
                --next.model.waiting[lane];
                result.push_back(next);
            }
            if (from.model.queued[lane][size] == 0)
                continue;
            for (std::uint32_t kind = 0; kind < 3; ++kind) {
                next = from;
                next.record.take(limits, lane, size, kind);
                --next.model.queued[lane][size];
                ++next.model.taken[kind];
                result.push_back(next);
            }
            next = from;
            next.record.cancel(lane, size);
            --next.model.queued[lane][size];
            ++next.model.cancelled;
            result.push_back(next);
            next = from;
            next.record.discard(lane, size);
            --next.model.queued[lane][size];
            ++next.model.discarded;
            result.push_back(next);
        }
    }
    for (std::uint32_t kind = 0; kind < 3; ++kind) {
        if (from.model.taken[kind] == 0)
            continue;
        State next = from;
        next.record.threw(limits, kind);
        --next.model.taken[kind];
        ++next.model.thrown;
        result.push_back(next);
    }
    State closed = from;
    closed.record.close();
    closed.model.closed = true;
    result.push_back(closed);
    return result;
}

}  // namespace

TEST_CASE("P2, P3, P16: every transition of the record, from every state that tiny limits allow") {
    const PoolLimits limits = tiny();
    std::set<Model> seen;
    std::vector<State> todo{State{}};
    std::uint64_t steps = 0;
    while (!todo.empty()) {
        const State state = todo.back();
        todo.pop_back();
        agree(state, limits);
        for (const State& next : successors(state, limits)) {
            ++steps;
            agree(next, limits);
            // What has ended only grows; two ends show all there is to see.
            const Model& m = next.model;
            if (m.cancelled + m.discarded + m.thrown + m.taken[0] + m.taken[1] + m.taken[2] > 2)
                continue;
            if (seen.insert(m).second)
                todo.push_back(next);
        }
    }
    MESSAGE(seen.size() << " states, " << steps << " transitions");
    CHECK(seen.size() > 5'000);
}

TEST_CASE("P2: bytes are compared without wrapping, whatever an item claims") {
    PoolLimits limits = tiny();
    limits.bytes = std::uint64_t{1} << 62;
    PoolRecord record;
    CHECK(record.admit(limits, 0, ~std::uint64_t{0}) == Verdict::never_fits);
    CHECK(record.admit(limits, 0, limits.bytes + 1) == Verdict::never_fits);
    CHECK(record.admit(limits, 0, limits.bytes) == Verdict::admitted);
    CHECK(record.bytes() == limits.bytes);
    CHECK_FALSE(record.closed());
    CHECK(record.admit(limits, 0, 1) == Verdict::bytes);
    CHECK(record.admit(limits, 0, limits.bytes) == Verdict::bytes);
    CHECK(record.admit(limits, 0, 0) == Verdict::admitted);
    record.close();
    CHECK(record.bytes() == limits.bytes);
}

TEST_CASE(
    "P2: never_fits whether the pool is full or not; otherwise the first bound in the order total, lane, "
    "bytes") {
    const PoolLimits limits = tiny();
    PoolRecord record;
    REQUIRE(record.admit(limits, 0, big) == Verdict::admitted);
    REQUIRE(record.admit(limits, 0, big) == Verdict::admitted);
    CHECK(record.admit(limits, 0, 1) == Verdict::lane);   // and bytes
    CHECK(record.admit(limits, 1, 1) == Verdict::bytes);  // alone
    REQUIRE(record.admit(limits, 1, 0) == Verdict::admitted);
    CHECK(record.admit(limits, 0, 1) == Verdict::total);  // and lane, and bytes
    CHECK(record.admit(limits, 0, 5) == Verdict::never_fits);
    record.close();
    CHECK(record.admit(limits, 0, 5) == Verdict::closed);
}

TEST_CASE("P15: sixteen lanes and kinds do not run into each other, and counts of what ran wrap") {
    PoolLimits limits;
    limits.lanes = PoolLimits::most_lanes;
    limits.kinds = PoolLimits::most_kinds;
    limits.total = ~std::uint32_t{0};
    limits.bytes = 1000;
    limits.lane.fill(1U << 20U);
    REQUIRE(limits.words() == PoolRecord::most_words);
    PoolRecord record;
    for (std::uint32_t i = 0; i < 16; ++i) {
        for (std::uint32_t n = 0; n <= i; ++n)
            REQUIRE(record.admit(limits, i, 1) == Verdict::admitted);
    }
    for (std::uint32_t i = 0; i < 16; ++i) {
        CHECK(record.queued(i) == i + 1);
        record.take(limits, i, 1, i);
    }
    record.threw(limits, 0);
    record.threw(limits, 0);  // one more than was taken: modulo 2^32
    CHECK(record.taken(limits, 0) == 0xffff'ffffU);
    CHECK(record.taken(limits, 1) == 1);
    CHECK(record.queued_total(limits) == 120);
    CHECK(record.bytes() == 120);
}

TEST_CASE("P6: an item's word keeps its life and its holders through every phase") {
    ItemWord word{};
    word = drafted(word);
    CHECK(word.phase() == ItemPhase::drafted);
    CHECK(word.generation() == 1);
    word = moved_to(word, ItemPhase::queued);
    CHECK(word.queued());
    const ItemWord held{word.bits | ItemWord::dropped_bit | ItemWord::orphan_bit};
    for (const ItemPhase phase : {ItemPhase::running, ItemPhase::cancelled, ItemPhase::discarded}) {
        const ItemWord moved = moved_to(held, phase);
        CHECK(moved.phase() == phase);
        CHECK(moved.dropped());
        CHECK(moved.orphan());
        CHECK_FALSE(moved.settled());
        CHECK(moved.generation() == 1);
    }
    const ItemWord running = moved_to(held, ItemPhase::running);
    const ItemWord ran{running.bits + ran_step};
    const ItemWord thrown{running.bits + thrown_step};
    CHECK((ran.phase() == ItemPhase::ran && ran.settled() && ran.dropped() && ran.generation() == 1));
    CHECK((thrown.phase() == ItemPhase::thrown && thrown.settled() && thrown.dropped() &&
           thrown.generation() == 1));
    CHECK(freed(ran).phase() == ItemPhase::free);
    CHECK_FALSE(freed(ran).dropped());
    CHECK(drafted(freed(ran)).generation() == 2);
    CHECK_FALSE(moved_to(word, ItemPhase::running).ended());
    CHECK(moved_to(word, ItemPhase::cancelled).ended());
}

TEST_CASE("a lane's cell keeps position and slot apart, at their largest too") {
    const std::uint64_t far = LaneCell::most_positions - 9;
    const std::uint32_t last = LaneCell::most_slots - 1;
    const LaneCell empty = LaneCell::of(far, LaneCell::Kind::empty);
    CHECK(empty.position() == far);
    CHECK_FALSE(empty.frozen());
    const LaneCell item = filled(empty, last);
    CHECK((item.position() == far && item.slot() == last && item.kind() == LaneCell::Kind::item));
    CHECK(emptied(item, 8) == LaneCell::of(far + 8, LaneCell::Kind::empty));
    CHECK((frozen(item, true).kind() == LaneCell::Kind::kept && frozen(item, true).slot() == last));
    CHECK((frozen(item, false).kind() == LaneCell::Kind::dropped && frozen(item, false).position() == far));
    CHECK(frozen(empty, false).frozen());
}
