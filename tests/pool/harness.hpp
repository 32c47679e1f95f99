#pragma once

// What the tests of the pool share, beside the gates and waits of the executor's.

#include "executor/harness.hpp"
#include "support/stress.hpp"

#include <sluice/bounded_pool.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice {

inline std::ostream& operator<<(std::ostream& out, ItemState state) {
    return out << to_string(state);
}

}  // namespace sluice

namespace sluice::test {

/// One lane, one kind.
inline PoolConfig small_pool(std::int64_t workers, std::int64_t limit) {
    PoolConfig config;
    config.max_queued = limit;
    config.lanes = {{"only", limit, {}}};
    config.kinds = {{"all", workers, {"only"}}};
    return config;
}
inline constexpr PoolLane only{0};

[[nodiscard]] inline bool balanced(const PoolTotals& t) {
    return t.accepted == t.queued + t.running + t.ran + t.thrown + t.cancelled + t.discarded;
}

/// Holds every worker of a pool inside a job, until it is opened or goes. The most general kinds first, each in the last
/// lane that it runs: more special ones may not run that, and more general ones are held already.
class AllHeld {
public:
    explicit AllHeld(BoundedPool& pool) {
        auto kinds = pool.config().kinds;
        std::ranges::sort(kinds, std::greater{},
                          [](const auto& kind) { return std::pair(std::popcount(kind.lanes), kind.name); });
        unsigned held = 0;
        for (const auto& kind : kinds) {
            const PoolLane last{static_cast<std::uint8_t>(std::bit_width(kind.lanes) - 1)};
            for (std::uint32_t i = 0; i < kind.workers; ++i) {
                REQUIRE(pool.post(last, {}, [gate = gate_] { gate.pass(); }));
                REQUIRE(gate_.reached_by(++held));
            }
        }
    }
    void open() {
        gate_.open();
    }
    [[nodiscard]] unsigned inside() const {
        return gate_.inside();
    }

private:
    Gate gate_;
};

/// The error of a refusal.
template <class T>
[[nodiscard]] Error refusal_of(const Result<T>& result) {
    REQUIRE_FALSE(result.has_value());
    return result.error();
}

}  // namespace sluice::test
