// The peer that everybody writes first: one mutex, one condition variable, a deque per actor. FIFO per actor, jobs of one
// actor one at a time. It is what an executor has to beat to be worth its code.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace peers {

class NaiveExecutor {
public:
    NaiveExecutor(unsigned workers, std::size_t actors) : actors_(actors) {
        for (unsigned i = 0; i < workers; ++i)
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

    void submit(std::size_t actor, std::function<void()> job) {
        {
            const std::scoped_lock lock(mutex_);
            actors_[actor].jobs.push_back(std::move(job));
            if (actors_[actor].scheduled)
                return;
            actors_[actor].scheduled = true;
            ready_.push_back(actor);
        }
        changed_.notify_one();
    }

private:
    struct Actor {
        std::deque<std::function<void()>> jobs;
        bool scheduled = false;
    };

    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
            if (ready_.empty())
                return;
            const std::size_t actor = ready_.front();
            ready_.pop_front();
            auto job = std::move(actors_[actor].jobs.front());
            actors_[actor].jobs.pop_front();
            lock.unlock();
            job();
            lock.lock();
            if (actors_[actor].jobs.empty()) {
                actors_[actor].scheduled = false;
            } else {
                ready_.push_back(actor);
            }
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
