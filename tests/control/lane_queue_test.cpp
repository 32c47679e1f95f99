// Goal: every item comes out once, in the order it went in, or dies where it stands; also while rings are compacted and some
// of the helpers sleep. Who pushes, and who looks before it sleeps, do not miss each other.
// Method: lanes of two living items, so four cells; an old item at the head and dead ones behind it, so that the next push
// compacts; several at it at once. The model with other sizes is tests/models/lane_queue.pml.
#include "sync/lane_queue.hpp"

#include "control/harness.hpp"
#include "control/mutants_lane_queue.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory_resource>
#include <optional>

namespace sluice::control {

namespace {

constexpr std::uint64_t no_seat = ~std::uint64_t{0};

template <class Lane>
struct Pool {
    struct Slot {
        sync::atomic<std::uint64_t> word{0};  // life << 1 | alive
        sync::atomic<std::uint64_t> seat{no_seat};
        plain<int> data{0};
    };
    std::array<Slot, 5> slots;
    Lane lane{3, 2, *std::pmr::new_delete_resource()};

    // What the lane asks for.
    sync::atomic<std::uint64_t>& seat(std::uint32_t slot) {
        return slots[slot].seat;
    }
    bool live(std::uint32_t slot, std::uint64_t seat) const {
        return (slots[slot].word.load() & 1U) != 0 && slots[slot].seat.load() == seat;
    }

