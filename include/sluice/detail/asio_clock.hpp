// The gate's clock on timers of an Asio program. `Timer` is the steady_timer of standalone Asio or of Boost.Asio; asio.hpp and
// boost_asio.hpp give it its name.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include <sluice/clock.hpp>

namespace sluice::detail {

/// Each timer that is set is an entry of a map with a timer of Asio's in it. Who takes the entry out, under the lock, is the
/// one that makes the call, or the one that clears it: so there is exactly one. Handlers share the map, and may be late.
template <class Timer>
class AsioClock final : public Clock {
public:
    template <class Executor>
    explicit AsioClock(const Executor& executor) : executor_(executor), timers_(std::make_shared<Timers>()) {}
    /// Forgets the timers that are set.
    ~AsioClock() override {
        Entries forgotten;  // destroyed without the lock
        const std::lock_guard lock(timers_->mutex);
        forgotten.swap(timers_->entries);
    }

    [[nodiscard]] std::chrono::nanoseconds now() noexcept override {
        return std::chrono::steady_clock::now().time_since_epoch();
    }

    [[nodiscard]] TimerId set_timer(std::chrono::nanoseconds after, TimerCall call) noexcept override {
        // Beyond that the sum with the present time might not be one.
        constexpr std::chrono::nanoseconds longest = std::chrono::hours(24 * 365 * 100);
        try {
            Entry entry{Timer(executor_, std::clamp(after, std::chrono::nanoseconds(0), longest)),
                        std::move(call)};
            const std::lock_guard lock(timers_->mutex);
            const std::uint64_t number = ++timers_->newest;
            const auto place = timers_->entries.emplace(number, std::move(entry)).first;
            try {
                // Under the lock, which a handler takes first: it finds the entry. Asio calls none inside async_wait().
                place->second.timer.async_wait(
                    [timers = timers_, number](const auto& error) { ran_out(*timers, number, !error); });
            } catch (...) {
                timers_->entries.erase(place);
                throw;
            }
            return TimerId{number};
        } catch (const std::exception&) {  // no memory, or no descriptor
            return TimerId::none;
        }
    }

    bool clear_timer(TimerId timer) noexcept override {
        typename Entries::node_type taken;  // destroyed, and with it cancelled, after the lock is given back
        const std::lock_guard lock(timers_->mutex);
        taken = timers_->entries.extract(static_cast<std::uint64_t>(timer));
        return !taken.empty();
    }

private:
    struct Entry {
        Timer timer;
        TimerCall call;
    };
    using Entries = std::map<std::uint64_t, Entry>;
    struct Timers {
        std::mutex mutex;  // taken when a timer is set, cleared or due, never on the way of a ticket
        Entries entries;
        std::uint64_t newest = 0;
    };

    static void ran_out(Timers& timers, std::uint64_t number, bool in_time) {
        typename Entries::node_type taken;
        {
            const std::lock_guard lock(timers.mutex);
            taken = timers.entries.extract(number);
        }
        if (in_time && !taken.empty())
            taken.mapped().call();
    }

    const typename Timer::executor_type executor_;
    const std::shared_ptr<Timers> timers_;
};

}  // namespace sluice::detail
