// The executor of the seed's shape, in C++: one mutex over everything, a condition variable that wakes everybody at every
// change, a queue per actor and lane, and a worker that looks for work by scanning the actors, from where the last scan ended.
// As good as that shape gets: the original also boxes each job, makes a channel for its answer and copies its names.
#pragma once

#include "workloads/job.hpp"
#include "workloads/request.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace peers {

class SeedExecutor {
public:
    static constexpr bool reads_together = true;

    explicit SeedExecutor(const perf::Shape& shape) : actors_(shape.actors) {
        for (unsigned i = 0; i < shape.workers; ++i)
            threads_.emplace_back([this] { work(); });
    }
    ~SeedExecutor() {
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (auto& thread : threads_)
            thread.join();
    }
    SeedExecutor(const SeedExecutor&) = delete;
    SeedExecutor& operator=(const SeedExecutor&) = delete;

    void post(std::size_t actor, perf::Access access, perf::Job job) {
        auto boxed = std::make_unique<std::function<void()>>(job);
        const std::scoped_lock lock(mutex_);
        (access == perf::Access::read ? actors_[actor].reads : actors_[actor].writes)
            .push_back(std::move(boxed));
        changed_.notify_all();
    }

private:
    using Box = std::unique_ptr<std::function<void()>>;
    struct Actor {
        std::deque<Box> reads;
        std::deque<Box> writes;
        std::size_t reading = 0;
        bool writing = false;
    };
    struct Found {
        Box job;
        Actor* actor = nullptr;
        bool writes = false;
    };

    std::optional<Found> scan() {
        for (std::size_t i = 0; i < actors_.size(); ++i) {
            const std::size_t at = (cursor_ + i) % actors_.size();
            Actor& actor = actors_[at];
            if (actor.writing)
                continue;
            const bool writes = !actor.writes.empty() && actor.reading == 0;
            auto& queue = writes ? actor.writes : actor.reads;
            // A write that waits holds back the reads behind it.
            if (queue.empty() || (!writes && !actor.writes.empty()))
                continue;
            Found found{std::move(queue.front()), &actor, writes};
            queue.pop_front();
            actor.writing = writes;
            actor.reading += writes ? 0 : 1;
            cursor_ = at + 1;
            return found;
        }
        return std::nullopt;
    }

    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            auto found = scan();
            if (!found) {
                if (stopping_)
                    return;
                changed_.wait(lock);
                continue;
            }
            lock.unlock();
            (*found->job)();
            found->job.reset();
            lock.lock();
            if (found->writes)
                found->actor->writing = false;
            else
                --found->actor->reading;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Actor> actors_;
    std::size_t cursor_ = 0;
    std::vector<std::thread> threads_;
    bool stopping_ = false;
};

}  // namespace peers
