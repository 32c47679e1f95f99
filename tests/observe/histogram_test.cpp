// Goal: the histogram's promises hold at every edge: buckets cover all 64 bits without gap or overlap, are never wider
// than the promised error, and quantiles are those of the nearest rank.
// Method: walk all buckets; then small sets of values whose quantiles are known.
#include "observe/histogram.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

using sluice::observe::Histogram;

namespace {
constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
}

TEST_CASE("buckets cover all 64-bit values in order, without gap or overlap") {
    std::uint64_t lowest = 0;
    for (std::size_t bucket = 0; bucket < Histogram::bucket_count; ++bucket) {
        const std::uint64_t highest = Histogram::upper_edge(bucket);
        REQUIRE(highest >= lowest);
        REQUIRE(Histogram::bucket_of(lowest) == bucket);
        REQUIRE(Histogram::bucket_of(highest) == bucket);
        if (bucket + 1 < Histogram::bucket_count)
            REQUIRE(Histogram::bucket_of(highest + 1) == bucket + 1);
        lowest = highest + 1;
    }
    CHECK(Histogram::upper_edge(Histogram::bucket_count - 1) == largest);
}

TEST_CASE("no bucket is wider than the promised error, which is below one per cent") {
    static_assert(Histogram::max_relative_error < 0.01);
    std::uint64_t lowest = 0;
    for (std::size_t bucket = 0; bucket < Histogram::bucket_count; ++bucket) {
        const std::uint64_t highest = Histogram::upper_edge(bucket);
        const auto width = static_cast<double>(highest - lowest);
        REQUIRE(width <= static_cast<double>(lowest) * Histogram::max_relative_error);
        lowest = highest + 1;
    }
}

TEST_CASE("an empty histogram answers zero to everything") {
    const Histogram histogram;
    CHECK(histogram.count() == 0);
    CHECK(histogram.min() == 0);
    CHECK(histogram.max() == 0);
    CHECK(histogram.mean() == 0.0);
    CHECK(histogram.quantile(0.99) == 0);
}

TEST_CASE("quantiles are those of the nearest rank, exact below 256") {
    Histogram histogram;
    for (std::uint64_t value = 1; value <= 100; ++value)
        histogram.record(value);
    for (unsigned percent = 1; percent <= 100; ++percent) {
        CAPTURE(percent);
        CHECK(histogram.quantile(static_cast<double>(percent) / 100.0) == percent);
    }
    CHECK(histogram.quantile(0.0) == 1);
    CHECK(histogram.quantile(0.001) == 1);
    CHECK(histogram.quantile(0.991) == 100);
    CHECK(histogram.min() == 1);
    CHECK(histogram.max() == 100);
    CHECK(histogram.mean() == doctest::Approx(50.5));
}

TEST_CASE("a share outside 0..1, or none at all, is taken as the nearer end") {
    Histogram histogram;
    histogram.record(3);
    histogram.record(9);
    CHECK(histogram.quantile(-1) == 3);
    CHECK(histogram.quantile(7) == 9);
    CHECK(histogram.quantile(std::numeric_limits<double>::quiet_NaN()) == 3);
}

TEST_CASE("a quantile never exceeds the largest value, and the extremes are exact") {
    Histogram histogram;
    histogram.record(1'000'001);
    CHECK(histogram.quantile(0.5) == 1'000'001);
    histogram.record(0);
    histogram.record(largest);
    CHECK(histogram.min() == 0);
    CHECK(histogram.max() == largest);
    CHECK(histogram.quantile(1.0) == largest);
    CHECK(histogram.quantile(0.0) == 0);
}

TEST_CASE("merging equals recording everything into one; clearing forgets it") {
    Histogram left, right, both;
    for (std::uint64_t i = 0; i < 5'000; ++i) {
        const std::uint64_t value = i * i * 977;
        (i % 3 == 0 ? left : right).record(value);
        both.record(value);
    }
    left.merge(right);
    CHECK(left.count() == both.count());
    CHECK(left.min() == both.min());
    CHECK(left.max() == both.max());
    CHECK(left.mean() == doctest::Approx(both.mean()));
    for (const double q : {0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0})
        CHECK(left.quantile(q) == both.quantile(q));
    left.clear();
    CHECK(left.count() == 0);
    CHECK(left.quantile(0.5) == 0);
    left.record(7);
    CHECK(left.min() == 7);
    CHECK(left.max() == 7);
}
