// Goal (P13, P16): an awaited item gets in once, or is refused once, however room, stop, other waits and the end of the pool meet.
// Method: rounds in which room, stop and the end of the pool meet at one wait; then a crowd. SLUICE_TEST_SEED repeats a run.
#include "pool/await_room.hpp"
#include "support/stress.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <deque>
#include <optional>
#include <stop_token>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

void pause(Random& random) {
    std::atomic<std::uint64_t> spent{0};
    for (std::uint64_t i = random.below(300); i != 0; --i)
        spent.store(i, std::memory_order_relaxed);
    if (random.one_in(8))
        std::this_thread::yield();
}

}  // namespace

TEST_CASE(
    "P13 stress: room, stop and the end of the pool meet at one wait: one outcome, and the job accordingly") {
    const int rounds = scaled(4'000);
    std::optional<Full> full;
    std::stop_source stop;
    bool ends = false;
    bool over = false;
    std::barrier meet(4);
    const auto rival = [&](std::uint64_t stream, auto act) {
        return std::jthread([&, stream, act] {
            Random random(stream);
            for (;;) {
                meet.arrive_and_wait();
                if (over)
                    return;
                pause(random);
                act();
                meet.arrive_and_wait();
            }
        });
    };
    const std::jthread makes_room = rival(1, [&] { (void)full->pool.cancel_call("old"); });
    const std::jthread stops = rival(2, [&] { stop.request_stop(); });
    const std::jthread shuts = rival(3, [&] {
        if (ends)
            full->pool.shutdown(Shutdown::cancel);
    });
    Random random(0);
    std::uint64_t seen[3] = {};
    for (int round = 0; round < rounds; ++round) {
        if (!full)
            full.emplace(1);
        stop = std::stop_source();
        ends = random.one_in(8);
        Tracked::Counts jobs;
        std::atomic<int> outcomes{0};
        Outcome outcome;
        meet.arrive_and_wait();
        pause(random);
        [](BoundedPool& pool, std::stop_token token, Tracked::Counts& counts, std::atomic<int>& count,
           Outcome& into) -> Detached {
            auto job = [mine = Tracked(counts)] {};
            into.item.emplace(
                co_await pool.enqueue_when_room(only, {.call_id = "old"}, std::move(job), std::move(token)));
            into.there = true;
            count.fetch_add(1);
        }(full->pool, stop.get_token(), jobs, outcomes, outcome);
        meet.arrive_and_wait();
        REQUIRE(outcomes == 1);
        REQUIRE(full->waiting() == 0);
        const ErrorCode code = outcome.code();
        REQUIRE((code == no_error || code == ErrorCode::cancelled || (ends && code == ErrorCode::shut_down)));
        ++seen[code == no_error ? 0 : code == ErrorCode::cancelled ? 1 : 2];
        if (ends) {
            full.reset();
            REQUIRE((!outcome.in() || outcome.item->value().state() == ItemState::discarded ||
                     outcome.item->value().state() == ItemState::cancelled));
        } else if (outcome.in()) {
            REQUIRE(outcome.item->value().state() == ItemState::queued);
            REQUIRE(full->pool.cancel_all_queued() == 1);
        }
        REQUIRE(jobs.alive == 0);
        if (full && full->pool.snapshot().items.queued == 0)
            REQUIRE(full->pool.post(only, {.call_id = "old"}, nothing));
    }
    over = true;
    meet.arrive_and_wait();
    MESSAGE(seen[0] << " got in, " << seen[1] << " stopped, " << seen[2] << " shut down");
    CHECK(seen[0] > 0);
    CHECK(seen[1] > 0);
    CHECK(seen[2] > 0);
}

TEST_CASE("P13, P16 stress: a crowd of coroutines and threads; all end, all adds up, no job is lost") {
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> wrong{0};
    std::atomic<std::uint64_t> ran{0};
    Tracked::Counts jobs;
    const auto one = [&](BoundedPool& pool, std::uint64_t bytes, std::stop_token stop) {
        begun.fetch_add(1);
        [](BoundedPool& in, std::uint64_t size, std::stop_token token, Tracked::Counts& counts,
           std::atomic<std::uint64_t>& runs, std::atomic<std::uint64_t>& yes, std::atomic<std::uint64_t>& no,
           std::atomic<std::uint64_t>& strange) -> Detached {
            auto job = [&runs, mine = Tracked(counts)] { runs.fetch_add(1); };
            const auto item = co_await in.enqueue_when_room(only, {.group_id = "g", .bytes = size},
                                                            std::move(job), std::move(token));
            if (!item)
                strange.fetch_add(item.error().value() == ErrorCode::cancelled ? 0 : 1);
            (item ? yes : no).fetch_add(1);
        }(pool, bytes, std::move(stop), jobs, ran, accepted, refused, wrong);
    };
    PoolConfig config = small_pool(2, 4);
    config.max_queued_bytes = 100;
    BoundedPool pool(config);
    run_together(4, [&](unsigned me) {
        Random random(me + 20);
        std::deque<std::stop_source> stops;
        for (int i = 0; i < scaled(10'000); ++i) {
            if (me == 3) {
                begun.fetch_add(1);
                const auto span = std::chrono::microseconds(random.below(500));
                const auto item =
                    pool.enqueue_for(span, only, {.bytes = random.below(60)}, [&ran] { ran.fetch_add(1); });
                (item ? accepted : refused).fetch_add(1);
                continue;
            }
            stops.emplace_back();
            one(pool, random.below(60), stops.back().get_token());
            if (random.one_in(3))
                stops[random.below(stops.size())].request_stop();
            if (random.one_in(32))
                (void)pool.cancel_group("g");
            if (stops.size() > 16) {
                stops.front().request_stop();
                stops.pop_front();
            }
        }
        for (std::stop_source& stop : stops)
            stop.request_stop();
    });
    REQUIRE(pool.wait_idle_for(patience));
    CHECK(eventually([&] { return accepted + refused == begun; }));
    const PoolSnapshot now = pool.snapshot();
    CHECK(wrong == 0);
    CHECK(balanced(now.items));
    CHECK(now.items.accepted == accepted);
    CHECK(now.items.ran == ran);
    CHECK((now.lanes[0].waiting == 0 && now.queued_bytes == 0));
    CHECK(jobs.alive == 0);
    CHECK(accepted > 0);
    MESSAGE(accepted.load() << " got in, " << refused.load() << " did not");
}
