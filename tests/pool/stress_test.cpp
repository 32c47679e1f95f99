// Goal (P3, P16, issue's item 1): no bound is exceeded, not for an instant; what fits is not refused because something else is;
// conservation at every sample; nothing left in the end.
// Method: eight threads that enqueue, cancel by all means and run, while another takes snapshots. Bounds are counted
// independently of the pool: up after an item was admitted, down before it is withdrawn, so the count never exceeds what is
// really queued, and a count above a bound is a breach. Where workers take items too, an item is counted down when its
// closure is destroyed, which is late by at most one item a worker.
//
// SLUICE_TEST_SECONDS=60 makes each of the three parts take a third of that; 3 without it.
#include "pool/harness.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

std::chrono::nanoseconds part() {
    const char* const given = std::getenv("SLUICE_TEST_SECONDS");
    const double seconds = given != nullptr ? std::strtod(given, nullptr) : 3.0;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds / 3));
}

constexpr std::int64_t total = 24;
constexpr std::int64_t budget = 100;
constexpr std::array<std::int64_t, 3> limits{6, 12, 20};

PoolConfig config_of(std::int64_t workers) {
    PoolConfig config;
    config.max_queued = total;
    config.max_queued_bytes = budget;
    config.lanes = {{"a", limits[0], {}}, {"b", limits[1], {}}, {"c", limits[2], {}}};
    config.kinds = {{"all", workers, {"a", "b", "c"}}, {"first", 1, {"a"}}};
    config.spin = SpinPolicy::park;
    return config;
}

/// An independent count, and how often it was above its bound.
class Count {
public:
    explicit Count(std::int64_t most) : most_(most) {}
    void up(std::int64_t by) {
        const std::int64_t now = count_.fetch_add(by) + by;
        breaches_.fetch_add(now > most_ ? 1 : 0);
        for (std::int64_t seen = highest_.load(); seen < now && !highest_.compare_exchange_weak(seen, now);) {
        }
    }
    void down(std::int64_t by) {
        count_.fetch_sub(by);
    }
    [[nodiscard]] std::uint64_t breaches() const {
        return breaches_.load();
    }
    [[nodiscard]] std::int64_t highest() const {
        return highest_.load();
    }
    [[nodiscard]] std::int64_t now() const {
        return count_.load();
    }

private:
    const std::int64_t most_;
    std::atomic<std::int64_t> count_{0};
    std::atomic<std::int64_t> highest_{0};
    std::atomic<std::uint64_t> breaches_{0};
};

struct Counts {
    explicit Counts(std::int64_t slack)
        : all(total + slack),
          bytes(budget + slack * 30),
          lane{Count(limits[0] + slack), Count(limits[1] + slack), Count(limits[2] + slack)} {}
    Count all;
    Count bytes;
    std::array<Count, 3> lane;

    void up(std::size_t l, std::int64_t b) {
        all.up(1);
        bytes.up(b);
        lane[l].up(1);
    }
    void down(std::size_t l, std::int64_t b) {
        all.down(1);
        bytes.down(b);
        lane[l].down(1);
    }
    [[nodiscard]] std::uint64_t breaches() const {
        return all.breaches() + bytes.breaches() + lane[0].breaches() + lane[1].breaches() +
               lane[2].breaches();
    }
    [[nodiscard]] bool zero() const {
        return all.now() == 0 && bytes.now() == 0 && lane[0].now() == 0 && lane[1].now() == 0 &&
               lane[2].now() == 0;
    }
};

/// Looks until it is told to stop; says how many samples there were and how many were wrong.
class Observer {
public:
    explicit Observer(BoundedPool& pool)
        : thread_([this, &pool](const std::stop_token& stop) { look(pool, stop); }) {}
    std::uint64_t finish() {
        thread_.request_stop();
        thread_.join();
        return wrong_;
    }
    [[nodiscard]] std::uint64_t samples() const {
        return samples_;
    }

private:
    void look(BoundedPool& pool, const std::stop_token& stop) {
        PoolTotals before;
        while (!stop.stop_requested()) {
            const PoolSnapshot now = pool.snapshot();
            const PoolTotals& t = now.items;
            bool good = balanced(t) && t.queued <= total && now.queued_bytes <= budget;
            std::uint64_t queued = 0;
            for (std::size_t l = 0; l < 3; ++l) {
                good &= now.lanes[l].queued <= static_cast<std::uint64_t>(limits[l]);
                queued += now.lanes[l].queued;
            }
            good &= queued == t.queued;
            for (const auto& kind : now.kinds)
                good &= kind.running <= kind.workers;
            good &= t.accepted >= before.accepted && t.ran >= before.ran && t.thrown >= before.thrown &&
                    t.cancelled >= before.cancelled && t.discarded >= before.discarded;
            before = t;
            wrong_ += good ? 0 : 1;
            ++samples_;
            std::this_thread::yield();
        }
    }
    std::uint64_t wrong_ = 0;
    std::uint64_t samples_ = 0;
    std::jthread thread_;  // last: it uses the others
};

