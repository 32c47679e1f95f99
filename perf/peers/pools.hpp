// Our bounded pool and the pool of the seed's shape under one face, with the default bounds: 64 items, 16/16/32/32 by lane. 16
// workers are the default kinds; any other number is of one kind that takes all lanes.
#pragma once

#include "peers/seed_pool.hpp"

#include <sluice/bounded_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace peers {

class SluicePool {
public:
    explicit SluicePool(unsigned workers) : pool_(config_of(workers)) {}
    template <class Job>
    bool enqueue(std::size_t lane, std::string_view call, std::string_view group, Job&& job) {
        return pool_
            .post(sluice::PoolLane{static_cast<std::uint8_t>(lane)},
                  {.call_id = call, .group_id = group, .bytes = 16}, std::forward<Job>(job))
            .has_value();
    }
    bool cancel_call(const std::string& id) {
        return pool_.cancel_call(id);
    }
    std::size_t cancel_group(const std::string& id) {
        return pool_.cancel_group(id);
    }
    sluice::BoundedPool& pool() {
        return pool_;
    }
    std::uint64_t wakeups() const {
        return pool_.snapshot().wakeups;
    }

private:
    static sluice::PoolConfig config_of(unsigned workers) {
        sluice::PoolConfig config;
        if (workers != 16)
            config.kinds = {{"general", workers, {"control", "user", "cheap", "bulk"}}};
        return config;
    }
    sluice::BoundedPool pool_;
};

class SeedsPool {
public:
    explicit SeedsPool(unsigned workers) : pool_(config_of(workers)) {}
    template <class Job>
    bool enqueue(std::size_t lane, std::string_view call, std::string_view group, Job&& job) {
        SeedPool::Meta meta{.call_id = {}, .group_id = {}, .bytes = 16};
        if (!call.empty())
            meta.call_id = call;
        if (!group.empty())
            meta.group_id = group;
        std::string why;
        return pool_.enqueue(lane, std::move(meta), std::forward<Job>(job), why);
    }
    bool cancel_call(const std::string& id) {
        return pool_.cancel_call(id);
    }
    std::size_t cancel_group(const std::string& id) {
        return pool_.cancel_group(id);
    }

private:
    static SeedPoolConfig config_of(unsigned workers) {
        SeedPoolConfig config;
        if (workers != 16)
            config.workers = {0, 0, 0, workers};
        return config;
    }
    SeedPool pool_;
};

}  // namespace peers
