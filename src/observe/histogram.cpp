#include "observe/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::observe {

void Histogram::merge(const Histogram& other) noexcept {
    for (std::size_t i = 0; i < bucket_count; ++i)
        counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

void Histogram::clear() noexcept {
    std::ranges::fill(counts_, 0);
    count_ = 0;
    sum_ = 0;
    min_ = ~std::uint64_t{0};
    max_ = 0;
}

std::uint64_t Histogram::quantile(double q) const noexcept {
    if (count_ == 0)
        return 0;
    const double share = q > 0 ? std::min(q, 1.0) : 0.0;  // also turns a NaN into 0
    // 0.07 * 100 is 7.000000000000001 in binary: without the correction the rank would be 8.
    const double rank = std::ceil(share * static_cast<double>(count_) * (1 - 1e-14));
    const std::uint64_t wanted = rank < 1 ? 1 : std::min(static_cast<std::uint64_t>(rank), count_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < bucket_count; ++i) {
        seen += counts_[i];
        if (seen >= wanted)
            return std::min(upper_edge(i), max_);
    }
    return max_;
}

}  // namespace sluice::observe