/// Counts itself up when it comes into a slot, which is after its admission, and down when it is destroyed there.
class InSlot {
public:
    InSlot(Counts& counts, std::size_t lane, std::int64_t bytes)
        : counts_(&counts), lane_(lane), bytes_(bytes) {}
    InSlot(InSlot&& other) noexcept
        : counts_(other.counts_), lane_(other.lane_), bytes_(other.bytes_), in_(true) {
        counts_->up(lane_, bytes_);
    }
    InSlot(const InSlot&) = delete;
    InSlot& operator=(const InSlot&) = delete;
    InSlot& operator=(InSlot&&) = delete;
    ~InSlot() {
        if (in_)
            counts_->down(lane_, bytes_);
    }

private:
    Counts* counts_;
    std::size_t lane_;
    std::int64_t bytes_;
    bool in_ = false;
};

/// Most items are small, so that each of the bounds is met.
std::int64_t some_bytes(Random& random) {
    return static_cast<std::int64_t>(random.below(random.one_in(6) ? 30 : 4));
}

struct Held {
    PoolItem item;
    std::size_t lane;
    std::int64_t bytes;
};

}  // namespace

TEST_CASE("P3 stress: no bound is exceeded for an instant, by an independent count") {
    BoundedPool pool(config_of(1));
    AllHeld held(pool);
    Counts counts(0);
    Observer observer(pool);
    const auto end = steady_clock::now() + part();
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> accepted{0};
    run_together(8, [&](unsigned me) {
        Random random(me);
        std::deque<Held> mine;
        const auto withdraw = [&] {
            counts.down(mine.front().lane, mine.front().bytes);
            wrong.fetch_add(mine.front().item.cancel() ? 0 : 1);
            mine.pop_front();
        };
        while (steady_clock::now() < end) {
            const auto lane = static_cast<std::size_t>(random.below(3));
            const auto bytes = some_bytes(random);
            auto item = pool.enqueue(PoolLane{static_cast<std::uint8_t>(lane)},
                                     {.bytes = static_cast<std::uint64_t>(bytes)}, [] {});
            if (item) {
                counts.up(lane, bytes);
                accepted.fetch_add(1);
                mine.push_back({*std::move(item), lane, bytes});
            }
            if (!mine.empty() && (!item || random.below(3) == 0))
                withdraw();
            if (random.one_in(256))
                std::this_thread::yield();
        }
        while (!mine.empty())
            withdraw();
    });
    CHECK(counts.breaches() == 0);
    CHECK(wrong.load() == 0);
    CHECK(counts.zero());
    CHECK(observer.finish() == 0);
    // The bounds were reached, or nothing was shown.
    CHECK(counts.all.highest() == total);
    CHECK(counts.bytes.highest() > budget - 10);
    CHECK(counts.lane[0].highest() == limits[0]);
    CHECK(pool.snapshot().items.queued == 0);
    MESSAGE(accepted.load() << " items, " << observer.samples() << " samples");
    held.open();
}