    bool kill(std::uint32_t slot, std::uint64_t word) {
        return (word & 1U) != 0 && slots[slot].word.compare_exchange_strong(word, word + 1);
    }
    bool kill(std::uint32_t slot) {
        return kill(slot, slots[slot].word.load());
    }
    void push(std::uint32_t slot) {
        slots[slot].data = 1;
        slots[slot].seat.store(no_seat);
        slots[slot].word.fetch_add(1);
        lane.push(slot, *this);
    }
    void push_dead(std::uint32_t slot) {
        slots[slot].seat.store(no_seat);
        lane.push(slot, *this);
    }
    std::optional<std::uint32_t> take() {
        const auto slot = lane.take(*this, [this](std::uint32_t s, std::uint64_t seat) {
            const std::uint64_t word = slots[s].word.load();
            return (word & 1U) != 0 && slots[s].seat.load() == seat && kill(s, word);
        });
        if (slot)
            check(slots[*slot].data == 1, "what was done before the push is seen");
        return slot;
    }
    std::uint32_t must_take() {
        for (;;) {
            if (const auto slot = take())
                return *slot;
            relax();
        }
    }
    /// An old item at the head, dead ones behind it, and this many free cells.
    void fill_with_dead(std::uint64_t free = 0) {
        push(0);
        for (std::uint64_t i = 1; i + free < lane.capacity(); ++i) {
            push(1);
            check(kill(1), "it lived");
        }
    }
    void empty() {
        check(!take() && !lane.anything(*this), "nothing is left");
    }
};

template <class Lane>
Scenarios scenarios() {
    return {
        {{.name = "lane_queue: two push, one takes"},
         [](Run& run) {
             Pool<Lane> pool;
             run.thread("one", [&] { pool.push(0); });
             run.thread("two", [&] { pool.push(1); });
             run.thread("taker", [&] {
                 const std::uint32_t first = pool.must_take();
                 check(pool.must_take() + first == 1, "each once");
             });
             run.join();
             pool.empty();
         }},
        {{.name = "lane_queue: one pushes two, two take"},
         [](Run& run) {
             Pool<Lane> pool;
             sync::atomic<std::uint32_t> first{9};
             run.thread("pusher", [&] {
                 pool.push(0);
                 pool.push(1);
             });
             const auto work = [&] {
                 const std::uint32_t slot = pool.must_take();
                 std::uint32_t nobody = 9;
                 first.compare_exchange_strong(nobody, slot);
                 check(nobody != slot, "once");
             };
             run.thread("one", work);
             run.thread("two", work);
             run.join();
             pool.empty();
         }},
        {{.name = "lane_queue: who has pushed is visited"},
         [](Run& run) {
             Pool<Lane> pool;
             const auto work = [&](std::uint32_t me) {
                 pool.push(me);
                 bool seen = false;
                 pool.lane.for_each(pool, [&](std::uint32_t slot) {
                     seen |= slot == me;
                     return true;
                 });
                 check(seen, "its own item is there");
             };
             run.thread("one", [&] { work(0); });
             run.thread("two", [&] { work(1); });
             run.join();
         }},
        {{.name = "lane_queue: push, or sleep"},
         [](Run& run) {
             Pool<Lane> pool;
             sync::atomic<bool> asleep{false};
             sync::atomic<std::uint32_t> told{0};
             run.thread("pusher", [&] {
                 pool.push(0);
                 if (asleep.load()) {
                     told.store(1);
                     sync::wake_one(told);
                 }
             });
             run.thread("taker", [&] {
                 asleep.store(true);
                 while (!pool.lane.anything(pool) && told.load() == 0)
                     sync::wait(told, 0);
                 check(pool.take() == 0U, "there is one");
             });
             run.join();
         }},
        {{.name = "lane_queue: compacted by a push while one takes",
          .bounds = {{0, 0}, {1, 0}, {2, 0, 6'000}, {1, 1, 4'000}}},
         [](Run& run) {
             Pool<Lane> pool;
             pool.fill_with_dead();
             run.thread("pusher", [&] { pool.push(2); });
             run.thread("taker", [&] {
                 check(pool.must_take() == 0, "the old one first");
                 check(pool.must_take() == 2, "then the young one");
             });
             run.join();
             pool.empty();
         }},
        {{.name = "lane_queue: visited while it is compacted",
          .bounds = {{0, 0}, {1, 0}, {2, 0, 6'000}, {1, 1, 4'000}}},
         [](Run& run) {
             Pool<Lane> pool;
             pool.fill_with_dead(1);
             pool.push(2);
             run.thread("pusher", [&] { pool.push_dead(3); });
             run.thread("visitor", [&] {
                 unsigned seen = 0;
                 pool.lane.for_each(pool, [&](std::uint32_t slot) {
                     seen |= 1U << slot;
                     return true;
                 });
                 check(seen == 0b101, "the oldest and the youngest are there all the time");
             });
             run.join();
         }},
        {{.name = "lane_queue: two compact, the old one is killed",
          .bounds = {{0, 0}, {1, 0}, {2, 0, 6'000}, {1, 1, 4'000}}},
         [](Run& run) {
             Pool<Lane> pool;
             pool.fill_with_dead();
             run.thread("one", [&] { pool.push(2); });
             run.thread("killer", [&] {
                 check(pool.kill(0), "it lived");
                 pool.push(3);
             });
             run.join();
             const std::uint32_t first = pool.must_take();
             check(first + pool.must_take() == 5, "both that live, once each");
             pool.empty();
         }},
        {{.name = "lane_queue: a helper sleeps through compactions",
          .bounds = {{0, 0, 100}, {1, 0, 2'000}, {2, 0, 8'000}},
          .random = 3'000},
         [](Run& run) {
             Pool<Lane> pool;
             pool.fill_with_dead();
             run.thread("sleeper", [&] { pool.push(2); });
             run.thread("busy", [&] {
                 for (int i = 0; i < 7; ++i)
                     pool.push_dead(3);
             });
             run.join();
             check(pool.must_take() == 0, "the old one is still there");
             check(pool.must_take() == 2, "and the sleeper's");
             pool.empty();
         }},
        // It has emptied its cell and not yet moved the head on, and does so when the ring is made ready again.
        {{.name = "lane_queue: a taker sleeps through compactions",
          .bounds = {{0, 0}, {1, 0}, {2, 0}, {3, 0, 300'000}}},
         [](Run& run) {
             Pool<Lane> pool;
             pool.push(0);
             pool.push(2);
             for (std::uint64_t i = 2; i < pool.lane.capacity(); ++i)
                 pool.push_dead(1);
             run.thread("busy", [&] {
                 for (int i = 0; i < 4; ++i)
                     pool.push_dead(1);
             });
             run.thread("sleeper", [&] { check(pool.take() == 0U, "the old one first"); });
             run.join();
             run.thread("last", [&] {
                 check(pool.must_take() == 2, "then the young one");
                 pool.empty();
             });
             run.join();
         }},
        {{.name = "lane_queue: a pusher stands"},
         [](Run& run) {
             Pool<Lane> pool;
             run.thread_that_stands("one", choose(20), [&] { pool.push(2); });
             run.thread("two", [&] {
                 pool.push(0);
                 pool.push(1);
             });
             run.thread("taker", [&] {
                 while (pool.must_take() != 0) {}
                 while (pool.must_take() != 1) {}
             });
             run.join();
         }},
        {{.name = "lane_queue: a taker stands"},
         [](Run& run) {
             Pool<Lane> pool;
             pool.push(2);
             run.thread_that_stands("one", choose(20), [&] { static_cast<void>(pool.take()); });
             run.thread("two", [&] {
                 pool.push(0);
                 static_cast<void>(pool.take());
                 pool.push(1);
                 static_cast<void>(pool.take());
                 static_cast<void>(pool.lane.anything(pool));
             });
             run.join();
         }},
        {{.name = "lane_queue: a pusher stands in a lane full of dead ones"},
         [](Run& run) {
             Pool<Lane> pool;
             pool.fill_with_dead();
             run.thread_that_stands("one", choose(60), [&] { pool.push(2); });
             run.thread("two", [&] { pool.push(3); });
             run.thread("taker", [&] {
                 while (pool.must_take() != 3) {}
             });
             run.join();
         }},
    };
}

struct AsksAgain : sync::LaneQueueRules {
    static constexpr bool believe_the_freeze = false;
};

using Lane = sync::BasicLaneQueue<sync::LaneQueueRules>;

}  // namespace

TEST_CASE("control: lane_queue") {
    must_hold(scenarios<Lane>(), {"lane_queue.hpp"});
}

TEST_CASE("control mutants: lane_queue") {
    must_die("AsksAgain", "believe_the_freeze = false", scenarios<sync::BasicLaneQueue<AsksAgain>>());
#define SLUICE_MUTANT(name, change) \
    must_die(#name, change, scenarios<sync::name::BasicLaneQueue<sync::name::LaneQueueRules>>());
#include "control/mutants_lane_queue.inc"
}

}  // namespace sluice::control
