// Goal: whatever is recorded, each quantile is at or above the true one, by less than the promised share.
// Method: random values spread over all magnitudes, against the sorted list (rapidcheck prints the seed of a failure).
#include "observe/histogram.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

using sluice::observe::Histogram;

namespace {
std::vector<std::uint64_t> values_of_all_magnitudes() {
    const auto shifted = rc::gen::apply([](std::uint64_t bits, unsigned shift) { return bits >> shift; },
                                        rc::gen::arbitrary<std::uint64_t>(), rc::gen::inRange(0U, 64U));
    return *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint64_t>>(shifted));
}
}  // namespace

TEST_CASE("quantiles of random values are within the promised error of the sorted list's") {
    CHECK(rc::check([] {
        auto values = values_of_all_magnitudes();
        Histogram histogram;
        for (const std::uint64_t value : values)
            histogram.record(value);
        std::ranges::sort(values);
        for (const std::size_t permille : {0U, 10U, 70U, 250U, 500U, 900U, 990U, 999U, 1000U}) {
            const std::size_t rank = (permille * values.size() + 999) / 1000;
            const std::uint64_t exact = values[rank == 0 ? 0 : rank - 1];
            const std::uint64_t answer = histogram.quantile(static_cast<double>(permille) / 1000.0);
            RC_ASSERT(answer >= exact);
            RC_ASSERT(static_cast<double>(answer - exact) <=
                      static_cast<double>(exact) * Histogram::max_relative_error);
        }
        RC_ASSERT(histogram.count() == values.size());
        RC_ASSERT(histogram.min() == values.front());
        RC_ASSERT(histogram.max() == values.back());
    }));
}
