#pragma once

// What the pool has admitted, as one record: how much is queued, lane by lane and in bytes, who waits for room, and what
// became of everything that left the queue. Each transition is a pure function of the whole record, so that admission is
// exact (P3): sync/ledger.hpp replaces the record by one CAS, and no thread ever sees, or refuses by, half a step.
//
// Encoding, 64-bit words; only as many as the lanes and worker kinds need are in use.
//   0      bit 0: closed; bit 1..63: queued bytes
//   1      cancelled items        2  discarded items        3  items that threw       all ever, all exact
//   4..    one word a lane: bit 0..31 queued, bit 32..63 waiting for room
//   then   one half word a worker kind: items that its workers have taken and that did not throw, modulo 2^32
//
// Conservation (P16). accepted = queued + taken + cancelled + discarded + thrown holds by construction: `accepted` is that
// sum. taken = running + ran; the workers count what ran.

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::core {

struct PoolLimits {
    static constexpr std::uint32_t most_lanes = 16;
    static constexpr std::uint32_t most_kinds = 16;

    std::uint32_t lanes = 0;
    std::uint32_t kinds = 0;
    std::uint32_t total = 0;
    std::uint64_t bytes = 0;  ///< below 2^63
    std::array<std::uint32_t, most_lanes> lane{};

    /// Words of a record that are in use.
    [[nodiscard]] constexpr std::size_t words() const noexcept {
        return 4 + lanes + (kinds + 1) / 2;
    }
};

/// What admission says, in the order in which it asks. The last five are refusals of an item that may fit later.
enum class Verdict : std::uint8_t {
    admitted,
    closed,      ///< the pool takes nothing any more
    never_fits,  ///< more bytes than the whole budget: full or not makes no difference
    total,
    lane,
    bytes,
    waiters,  ///< there is room, but others wait for it in this lane and came first (P13)
};

class PoolRecord {
public:
    static constexpr std::size_t most_words = 4 + PoolLimits::most_lanes + PoolLimits::most_kinds / 2;
    std::array<std::uint64_t, most_words> words{};

    [[nodiscard]] constexpr bool closed() const noexcept {
        return (words[0] & 1U) != 0;
    }
    [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
        return words[0] >> 1U;
    }
    [[nodiscard]] constexpr std::uint64_t cancelled() const noexcept {
        return words[1];
    }
    [[nodiscard]] constexpr std::uint64_t discarded() const noexcept {
        return words[2];
    }
    [[nodiscard]] constexpr std::uint64_t thrown() const noexcept {
        return words[3];
    }
    [[nodiscard]] constexpr std::uint32_t queued(std::uint32_t lane) const noexcept {
        return static_cast<std::uint32_t>(words[4 + lane]);
    }
    [[nodiscard]] constexpr std::uint32_t waiting(std::uint32_t lane) const noexcept {
        return static_cast<std::uint32_t>(words[4 + lane] >> 32U);
    }
    /// Items that workers of this kind took and that did not throw, modulo 2^32.
    [[nodiscard]] constexpr std::uint32_t taken(const PoolLimits& limits, std::uint32_t kind) const noexcept {
        return static_cast<std::uint32_t>(words[4 + limits.lanes + kind / 2] >> (32U * (kind % 2)));
    }
    [[nodiscard]] constexpr std::uint32_t queued_total(const PoolLimits& limits) const noexcept {
        std::uint32_t sum = 0;
        for (std::uint32_t lane = 0; lane < limits.lanes; ++lane)
            sum += queued(lane);
        return sum;
    }
    [[nodiscard]] constexpr bool anyone_waiting(const PoolLimits& limits) const noexcept {
        std::uint64_t seen = 0;
        for (std::uint32_t lane = 0; lane < limits.lanes; ++lane)
            seen |= words[4 + lane] >> 32U;
        return seen != 0;
    }

    /// An item of this lane would be admitted, by everything but those who wait.
    [[nodiscard]] constexpr Verdict judge(const PoolLimits& limits, std::uint32_t lane,
                                          std::uint64_t item_bytes) const noexcept {
        if (closed())
            return Verdict::closed;
        if (item_bytes > limits.bytes)
            return Verdict::never_fits;
        if (queued_total(limits) >= limits.total)
            return Verdict::total;
        if (queued(lane) >= limits.lane[lane])
            return Verdict::lane;
        if (item_bytes > limits.bytes - bytes())  // so that nothing wraps
            return Verdict::bytes;
        return Verdict::admitted;
    }

    // Transitions. Those that return a verdict change the record only if it is `admitted`.

    /// A newcomer, who does not overtake those who wait in its lane.
    [[nodiscard]] constexpr Verdict admit(const PoolLimits& limits, std::uint32_t lane,
                                          std::uint64_t item_bytes) noexcept {
        Verdict verdict = judge(limits, lane, item_bytes);
        if (verdict == Verdict::admitted && waiting(lane) != 0)
            verdict = Verdict::waiters;
        if (verdict == Verdict::admitted)
            add(lane, item_bytes);
        return verdict;
    }

    /// The first of those who wait in its lane.
    [[nodiscard]] constexpr Verdict admit_waiter(const PoolLimits& limits, std::uint32_t lane,
                                                 std::uint64_t item_bytes) noexcept {
        const Verdict verdict = judge(limits, lane, item_bytes);
        if (verdict == Verdict::admitted) {
            leave_line(lane);
            add(lane, item_bytes);
        }
        return verdict;
    }

    /// Who was refused for now waits for room: behind all who do.
    constexpr void join_line(std::uint32_t lane) noexcept {
        words[4 + lane] += one_waiting;
    }
    constexpr void leave_line(std::uint32_t lane) noexcept {
        words[4 + lane] -= one_waiting;
    }

    /// A worker of this kind takes an item: from now on it is running and no longer queued.
    constexpr void take(const PoolLimits& limits, std::uint32_t lane, std::uint64_t item_bytes,
                        std::uint32_t kind) noexcept {
        remove(lane, item_bytes);
        set_taken(limits, kind, taken(limits, kind) + 1);
    }
    constexpr void cancel(std::uint32_t lane, std::uint64_t item_bytes) noexcept {
        remove(lane, item_bytes);
        ++words[1];
    }
    constexpr void discard(std::uint32_t lane, std::uint64_t item_bytes) noexcept {
        remove(lane, item_bytes);
        ++words[2];
    }
    /// A running item has thrown.
    constexpr void threw(const PoolLimits& limits, std::uint32_t kind) noexcept {
        set_taken(limits, kind, taken(limits, kind) - 1);
        ++words[3];
    }
    constexpr void close() noexcept {
        words[0] |= 1U;
    }

private:
    static constexpr std::uint64_t one_waiting = std::uint64_t{1} << 32U;

    constexpr void add(std::uint32_t lane, std::uint64_t item_bytes) noexcept {
        words[0] += item_bytes << 1U;
        ++words[4 + lane];
    }
    constexpr void remove(std::uint32_t lane, std::uint64_t item_bytes) noexcept {
        words[0] -= item_bytes << 1U;
        --words[4 + lane];
    }
    constexpr void set_taken(const PoolLimits& limits, std::uint32_t kind, std::uint32_t count) noexcept {
        std::uint64_t& word = words[4 + limits.lanes + kind / 2];
        const unsigned shift = 32U * (kind % 2);
        word = (word & ~(std::uint64_t{0xffff'ffffU} << shift)) | std::uint64_t{count} << shift;
    }
};

}  // namespace sluice::core
