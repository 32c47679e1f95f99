#pragma once

// Timers by time, for a clock that protects them. Plain data: no lock, no clock.

#include <sluice/clock.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace sluice::detail {

class TimerSet {
public:
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    /// Takes `call` only if it succeeds; throws std::bad_alloc.
    TimerId set(std::int64_t due, TimerCall& call) {
        const std::uint64_t id = last_ + 1;
        const auto [place, inserted] = due_of_.emplace(id, due);
        try {
            calls_.emplace(std::pair{due, id}, std::move(call));
        } catch (...) {
            due_of_.erase(place);
            throw;
        }
        last_ = id;
        return static_cast<TimerId>(id);
    }

    /// The call of a timer that is taken back, for the caller to destroy where no lock is held.
    std::optional<TimerCall> clear(TimerId timer) noexcept {
        const auto found = due_of_.find(static_cast<std::uint64_t>(timer));
        if (found == due_of_.end())
            return std::nullopt;
        const auto call = calls_.find({found->second, found->first});
        std::optional<TimerCall> taken(std::move(call->second));
        calls_.erase(call);
        due_of_.erase(found);
        return taken;
    }

    /// Takes out the earliest of those that are due; of the same time, the one that was set first.
    std::optional<TimerCall> take_due(std::int64_t now) noexcept {
        if (next_due() > now || calls_.empty())
            return std::nullopt;
        return clear(static_cast<TimerId>(calls_.begin()->first.second));
    }

    [[nodiscard]] std::int64_t next_due() const noexcept {
        return calls_.empty() ? never : calls_.begin()->first.first;
    }
    [[nodiscard]] std::size_t size() const noexcept {
        return calls_.size();
    }

private:
    std::map<std::pair<std::int64_t, std::uint64_t>, TimerCall> calls_;
    std::map<std::uint64_t, std::int64_t> due_of_;
    std::uint64_t last_ = 0;
};

/// A time from now, without overflow.
[[nodiscard]] constexpr std::int64_t due_after(std::int64_t now, std::int64_t after) noexcept {
    const std::int64_t wait = after > 0 ? after : 0;
    return wait > TimerSet::never - now ? TimerSet::never : now + wait;
}

}  // namespace sluice::detail
