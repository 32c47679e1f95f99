// The peer of the turn gate: a gate of the seed's shape. One mutex over the state, a mutex in every ticket, a clock reading where the seed
// reads one; admission checks under one lock and takes under the next, releasing goes through four. Not exact: it may exceed its cap
// between its two steps.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace peers {

class SeedGate {
public:
    struct Ticket {
        std::mutex mutex;
        std::optional<std::int64_t> released_at;
    };

    explicit SeedGate(std::size_t cap) : cap_(cap) {}

    [[nodiscard]] bool try_admit(std::optional<Ticket>& ticket) {
        if (!can_admit_now())
            return false;
        {
            const std::scoped_lock lock(mutex_);
            ++in_flight_;
        }
        ticket.emplace();
        return true;
    }

    bool release(Ticket& ticket) {
        {
            const std::scoped_lock lock(ticket.mutex);
            if (ticket.released_at)
                return false;
            ticket.released_at = now();
        }
        {
            const std::scoped_lock lock(mutex_);
            if (in_flight_ > 0)
                --in_flight_;
        }
        pump();
        return true;
    }

private:
    static std::int64_t now() {
        return std::chrono::system_clock::now().time_since_epoch().count();
    }
    [[nodiscard]] bool can_admit_now() {
        const std::scoped_lock lock(mutex_);
        return in_flight_ < cap_ && now() >= backoff_until_;
    }
    void pump() {
        for (;;) {
            std::function<void()> next;
            {
                const std::scoped_lock lock(mutex_);
                const bool backoff_over = now() >= backoff_until_;
                if (queue_.empty() || in_flight_ >= cap_ || !backoff_over)
                    break;
                next = std::move(queue_.front());
                queue_.pop_front();
                ++in_flight_;
            }
            next();
        }
        const std::scoped_lock lock(mutex_);  // report_positions
        for (std::size_t i = 0; i < queue_.size(); ++i)
            reported_ = i;
    }

    std::mutex mutex_;
    std::deque<std::function<void()>> queue_;
    std::size_t cap_;
    std::size_t in_flight_ = 0;
    std::size_t reported_ = 0;
    std::int64_t backoff_until_ = 0;
};

}  // namespace peers
