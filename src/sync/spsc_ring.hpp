#pragma once

// A bounded queue from one thread to one other.
//
// Roles: the *producer*, one thread at a time, pushes; the *consumer*, one thread at a time, pops. A role may
// move to another thread if the hand-over orders the two (release by the old, acquire by the new). Anybody
// may ask empty().
// Encoding: `tail_` counts all pushes and `head_` all pops, so tail - head is the length. Element n lies in
// slot n mod Capacity. The counts are 64-bit and never wrap.
// Invariant: head <= tail <= head + Capacity. The producer owns the slots outside [head, tail), the consumer
// those inside; a slot changes hands by a release store of the count and an acquire load of it on the other
// side.
//
// Each side keeps a copy of the other's count and reads the real one only when the copy says full or empty,
// so that in a steady flow the lines of the counts do not travel for each element.

#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct SpscRingRules {
    /// Fill the slot before the count says so; a mutant may do it the other way round.
    static constexpr bool fill_before_publish = true;
    /// Between the two steps of such a mutant, where a thread may lose its CPU.
    static void rest() noexcept {}
    /// How much more than Capacity the producer believes to fit; a mutant may overrun the consumer.
    static constexpr std::size_t overrun = 0;
};

template <typename T, std::size_t Capacity, typename Rules = SpscRingRules>
class SpscRing {
    static_assert(std::is_trivially_copyable_v<T>, "elements are copied in and out and never destroyed");
    static_assert(std::has_single_bit(Capacity), "a slot is found by masking");

public:
    SpscRing() = default;
    SpscRing(const SpscRing&) = delete;
    SpscRing& operator=(const SpscRing&) = delete;

    [[nodiscard]] static constexpr std::size_t capacity() noexcept {
        return Capacity;
    }

    /// Appends an element; false if the ring is full, and nothing has changed.
    /// thread: the producer. progress: wait-free. memory: none.
    [[nodiscard]] bool try_push(const T& element) noexcept {
        return try_push_filled([&element](T& slot) { slot = element; });
    }
    /// As try_push; `fill(slot)` writes the element where it will lie. A copy of what was just written in smaller pieces
    /// would wait until those are in the cache.
    template <typename Fill>
    [[nodiscard]] bool try_push_filled(Fill&& fill) noexcept {
        // Relaxed: the producer's own count.
        const std::uint64_t tail = tail_.load(memory_order_relaxed);
        if (tail - head_seen_by_producer_ >= Capacity + Rules::overrun) {
            // Acquire: partner of the release in try_pop; the consumer is done with the slot that is written
            // next.
            head_seen_by_producer_ = head_.load(memory_order_acquire);
            if (tail - head_seen_by_producer_ >= Capacity + Rules::overrun) {
                return false;
            }
        }
        if constexpr (Rules::fill_before_publish) {
            fill(slots_[tail & mask]);
        }
        // Release: partner of the acquire in try_pop; the element is in its slot.
        tail_.store(tail + 1, memory_order_release);
        if constexpr (!Rules::fill_before_publish) {
            Rules::rest();
            fill(slots_[tail & mask]);
        }
        return true;
    }

    /// Takes the oldest element; false if there is none, and `out` is as it was.
    /// thread: the consumer. progress: wait-free. memory: none.
    [[nodiscard]] bool try_pop(T& out) noexcept {
        // Relaxed: the consumer's own count.
        const std::uint64_t head = head_.load(memory_order_relaxed);
        if (head == tail_seen_by_consumer_) {
            // Acquire: partner of the release in try_push; the elements up to there are in their slots.
            tail_seen_by_consumer_ = tail_.load(memory_order_acquire);
            if (head == tail_seen_by_consumer_) {
                return false;
            }
        }
        out = slots_[head & mask];
        // Release: partner of the acquire in try_push; the slot has been read and may be used again.
        head_.store(head + 1, memory_order_release);
        return true;
    }

    /// A glance: whether there was nothing in the ring at some moment of the call. A thread that goes to
    /// sleep on the answer needs a handshake: the producer pushes, then changes a common word by a
    /// read-modify-write and looks for sleepers; the sleeper changes the same word by a read-modify-write,
    /// then glances. One of the two comes first, and the other sees what it did. A plain push and a plain
    /// announcement would miss each other.
    /// thread: any. progress: wait-free.
    [[nodiscard]] bool empty() const noexcept {
        // The head first: it never overtakes the tail, so if a later tail equals it, it stood there at that
        // moment. Acquire on both: keeps the two loads in this order, and what the handshake brought in is
        // seen.
        const std::uint64_t head = head_.load(memory_order_acquire);
        return tail_.load(memory_order_acquire) == head;
    }

private:
    static constexpr std::uint64_t mask = Capacity - 1;

    // The producer's line: written by it alone, the count read by all.
    alignas(cache_line) atomic<std::uint64_t> tail_{0};
    std::uint64_t head_seen_by_producer_ = 0;
    // The consumer's line.
    alignas(cache_line) atomic<std::uint64_t> head_{0};
    std::uint64_t tail_seen_by_consumer_ = 0;

    alignas(cache_line) std::array<T, Capacity> slots_{};
};

}  // namespace sluice::sync
