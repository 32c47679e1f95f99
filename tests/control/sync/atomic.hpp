#pragma once

// The seam, held by the controlled scheduler: the same names and shapes as src/sync/atomic.hpp, found before it on the
// include path. Each operation hands control to the scheduler first (control/scheduler.hpp), and the values are kept by its
// memory model (control/memory.hpp). An operation also says from which line it comes, for the trace, and so that a test
// sees that a file goes through here.

#include "control/scheduler.hpp"

#include <atomic>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

namespace sluice::sync {

/// Only here: what a test asserts to know that it did not get the real seam.
inline constexpr bool controlled = true;

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

template <typename T>
class atomic {
    using Place = std::source_location;

public:
    using value_type = T;

    atomic() noexcept : atomic(T{}) {}
    // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic
    atomic(T value, Place place = Place::current()) noexcept : id_(control::make(bits(value), place)) {}
    ~atomic() {
        control::destroy(id_);
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard]] T load(std::memory_order order = memory_order_seq_cst,
                         Place place = Place::current()) const noexcept {
        return value(control::load(id_, order, place));
    }
    void store(T desired, std::memory_order order = memory_order_seq_cst,
               Place place = Place::current()) noexcept {
        control::store(id_, bits(desired), order, place);
    }
    T exchange(T desired, std::memory_order order = memory_order_seq_cst,
               Place place = Place::current()) noexcept {
        return update("exchange", order, place, [desired](T) { return desired; });
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                                 Place place = Place::current()) noexcept {
        return compare(expected, desired, success, failure, false, place);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order order = memory_order_seq_cst,
                                 Place place = Place::current()) noexcept {
        return compare(expected, desired, order, on_failure(order), false, place);
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               Place place = Place::current()) noexcept {
        return compare(expected, desired, success, failure, true, place);
    }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order order = memory_order_seq_cst,
                               Place place = Place::current()) noexcept {
        return compare(expected, desired, order, on_failure(order), true, place);
    }
    T fetch_add(T by, std::memory_order order = memory_order_seq_cst, Place place = Place::current()) noexcept
        requires std::integral<T>
    {
        return update("fetch_add", order, place, [by](T old) { return static_cast<T>(old + by); });
    }
    T fetch_sub(T by, std::memory_order order = memory_order_seq_cst, Place place = Place::current()) noexcept
        requires std::integral<T>
    {
        return update("fetch_sub", order, place, [by](T old) { return static_cast<T>(old - by); });
    }
    T fetch_or(T by, std::memory_order order = memory_order_seq_cst, Place place = Place::current()) noexcept
        requires std::integral<T>
    {
        return update("fetch_or", order, place, [by](T old) { return static_cast<T>(old | by); });
    }
    T fetch_and(T by, std::memory_order order = memory_order_seq_cst, Place place = Place::current()) noexcept
        requires std::integral<T>
    {
        return update("fetch_and", order, place, [by](T old) { return static_cast<T>(old & by); });
    }

    /// The scheduler's name for this word.
    [[nodiscard]] std::uint32_t control_id() const noexcept {
        return id_;
    }

private:
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));

    [[nodiscard]] static std::uint64_t bits(T value) noexcept {
        std::uint64_t word = 0;
        std::memcpy(&word, &value, sizeof(T));
        return word;
    }
    [[nodiscard]] static T value(std::uint64_t word) noexcept {
        T value;
        std::memcpy(&value, &word, sizeof(T));
        return value;
    }
    [[nodiscard]] static std::memory_order on_failure(std::memory_order order) noexcept {
        if (order == memory_order_acq_rel)
            return memory_order_acquire;
        return order == memory_order_release ? memory_order_relaxed : order;
    }
    template <typename Change>
    T update(const char* what, std::memory_order order, Place place, Change change) noexcept {
        const T old = value(control::update_begin(id_, order, place));
        control::update_end(id_, bits(change(old)), order, what, place);
        return old;
    }
    bool compare(T& expected, T desired, std::memory_order success, std::memory_order failure, bool weak,
                 Place place) noexcept {
        std::uint64_t word = bits(expected);
        const bool done = control::compare_exchange(id_, word, bits(desired), success, failure, weak, place);
        if (!done)
            expected = value(word);
        return done;
    }

    std::uint32_t id_;
};

enum class WaitResult : std::uint8_t { changed_or_woken, timed_out };

inline void wait(const atomic<std::uint32_t>& word, std::uint32_t expected,
                 std::source_location place = std::source_location::current()) noexcept {
    static_cast<void>(control::wait(word.control_id(), expected, control::no_timeout, place));
}
[[nodiscard]] inline WaitResult wait_for(
    const atomic<std::uint32_t>& word, std::uint32_t expected, std::int64_t nanoseconds,
    std::source_location place = std::source_location::current()) noexcept {
    return control::wait(word.control_id(), expected, nanoseconds, place) ? WaitResult::changed_or_woken
                                                                          : WaitResult::timed_out;
}
inline void wake_one(const atomic<std::uint32_t>& word,
                     std::source_location place = std::source_location::current()) noexcept {
    control::wake(word.control_id(), false, place);
}
inline void wake_all(const atomic<std::uint32_t>& word,
                     std::source_location place = std::source_location::current()) noexcept {
    control::wake(word.control_id(), true, place);
}
[[nodiscard]] inline std::int64_t now_ns() noexcept {
    return control::now_ns();
}
inline void relax() noexcept {
    control::relax();
}

}  // namespace sluice::sync
