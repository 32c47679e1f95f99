// The peer that everybody writes first: one mutex, one condition variable, a deque per actor. FIFO per actor; reads of one
// actor run together, a write alone, and nobody overtakes a write. It is what an executor has to beat to be worth its code.
#pragma once

#include "workloads/job.hpp"
#include "workloads/request.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace peers {

class NaiveExecutor {
public:
    static constexpr bool reads_together = true;

    explicit NaiveExecutor(const perf::Shape& shape) : actors_(shape.actors) {
        for (unsigned i = 0; i < shape.workers; ++i)
            threads_.emplace_back([this] { work(); });
    }
    ~NaiveExecutor() {
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        for (auto& thread : threads_)
            thread.join();
    }
    NaiveExecutor(const NaiveExecutor&) = delete;
    NaiveExecutor& operator=(const NaiveExecutor&) = delete;

    void post(std::size_t actor, perf::Access access, perf::Job job) {
        {
            const std::scoped_lock lock(mutex_);
            actors_[actor].jobs.push_back({job, access == perf::Access::write});
            if (!make_ready(actor))
                return;
        }
        changed_.notify_one();
    }

private:
    struct Entry {
        std::function<void()> run;
        bool writes = false;
    };
    struct Actor {
        std::deque<Entry> jobs;
        std::size_t running = 0;
        bool writing = false;
        bool ready = false;  ///< is in ready_
    };

    /// Lists the actor if its first job may start now and it is not listed yet.
    bool make_ready(std::size_t at) {
        Actor& actor = actors_[at];
        if (actor.ready || actor.jobs.empty() || actor.writing ||
            (actor.jobs.front().writes && actor.running != 0)) {
            return false;
        }
        actor.ready = true;
        ready_.push_back(at);
        return true;
    }

    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
            if (ready_.empty())
                return;
            const std::size_t at = ready_.front();
            ready_.pop_front();
            Actor& actor = actors_[at];
            actor.ready = false;
            const Entry entry = std::move(actor.jobs.front());
            actor.jobs.pop_front();
            ++actor.running;
            actor.writing = entry.writes;
            if (make_ready(at))
                changed_.notify_one();
            lock.unlock();
            entry.run();
            lock.lock();
            --actor.running;
            actor.writing = false;
            make_ready(at);
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Actor> actors_;
    std::deque<std::size_t> ready_;
    std::vector<std::thread> threads_;
    bool stopping_ = false;
};

}  // namespace peers
