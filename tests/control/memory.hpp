#pragma once

// What simulated threads may read: the memory model of the controlled scheduler, without threads.
//
// Each atomic keeps its modification history. A load may return any store that coherence and happens-before allow, not
// only the newest; so a relaxed order, or an acquire without its release, is seen by somebody. Happens-before is kept in
// vector clocks: a release store leaves its thread's clock with the value, an acquire load takes it over, a
// read-modify-write hands it on (the release sequence of C++20). Sequentially consistent operations are ordered as they
// are executed, and such a load reads nothing older than the last such store.
//
// Plain data is checked for races by the same clocks.
//
// What this leaves out is said in docs/TRUST.md: the order of modification is the order of execution (no store comes out
// of order with another to the same word), and no load reads a store that is executed later.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sluice::control {

inline constexpr unsigned most_threads = 8;  // with the test's body, which is thread 0

struct Clock {
    std::array<std::uint32_t, most_threads> at{};

    void join(const Clock& other) noexcept {
        for (unsigned i = 0; i < most_threads; ++i)
            at[i] = std::max(at[i], other.at[i]);
    }
};

/// When something was done: the thread, and how many steps it had made.
struct Moment {
    std::uint8_t thread = 0;
    std::uint32_t step = 0;

    [[nodiscard]] bool before(const Clock& clock) const noexcept {
        return step <= clock.at[thread];
    }
};

struct Store {
    std::uint64_t value = 0;
    Moment moment;
    bool sequential = false;
    Clock released;                                  // what an acquire load of this store takes over
    std::array<std::uint32_t, most_threads> read{};  // the step of each thread's first read; 0: never
};

struct Location {
    std::vector<Store> history;
    std::size_t last_sequential = 0;  // the last seq_cst store; loads of that order read nothing older
    bool gone = false;                // the object was destroyed
};

/// Plain data: who wrote last, and who has read since.
struct Plain {
    Moment written;
    std::array<std::uint32_t, most_threads> read{};
};

[[nodiscard]] constexpr bool acquires(std::memory_order order) noexcept {
    return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}
[[nodiscard]] constexpr bool releases(std::memory_order order) noexcept {
    return order == std::memory_order_release || order == std::memory_order_acq_rel ||
           order == std::memory_order_seq_cst;
}

/// All words of one execution, and the clocks of its threads.
class Memory {
public:
    void forget() noexcept;

    /// The thread makes a step.
    void step(unsigned thread) noexcept {
        ++clocks_[thread].at[thread];
    }
    /// `to` begins after what `from` has done, or goes on after its end.
    void follow(unsigned to, unsigned from) noexcept {
        clocks_[to].join(clocks_[from]);
    }

    [[nodiscard]] std::uint32_t make(unsigned thread, std::uint64_t value);
    [[nodiscard]] Location& at(std::uint32_t id) noexcept {
        return locations_[id];
    }
    [[nodiscard]] std::uint32_t locations() const noexcept {
        return used_;
    }

    /// How many of the newest stores the thread may read: at least one.
    [[nodiscard]] std::size_t readable(unsigned thread, std::uint32_t id,
                                       std::memory_order order) const noexcept;
    /// Whether the thread may not even know that the object is there.
    [[nodiscard]] bool unborn(unsigned thread, std::uint32_t id) const noexcept {
        return !locations_[id].history.front().moment.before(clocks_[thread]);
    }
    /// Reads the store `age` steps before the newest.
    std::uint64_t read(unsigned thread, std::uint32_t id, std::size_t age, std::memory_order order) noexcept;
    /// `update`: the write half of a read-modify-write, after read() of the newest.
    void write(unsigned thread, std::uint32_t id, std::uint64_t value, std::memory_order order, bool update);

    /// False: a race with another thread's access. Both remember the access.
    [[nodiscard]] bool plain_read(unsigned thread, const void* address);
    [[nodiscard]] bool plain_write(unsigned thread, const void* address);

private:
    std::array<Clock, most_threads> clocks_{};
    std::vector<Location> locations_;  // their histories keep their memory from one execution to the next
    std::uint32_t used_ = 0;
    std::unordered_map<const void*, Plain> plain_;
};

}  // namespace sluice::control
