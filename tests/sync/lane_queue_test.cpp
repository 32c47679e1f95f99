// Goal (P1, P5, P11): strict FIFO from any thread to any thread, deletion anywhere in O(1), no room lost to the dead, and no
// item lost, twice or out of order while rings are compacted.
// Method: every short sequence beside a std::deque; then threads that push, take, kill and walk through a lane of 1 to 4 items,
// where each wrap and each compaction comes all the time. The same stress must fail with each planted bug.
#include "sync/lane_queue.hpp"

#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

namespace sluice {

namespace {

using sync::LaneQueueRules;

constexpr std::uint64_t no_seat = sync::BasicLaneQueue<LaneQueueRules>::no_seat;

/// The pool's part: a word that says alive and in which life, and a seat.
struct Slot {
    std::atomic<std::uint64_t> word{0};  // life << 1 | alive
    std::atomic<std::uint64_t> seat{no_seat};
    std::atomic<std::uint64_t> tag{0};  // what the pusher wrote: producer << 40 | number
};

struct Slots {
    std::vector<Slot> slots;
    explicit Slots(std::size_t count) : slots(count) {}

    [[nodiscard]] std::atomic<std::uint64_t>& seat(std::uint32_t slot) {
        return slots[slot].seat;
    }
    [[nodiscard]] bool live(std::uint32_t slot, std::uint64_t seat) const {
        return (slots[slot].word.load() & 1U) != 0 && slots[slot].seat.load() == seat;
    }
    [[nodiscard]] bool claim(std::uint32_t slot, std::uint64_t seat) {
        std::uint64_t word = slots[slot].word.load();
        return (word & 1U) != 0 && slots[slot].seat.load() == seat && kill(slot, word);
    }
    [[nodiscard]] bool kill(std::uint32_t slot, std::uint64_t word) {
        return (word & 1U) != 0 && slots[slot].word.compare_exchange_strong(word, word + 1);
    }
    void revive(std::uint32_t slot, std::uint64_t tag) {
        slots[slot].seat.store(no_seat);
        slots[slot].tag.store(tag);
        slots[slot].word.fetch_add(1);
    }
};

void yield_now_and_then() noexcept {
    thread_local std::uint32_t count = 0;
    if (++count % 7 == 0)
        std::this_thread::yield();
}

struct Restless : LaneQueueRules {
    static void rest() noexcept {
        yield_now_and_then();
    }
};
std::atomic<bool> mutants_stop{false};

struct Mutant : Restless {
    static bool give_up() noexcept {
        return mutants_stop.load();
    }
};
struct AsksAgain : Mutant {
    static constexpr bool believe_the_freeze = false;
};
/// A helper that sleeps between freezing and copying, and goes on while a later compaction of the same ring is under way.
struct Scripted : LaneQueueRules {
    inline static std::atomic<int> act{0};
    inline static thread_local int role = 0;  // 1: the sleeper, 2: the one that goes on
    static void await(int wanted) noexcept {
        while (act.load() < wanted)
            std::this_thread::yield();
    }
    static void frozen() noexcept {
        if (role == 1 && act.load() == 0) {
            act.store(1);
            await(2);
        } else if (role == 2 && act.load() == 1) {
            act.store(2);
            await(3);
        }
    }
};
struct BelievesAnyCell : Scripted {
    static constexpr bool match_positions = false;
};

/// Whether the item that was there all the time is still found in the end.
template <class Rules>
bool old_item_survives_a_late_helper() {
    constexpr std::uint32_t limit = 2;
    Slots slots(6);
    sync::BasicLaneQueue<Rules> lane(0, limit, *std::pmr::new_delete_resource());
    const auto die_behind = [&](std::uint32_t slot) {
        slots.revive(slot, 0);
        lane.push(slot, slots);
        REQUIRE(slots.kill(slot, slots.slots[slot].word.load()));
    };
    Rules::act.store(0);
    slots.revive(0, 0);
    lane.push(0, slots);  // the old one, at the head
    for (std::uint64_t i = 1; i < lane.capacity(); ++i)
        die_behind(1);  // so that the next push finds the ring full
    std::jthread sleeper([&] {
        Rules::role = 1;
        slots.revive(2, 0);
        lane.push(2, slots);
        Rules::act.store(3);
        Rules::role = 0;
    });
    Rules::await(1);
    while (lane.epoch() < 2)
        die_behind(3);
    Rules::role = 2;
    while (Rules::act.load() == 1)
        die_behind(3);  // until the compaction from epoch 2 on lets the sleeper go on
    Rules::role = 0;
    sleeper.join();
    bool found = false;
    lane.for_each(slots, [&](std::uint32_t slot) {
        found |= slot == 0;
        return true;
    });
    return found;
}

struct Found {
    std::uint64_t disorder = 0;  ///< an item of a producer came out before an older one of it
    std::uint64_t missing = 0;   ///< pushed, and neither taken nor dead in the end
    std::uint64_t compactions = 0;
    [[nodiscard]] std::uint64_t wrong() const {
        return disorder + missing;
    }
};

/// Producers push numbered items, and kill some of their own; takers check each producer's order; all must come out.
template <class Rules>
Found stress(std::uint32_t limit, unsigned producers, unsigned takers, std::chrono::milliseconds span,
             bool one_old) {
    Slots slots(limit + 2);
    sync::BasicLaneQueue<Rules> lane(3, limit, *std::pmr::new_delete_resource());
    std::atomic<std::int64_t> room{limit};
    std::mutex free_mutex;  // the test's own
    std::vector<std::uint32_t> free;
    for (std::uint32_t i = 0; i < limit + 2; ++i)
        free.push_back(i);
    const auto take_free = [&]() -> std::optional<std::uint32_t> {
        const std::lock_guard lock(free_mutex);
        if (free.empty())
            return std::nullopt;
        const std::uint32_t slot = free.back();
        free.pop_back();
        return slot;
    };
    const auto give_free = [&](std::uint32_t slot) {
        const std::lock_guard lock(free_mutex);
        free.push_back(slot);
    };
    std::atomic<std::uint64_t> disorder{0};
    std::atomic<std::uint64_t> pushed{0};
    std::atomic<std::uint64_t> gone{0};
    std::atomic<unsigned> producing{producers};
    const auto end = std::chrono::steady_clock::now() + span;
    test::run_together(producers + takers, [&](unsigned me) {
        test::Random random(me);
        if (me < producers) {
            for (std::uint64_t number = 1;
                 std::chrono::steady_clock::now() < end && disorder.load() == 0 && !Rules::give_up();
                 ++number) {
                if (room.fetch_sub(1) <= 0) {
                    room.fetch_add(1);
                    std::this_thread::yield();
                    continue;
                }
                const auto slot = take_free();
                if (!slot) {
                    room.fetch_add(1);
                    continue;
                }
                slots.revive(*slot, std::uint64_t{me} << 40U | number);
                const std::uint64_t life = slots.slots[*slot].word.load();
                pushed.fetch_add(1);
                lane.push(*slot, slots);
                // Dead behind the living, over and over: what fills a ring with tombstones.
                if (random.below(4) != 0 && slots.kill(*slot, life)) {
                    gone.fetch_add(1);
                    give_free(*slot);
                    room.fetch_add(1);
                }
                if (random.one_in(64))
                    lane.for_each(slots, [](std::uint32_t) { return true; });
            }
            producing.fetch_sub(1);
            return;
        }
        std::array<std::uint64_t, 16> last{};
        const auto give_up = end + std::chrono::seconds(20);
        while (gone.load() < pushed.load() || producing.load() != 0) {
            // An old item at the head for a while: what makes compaction necessary.
            if (one_old && random.one_in(8) && producing.load() != 0)
                std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
            const auto slot =
                lane.take(slots, [&](std::uint32_t s, std::uint64_t seat) { return slots.claim(s, seat); });
            if (!slot) {
                if ((producing.load() == 0 && std::chrono::steady_clock::now() > give_up) || Rules::give_up())
                    return;
                std::this_thread::yield();
                continue;
            }
            const std::uint64_t tag = slots.slots[*slot].tag.load();
            const auto producer = static_cast<std::size_t>(tag >> 40U);
            const std::uint64_t number = tag & ((std::uint64_t{1} << 40U) - 1);
            if (number <= last[producer])
                disorder.fetch_add(1);
            last[producer] = number;
            gone.fetch_add(1);
            give_free(*slot);
            room.fetch_add(1);
        }
    });
    return {disorder.load(), pushed.load() - gone.load(), lane.epoch()};
}

constexpr std::chrono::milliseconds span{test::under_sanitizer ? 1'000 : 700};

template <class Rules>
bool noticed() {
    for (int attempt = 0; attempt < 40; ++attempt) {
        mutants_stop.store(false);
        std::jthread alarm([](const std::stop_token& done) {
            for (int i = 0; i < 300 && !done.stop_requested(); ++i)
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            mutants_stop.store(true);
        });
        if (stress<Rules>(2 + static_cast<std::uint32_t>(attempt % 2), 4, 1, std::chrono::milliseconds(500),
                          true)
                .wrong() != 0)
            return true;
    }
    return false;
}

}  // namespace

TEST_CASE("P1, P5: every sequence of ten pushes, takes and deaths, beside a deque") {
    constexpr std::uint32_t limit = 2;
    constexpr unsigned steps = test::under_sanitizer ? 8 : 10;
    std::uint64_t sequences = 0;
    for (std::uint32_t code = 0; code < (1U << (2 * steps)); ++code) {
        // Two bits a step: push, take, kill the oldest, kill the newest.
        Slots slots(limit);
        sync::BasicLaneQueue<LaneQueueRules> lane(0, limit, *std::pmr::new_delete_resource());
        std::deque<std::uint32_t> model;
        std::vector<std::uint32_t> free{1, 0};
        bool possible = true;
        for (unsigned step = 0; step < steps && possible; ++step) {
            switch (code >> (2 * step) & 3U) {
                case 0: {
                    possible = !free.empty();
                    if (!possible)
                        break;
                    const std::uint32_t slot = free.back();
                    free.pop_back();
                    slots.revive(slot, 0);
                    lane.push(slot, slots);
                    model.push_back(slot);
                    break;
                }
                case 1: {
                    const auto slot = lane.take(
                        slots, [&](std::uint32_t s, std::uint64_t seat) { return slots.claim(s, seat); });
                    REQUIRE(slot.has_value() == !model.empty());
                    if (slot) {
                        REQUIRE(*slot == model.front());
                        model.pop_front();
                        free.push_back(*slot);
                    }
                    break;
                }
                default: {
                    possible = !model.empty();
                    if (!possible)
                        break;
                    const bool oldest = (code >> (2 * step) & 3U) == 2;
                    const std::uint32_t slot = oldest ? model.front() : model.back();
                    oldest ? model.pop_front() : model.pop_back();
                    REQUIRE(slots.kill(slot, slots.slots[slot].word.load()));
                    free.push_back(slot);
                    break;
                }
            }
            std::vector<std::uint32_t> seen;
            lane.for_each(slots, [&](std::uint32_t slot) {
                seen.push_back(slot);
                return true;
            });
            REQUIRE(std::ranges::equal(seen, model));
            REQUIRE(lane.peek(slots) == (model.empty() ? std::nullopt : std::optional(model.front())));
            REQUIRE(lane.anything(slots) == !model.empty());
        }
        sequences += possible ? 1 : 0;
    }
    MESSAGE(sequences << " sequences");
}

TEST_CASE("P5: one old item, and any number that come and are cancelled behind it") {
    constexpr std::uint32_t limit = 4;
    Slots slots(limit);
    sync::BasicLaneQueue<LaneQueueRules> lane(1, limit, *std::pmr::new_delete_resource());
    slots.revive(0, 0);
    lane.push(0, slots);
    for (std::uint64_t i = 0; i < 100'000; ++i) {
        const auto slot = static_cast<std::uint32_t>(1 + i % (limit - 1));
        slots.revive(slot, i);
        lane.push(slot, slots);
        REQUIRE(slots.kill(slot, slots.slots[slot].word.load()));
    }
    // Each compaction frees at least half a ring.
    CHECK(lane.epoch() <= 100'000 / (lane.capacity() / 2) + 1);
    CHECK(lane.epoch() > 1'000);
    CHECK(lane.take(slots, [&](std::uint32_t s, std::uint64_t seat) { return slots.claim(s, seat); }) == 0U);
    CHECK_FALSE(lane.anything(slots));
}

TEST_CASE("P1 stress: every item once, in its producer's order, while rings of 2 to 8 cells are compacted") {
    for (const std::uint32_t limit : {1U, 2U, 3U, 4U}) {
        const Found one = stress<Restless>(limit, 3, 1, span, true);
        CHECK(one.wrong() == 0);
        CHECK((limit == 1 || one.compactions > 0));  // one item alone has nothing dead behind it
        const Found found = stress<LaneQueueRules>(limit, 2, 1, span, false);
        CHECK(found.wrong() == 0);
    }
}

TEST_CASE("the stress notices helpers that ask again what lives") {
    CHECK(noticed<AsksAgain>());
}
TEST_CASE(
    "P6: a helper that slept through two compactions moves nothing; one that believes any frozen cell loses "
    "an item") {
    CHECK(old_item_survives_a_late_helper<Scripted>());
    CHECK_FALSE(old_item_survives_a_late_helper<BelievesAnyCell>());
}

}  // namespace sluice
