#pragma once

// How many turns may be in flight, as turns take longer or the provider says "too many" (T17). PURE.
//
// Both variants see windows: so many turns that ended, how long they took on average, and how many were in flight at most. A window
// in which less than half of the limit was used says nothing about the limit. A rate limit lowers it by a tenth, once a window, at once.
//
// AIMD: one more after each window without a rate limit.
// Gradient: what turns usually take is an average over many windows. If a window's turns took no longer than `tolerance` times that, the
// limit grows by a little more than its square root each window; if longer, it shrinks in proportion, by half at the most.
// Each window moves the limit a fifth of the way. These are the rules of Netflix's concurrency-limits (AIMDLimit, Gradient2Limit), with
// windows instead of single samples.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <sluice/turn_config.hpp>

namespace sluice::core {

struct LimitRules {
    LimitPolicy policy = LimitPolicy::fixed;
    std::uint32_t floor = 1;
    std::uint32_t ceiling = 1;
};

/// Turns that ended in one window.
struct LimitWindow {
    double mean_ns = 0;
    std::uint32_t most_in_flight = 0;
};

class AdaptiveLimit {
public:
    static constexpr double decrease = 0.9;
    static constexpr double tolerance = 1.5;
    static constexpr double smoothing = 0.2;
    static constexpr double usual_windows = 100;  // what "usually" averages over
    static constexpr double first_windows = 10;   // until then it is the plain average

    AdaptiveLimit(const LimitRules& rules, std::uint32_t start) noexcept : rules_(rules), limit_(start) {}

    [[nodiscard]] std::uint32_t limit() const noexcept {
        return static_cast<std::uint32_t>(limit_);
    }
    /// What turns usually take, as far as is known.
    [[nodiscard]] double usual_ns() const noexcept {
        return usual_ns_;
    }

    /// The provider said "too many".
    void rate_limited() noexcept {
        if (lowered_)
            return;
        lowered_ = true;
        set(limit_ * decrease);
    }

    void window_ended(const LimitWindow& window) noexcept {
        const bool was_lowered = lowered_;
        lowered_ = false;
        if (rules_.policy == LimitPolicy::gradient)
            learn(window.mean_ns);
        if (was_lowered || static_cast<double>(window.most_in_flight) * 2 < std::floor(limit_))
            return;
        if (rules_.policy == LimitPolicy::aimd)
            set(limit_ + 1);
        else if (rules_.policy == LimitPolicy::gradient)
            set(limit_ * (1 - smoothing) + wanted(window.mean_ns) * smoothing);
    }

private:
    [[nodiscard]] double wanted(double mean_ns) const noexcept {
        const double gradient = mean_ns <= 0 ? 1 : std::clamp(tolerance * usual_ns_ / mean_ns, 0.5, 1.0);
        return limit_ * gradient + std::max(1.0, std::sqrt(limit_));
    }
    void learn(double mean_ns) noexcept {
        windows_ += 1;
        const double share = windows_ <= first_windows ? 1 / windows_ : 2 / (usual_windows + 1);
        usual_ns_ += (mean_ns - usual_ns_) * share;
        // Times that fell for good are forgotten faster than the average forgets.
        if (windows_ > first_windows && usual_ns_ > 2 * mean_ns)
            usual_ns_ *= 0.95;
    }
    void set(double limit) noexcept {
        limit_ = std::clamp(limit, static_cast<double>(rules_.floor), static_cast<double>(rules_.ceiling));
    }

    LimitRules rules_;
    double limit_;
    double usual_ns_ = 0;
    double windows_ = 0;
    bool lowered_ = false;  // in this window
};

}  // namespace sluice::core
