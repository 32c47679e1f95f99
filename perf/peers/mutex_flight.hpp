// The single flight that one writes first: a mutex, a map, a condition variable a call. What ours is measured against.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace peers {

template <class Key, class T>
class MutexFlight {
public:
    /// The value, or none if the patience of a follower is at its end.
    template <class F>
    std::optional<T> run(const Key& key, std::optional<std::chrono::nanoseconds> patience, F&& fn) {
        std::unique_lock lock(mutex_);
        if (const auto found = calls_.find(key); found != calls_.end()) {
            const std::shared_ptr<Call> call = found->second;
            lock.unlock();
            std::unique_lock waiting(call->mutex);
            const auto over = [&] { return call->value.has_value(); };
            if (!patience)
                call->over.wait(waiting, over);
            else if (patience->count() != 0 && !call->over.wait_for(waiting, *patience, over))
                return std::nullopt;
            return call->value;
        }
        const auto call = std::make_shared<Call>();
        calls_.emplace(key, call);
        lock.unlock();
        T value = std::forward<F>(fn)();
        lock.lock();
        calls_.erase(key);
        lock.unlock();
        {
            const std::scoped_lock landing(call->mutex);
            call->value = value;
        }
        call->over.notify_all();
        return value;
    }

private:
    struct Call {
        std::mutex mutex;
        std::condition_variable over;
        std::optional<T> value;
    };
    std::mutex mutex_;
    std::unordered_map<Key, std::shared_ptr<Call>> calls_;
};

}  // namespace peers
