// The pool of the seed's shape, in C++: one mutex, one condition variable that wakes everybody, a deque per lane, a boxed
// closure and two optional strings per item. As good as that shape gets: nothing in it is slower than in the original.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace peers {

struct SeedPoolConfig {
    std::size_t total_limit = 64;
    std::array<std::size_t, 4> lane_limit{16, 16, 32, 32};
    std::size_t bytes_limit = std::size_t{1} << 20;
    std::array<unsigned, 4> workers{1, 2, 3, 10};  ///< kind k runs the lanes 0..k
};

class SeedPool {
public:
    struct Meta {
        std::optional<std::string> call_id;
        std::optional<std::string> group_id;
        std::size_t bytes = 0;
    };

    explicit SeedPool(const SeedPoolConfig& config) : config_(config) {
        for (std::size_t kind = 0; kind < 4; ++kind) {
            for (unsigned i = 0; i < config.workers[kind]; ++i)
                threads_.emplace_back([this, kind] { work(kind); });
        }
    }
    ~SeedPool() {
        {
            const std::scoped_lock lock(mutex_);
            shutdown_ = true;
            for (auto& lane : lanes_)
                lane.clear();
            changed_.notify_all();
        }
        for (auto& thread : threads_)
            thread.join();
    }

    /// False: a bound was hit. (The original formats a sentence; so does this.)
    template <class Job>
    bool enqueue(std::size_t lane, Meta meta, Job&& job, std::string& why) {
        const std::scoped_lock lock(mutex_);
        if (total() >= config_.total_limit) {
            why = "too many queued calls; queue limit is " + std::to_string(config_.total_limit);
            return false;
        }
        if (lanes_[lane].size() >= config_.lane_limit[lane]) {
            why = "too many queued calls in the lane; queue limit is " +
                  std::to_string(config_.lane_limit[lane]);
            return false;
        }
        if (bytes_ + meta.bytes > config_.bytes_limit) {
            why = "queued arguments exceed " + std::to_string(config_.bytes_limit) + " byte limit";
            return false;
        }
        bytes_ += meta.bytes;
        lanes_[lane].push_back(
            {std::move(meta), std::make_unique<std::move_only_function<void()>>(std::forward<Job>(job))});
        changed_.notify_all();
        return true;
    }

    bool cancel_call(const std::string& id) {
        Item removed;
        const std::scoped_lock lock(mutex_);
        for (auto& lane : lanes_) {
            const auto found =
                std::ranges::find_if(lane, [&](const Item& item) { return item.meta.call_id == id; });
            if (found == lane.end())
                continue;
            removed = std::move(*found);
            lane.erase(found);
            bytes_ -= removed.meta.bytes;
            return true;
        }
        return false;
    }

    std::size_t cancel_group(const std::string& id) {
        const std::scoped_lock lock(mutex_);
        std::size_t removed = 0;
        for (auto& lane : lanes_) {
            std::deque<Item> kept;
            for (auto& item : lane) {
                if (item.meta.group_id == id) {
                    bytes_ -= item.meta.bytes;
                    ++removed;
                } else {
                    kept.push_back(std::move(item));
                }
            }
            lane = std::move(kept);
        }
        return removed;
    }

private:
    struct Item {
        Meta meta;
        std::unique_ptr<std::move_only_function<void()>> job;
    };

    [[nodiscard]] std::size_t total() const {
        return lanes_[0].size() + lanes_[1].size() + lanes_[2].size() + lanes_[3].size();
    }

    void work(std::size_t kind) {
        for (;;) {
            Item item;
            {
                std::unique_lock lock(mutex_);
                for (;;) {
                    if (shutdown_)
                        return;
                    if (pop(kind, item))
                        break;
                    changed_.wait(lock);
                }
            }
            (*item.job)();
        }
    }

    bool pop(std::size_t kind, Item& item) {
        for (std::size_t lane = 0; lane <= kind; ++lane) {
            if (lanes_[lane].empty())
                continue;
            item = std::move(lanes_[lane].front());
            lanes_[lane].pop_front();
            bytes_ -= item.meta.bytes;
            return true;
        }
        return false;
    }

    SeedPoolConfig config_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::array<std::deque<Item>, 4> lanes_;
    std::size_t bytes_ = 0;
    bool shutdown_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace peers
