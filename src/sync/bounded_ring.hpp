#pragma once

// A bounded queue for many producers and many consumers (Vyukov's array queue), with all memory taken at the
// start.
//
// Roles: any thread pushes, any thread pops.
// Encoding: `tail_` counts the pushes and `head_` the pops that have begun. Turn n belongs to cell n mod
// capacity, whose `ready` word says for what it is ready: n for the push of turn n, n + 1 for its pop, n +
// capacity for the push one lap later. The counts are 64-bit and never wrap.
// Invariant: whoever moved a count from n to n + 1 by CAS owns the cell until it writes the next value into
// `ready`.
//
// When not to use: a producer that is suspended between its CAS and the end of its push holds back all
// elements behind its own; until it goes on, consumers are told "empty". (Who waits for elements is not
// stranded: each producer wakes after its push, and so does the late one.) The same holds for a consumer and
// "full". Elements that must come out whatever other threads do, as E14 wants, need another way.

#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <type_traits>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct BoundedRingRules {
    /// Fill the cell before its word says so; a mutant may do it the other way round.
    static constexpr bool fill_before_ready = true;
    /// Between the two steps of such a mutant, where a thread may lose its CPU.
    static void rest() noexcept {}
};

template <typename T, typename Rules = BoundedRingRules>
class BoundedRing {
    static_assert(std::is_trivially_copyable_v<T>, "elements are copied in and out and never destroyed");

public:
    /// `capacity`: a power of two, at least 2 (with one cell, "ready for the pop" and "ready for the next
    /// push" would be the same number). The cells come from `resource`, here and never again; throws what it
    /// throws.
    BoundedRing(std::size_t capacity, std::pmr::memory_resource& resource)
        : cells_(make_cells(capacity, resource)), mask_(capacity - 1), resource_(resource) {}

    ~BoundedRing() {
        resource_.deallocate(cells_, bytes_for(capacity()), alignof(Cell));
    }

    BoundedRing(const BoundedRing&) = delete;
    BoundedRing& operator=(const BoundedRing&) = delete;

    [[nodiscard]] std::size_t capacity() const noexcept {
        return static_cast<std::size_t>(mask_) + 1;
    }

    /// Appends an element; false if there is no room, and nothing has changed.
    /// thread: any. progress: returns in a bounded number of steps unless other pushes succeed; see "when not
    /// to use" for what "full" means. memory: none.
    [[nodiscard]] bool try_push(const T& element) noexcept {
        // Relaxed: a first guess; the cell's word says whether it is right.
        std::uint64_t turn = tail_.load(memory_order_relaxed);
        for (;;) {
            Cell& cell = cells_[turn & mask_];
            // Acquire: partner of the release at the end of try_pop one lap ago; the cell has been emptied.
            const std::uint64_t ready = cell.ready.load(memory_order_acquire);
            if (ready == turn) {
                if (own_turn(tail_, turn)) {
                    if constexpr (Rules::fill_before_ready) {
                        cell.element = element;
                    }
                    // Release: partner of the acquire in try_pop; the element is in its cell.
                    cell.ready.store(turn + 1, memory_order_release);
                    if constexpr (!Rules::fill_before_ready) {
                        Rules::rest();
                        cell.element = element;
                    }
                    return true;
                }
            } else if (ready < turn) {
                return false;  // still full of the lap before
            } else {
                turn = tail_.load(memory_order_relaxed);  // somebody else has had this turn
            }
        }
    }

    /// Takes the oldest element; false if there is none, and `out` is as it was.
    /// thread: any. progress: as try_push. memory: none.
    [[nodiscard]] bool try_pop(T& out) noexcept {
        // Relaxed: as in try_push.
        std::uint64_t turn = head_.load(memory_order_relaxed);
        for (;;) {
            Cell& cell = cells_[turn & mask_];
            // Acquire: partner of the release at the end of try_push.
            const std::uint64_t ready = cell.ready.load(memory_order_acquire);
            if (ready == turn + 1) {
                if (own_turn(head_, turn)) {
                    out = cell.element;
                    // Release: partner of the acquire in try_push one lap later; the cell has been read.
                    cell.ready.store(turn + capacity(), memory_order_release);
                    return true;
                }
            } else if (ready < turn + 1) {
                return false;  // its push has not ended, or not begun
            } else {
                turn = head_.load(memory_order_relaxed);
            }
        }
    }

private:
    struct Cell {
        atomic<std::uint64_t> ready;
        T element;
    };

    // Relaxed: the CAS only decides whose turn it is. What the cell holds travels with its own word.
    [[nodiscard]] static bool own_turn(atomic<std::uint64_t>& count, std::uint64_t& turn) noexcept {
        return count.compare_exchange_weak(turn, turn + 1, memory_order_relaxed, memory_order_relaxed);
    }

    [[nodiscard]] static std::size_t bytes_for(std::size_t capacity) noexcept {
        return capacity * sizeof(Cell);
    }

    [[nodiscard]] static Cell* make_cells(std::size_t capacity, std::pmr::memory_resource& resource) {
        assert(capacity >= 2 && std::has_single_bit(capacity));
        auto* const cells = static_cast<Cell*>(resource.allocate(bytes_for(capacity), alignof(Cell)));
        for (std::size_t i = 0; i < capacity; ++i) {
            new (&cells[i]) Cell{atomic<std::uint64_t>(i), T{}};
        }
        return cells;
    }

    // Never written after the constructor.
    alignas(cache_line) Cell* const cells_;
    const std::uint64_t mask_;
    std::pmr::memory_resource& resource_;
    // The producers' line.
    alignas(cache_line) atomic<std::uint64_t> tail_{0};
    // The consumers' line.
    alignas(cache_line) atomic<std::uint64_t> head_{0};
};

}  // namespace sluice::sync
