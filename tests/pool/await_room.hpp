#pragma once

// What the tests of awaiting room share: a coroutine that enqueues one item, and a pool without room.

#include "executor/coroutine.hpp"
#include "pool/harness.hpp"

#include <atomic>
#include <optional>
#include <stop_token>
#include <utility>

namespace sluice::test {

inline constexpr auto nothing = [] {};

/// Looked at by a test while the coroutine may go on elsewhere: whoever works on the line lets it in.
struct Outcome {
    std::optional<Result<PoolItem>> item;
    std::atomic<bool> there{false};
    [[nodiscard]] bool in() const {
        return there && item->has_value();
    }
    [[nodiscard]] ErrorCode code() const {
        return there && !*item ? item->error().value() : no_error;
    }
};

template <class Job>
Detached enqueue(BoundedPool& pool, Outcome& outcome, ItemMeta meta, Job job, std::stop_token stop = {}) {
    outcome.item.emplace(co_await pool.enqueue_when_room(only, meta, std::move(job), std::move(stop)));
    outcome.there = true;
}

/// One worker inside a job, `limit` items queued behind it.
struct Full {
    explicit Full(std::int64_t limit) : pool(small_pool(1, limit)), held(pool) {
        for (std::int64_t i = 0; i < limit; ++i)
            REQUIRE(pool.post(only, {.call_id = "old"}, nothing));
    }
    [[nodiscard]] std::uint64_t waiting() const {
        return pool.snapshot().lanes[0].waiting;
    }
    BoundedPool pool;
    AllHeld held;
};

}  // namespace sluice::test
