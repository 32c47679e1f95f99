// A provider that takes so many requests and tokens a minute, and says when to come again. PURE.
//
// Two buckets, each of ten seconds' worth (but never smaller than the largest request), refilled evenly. A request that both can pay for
// is taken; one that is not costs nothing, and is told how long it takes until the poorer one can.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>

namespace sluice::replay {

class Provider {
public:
    Provider(std::uint64_t requests_per_minute, std::uint64_t tokens_per_minute, std::uint64_t largest)
        : requests_(static_cast<double>(requests_per_minute), 1),
          tokens_(static_cast<double>(tokens_per_minute), static_cast<double>(largest)) {}

    /// Nothing: it is taken. Else: when to come again.
    [[nodiscard]] std::optional<std::chrono::nanoseconds> ask(std::chrono::nanoseconds now,
                                                              std::uint64_t tokens) {
        requests_.refill(now);
        tokens_.refill(now);
        const auto size = static_cast<double>(tokens);
        const double seconds = std::max(requests_.seconds_until(1), tokens_.seconds_until(size));
        if (seconds > 0)
            return std::chrono::nanoseconds(static_cast<std::int64_t>(std::ceil(seconds * 1e9)));
        requests_.level -= 1;
        tokens_.level -= size;
        return std::nullopt;
    }

private:
    struct Bucket {
        Bucket(double each_minute, double least)
            : rate(each_minute / 60), most(std::max(rate * 10, least)), level(most) {}
        void refill(std::chrono::nanoseconds now) {
            level = std::min(most, level + rate * std::chrono::duration<double>(now - filled_at).count());
            filled_at = now;
        }
        [[nodiscard]] double seconds_until(double amount) const {
            return level >= amount ? 0 : (amount - level) / rate;
        }
        double rate;  // a second
        double most;
        double level;
        std::chrono::nanoseconds filled_at{0};
    };
    Bucket requests_;
    Bucket tokens_;
};

}  // namespace sluice::replay
