// A histogram of durations (or any unsigned values) with a bounded relative error and bounded memory.
//
// Encoding, log-linear: a value below 256 has a bucket of its own. Above, each power of two is cut into 128 buckets
// of equal width, so a bucket is never wider than 1/128 of the values in it. All 64 bits are covered, so nothing
// saturates: 256 + 56 * 128 = 7,424 buckets, 58 KiB, taken once by the constructor.
// Invariant: the buckets add up to count().
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::observe {

/// **Thread**: one thread owns a Histogram; those of several threads are added up with merge(). **Memory**: the
/// constructor allocates, nothing else does.
class Histogram {
public:
    static constexpr unsigned precision_bits = 7;
    static constexpr std::size_t buckets_per_octave = std::size_t{1} << precision_bits;
    static constexpr std::size_t bucket_count =
        2 * buckets_per_octave + (64 - precision_bits - 1) * buckets_per_octave;
    /// A quantile is never below the true value, and above it by less than this share of it.
    static constexpr double max_relative_error = 1.0 / static_cast<double>(buckets_per_octave);

    Histogram() : counts_(bucket_count, 0) {}

    /// Counts one value. **Progress**: wait-free. **Cost**: constant, a few nanoseconds. **Memory**: none.
    void record(std::uint64_t value) noexcept {
        ++counts_[bucket_of(value)];
        ++count_;
        sum_ += static_cast<double>(value);
        min_ = value < min_ ? value : min_;
        max_ = value > max_ ? value : max_;
    }

    /// Adds all values of another histogram to this one. **Cost**: O(bucket_count).
    void merge(const Histogram& other) noexcept;
    /// Forgets all values; keeps the memory.
    void clear() noexcept;

    [[nodiscard]] std::uint64_t count() const noexcept {
        return count_;
    }
    /// Exact, and 0 when empty; so are max() and mean().
    [[nodiscard]] std::uint64_t min() const noexcept {
        return count_ == 0 ? 0 : min_;
    }
    [[nodiscard]] std::uint64_t max() const noexcept {
        return max_;
    }
    [[nodiscard]] double mean() const noexcept {
        return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
    }

    /// The smallest value that at least a share `q` of all values does not exceed (nearest rank), rounded up to its
    /// bucket's upper edge and never above max(). `q` outside 0..1 is taken as the nearer end. 0 when empty.
    /// **Cost**: O(bucket_count).
    [[nodiscard]] std::uint64_t quantile(double q) const noexcept;

    /// The bucket that a value falls into, and the largest value that falls into a bucket: public so that tests can
    /// walk all of them.
    [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
        if (value < 2 * buckets_per_octave)
            return static_cast<std::size_t>(value);
        const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - precision_bits;
        return (static_cast<std::size_t>(shift) << precision_bits) + static_cast<std::size_t>(value >> shift);
    }
    [[nodiscard]] static constexpr std::uint64_t upper_edge(std::size_t bucket) noexcept {
        if (bucket < 2 * buckets_per_octave)
            return bucket;
        const std::size_t shift = (bucket >> precision_bits) - 1;
        const std::uint64_t top = bucket - (shift << precision_bits);
        return ((top + 1) << shift) - 1;  // wraps to the largest value in the last bucket, as it should
    }

private:
    std::vector<std::uint64_t> counts_;
    std::uint64_t count_ = 0;
    std::uint64_t min_ = ~std::uint64_t{0};
    std::uint64_t max_ = 0;
    double sum_ = 0;  // a double loses at most the last digits of the mean, a 64-bit integer could overflow
};

}  // namespace sluice::observe