TEST_CASE("P3 stress: what fits is not refused because others are being refused") {
    PoolConfig config = config_of(1);
    config.max_queued = 1 + 4;
    config.lanes = {{"a", 1, {}}, {"b", 4, {}}, {"c", 4, {}}};
    config.max_queued_bytes = 4 * 10 + 9;
    BoundedPool pool(config);
    AllHeld held(pool);
    REQUIRE(pool.post(PoolLane{0}, {}, [] {}));  // lane a is full from here on
    const auto end = steady_clock::now() + part();
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> fitted{0};
    run_together(8, [&](unsigned me) {
        Random random(me);
        while (steady_clock::now() < end) {
            if (me < 4) {
                // One item at a time, of the ten bytes and the place that are there for it.
                auto item = pool.enqueue(PoolLane{1}, {.bytes = 10}, [] {});
                wrong.fetch_add(item && item->cancel() ? 0 : 1);
                fitted.fetch_add(1);
            } else {
                // Refused by the lane, or by more bytes than can be left whoever else is in.
                const auto item = random.one_in(2) ? pool.enqueue(PoolLane{0}, {.bytes = 10}, [] {})
                                                   : pool.enqueue(PoolLane{2}, {.bytes = 50}, [] {});
                wrong.fetch_add(item ? 1 : 0);
                refused.fetch_add(1);
            }
        }
    });
    CHECK(wrong.load() == 0);
    CHECK(refused.load() > 0);
    MESSAGE(fitted.load() << " fitted, " << refused.load() << " were refused");
    held.open();
}

TEST_CASE(
    "P3, P6, P16 stress: enqueue, cancel and run at random; all adds up at every sample, and nothing is "
    "left") {
    constexpr std::int64_t workers = 4;
    std::atomic<std::uint64_t> thrown{0};
    PoolConfig config = config_of(workers - 1);
    config.on_thrown = [&](const ThrownItem&) { thrown.fetch_add(1); };
    BoundedPool pool(config);
    Counts counts(workers);
    Observer observer(pool);
    const auto end = steady_clock::now() + part();
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> ran{0};
    std::atomic<std::uint64_t> cancelled{0};
    run_together(8, [&](unsigned me) {
        Random random(me);
        std::deque<Held> mine;
        while (steady_clock::now() < end) {
            const auto lane = static_cast<std::size_t>(random.below(3));
            const auto bytes = some_bytes(random);
            const std::uint64_t work = random.below(200);
            const bool throws = random.one_in(32);
            const std::string call = std::to_string(me);
            auto item = pool.enqueue(PoolLane{static_cast<std::uint8_t>(lane)},
                                     {.call_id = call,
                                      .group_id = random.one_in(2) ? "even" : "odd",
                                      .bytes = static_cast<std::uint64_t>(bytes)},
                                     [&ran, work, throws, in = InSlot(counts, lane, bytes)] {
                                         for (std::uint64_t i = 0; i < work; ++i)
                                             ran.fetch_add(0);
                                         ran.fetch_add(1);
                                         if (throws)
                                             throw 1;
                                     });
            if (item) {
                accepted.fetch_add(1);
                if (random.one_in(2))
                    mine.push_back({*std::move(item), lane, bytes});
            }
            if (random.one_in(64))
                std::this_thread::yield();
            switch (random.below(64)) {
                case 0:
                    cancelled.fetch_add(pool.cancel_call(call) ? 1 : 0);
                    break;
                case 1:
                    cancelled.fetch_add(pool.cancel_group("odd"));
                    break;
                case 2:
                    if (random.one_in(8))
                        cancelled.fetch_add(pool.cancel_all_queued());
                    break;
                default:
                    if (!mine.empty()) {
                        cancelled.fetch_add(mine.front().item.cancel() ? 1 : 0);
                        mine.pop_front();
                    }
            }
        }
    });
    REQUIRE(pool.wait_idle_for(patience));
    CHECK(observer.finish() == 0);
    const PoolSnapshot last = pool.snapshot();
    CHECK(last.items.accepted == accepted.load());
    CHECK(last.items.ran + last.items.thrown == ran.load());
    CHECK(last.items.thrown == thrown.load());
    CHECK(last.items.cancelled == cancelled.load());
    CHECK(accepted.load() == ran.load() + cancelled.load());
    CHECK((last.items.queued == 0 && last.items.running == 0 && last.queued_bytes == 0));
    CHECK(counts.breaches() == 0);
    CHECK(counts.zero());  // every closure is gone
    CHECK(ran.load() > 0);
    CHECK(cancelled.load() > 0);
    MESSAGE(accepted.load() << " items, " << ran.load() << " ran, " << cancelled.load() << " were cancelled, "
                            << last.refused.all() << " refused, " << observer.samples() << " samples, "
                            << last.compactions << " compactions, " << last.slots << " slots");
}
