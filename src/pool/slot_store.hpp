#pragma once

// All slots of a pool, found by number, and those that are free.
//
// Roles: any thread takes and gives back; growth is one CAS, and its loser throws its array away.
// Encoding: slots 0..first-1 lie in one array, allocated at the start; after that segment k holds 64 << k.
// Invariant: a slot has one place for ever, so a number may be followed at any time (the ABA-safe stack and the ledger
// both do that).
//
// How many. Queued items are bounded by the limit, running ones by the workers, and each has a slot. Besides, a thread
// inside enqueue holds one before it is admitted, and one inside a cancellation holds one after the item's room was given
// back. `in_transit` is for those; more threads at once than that, and handles kept of ended items, make the store grow.

#include "pool/slot.hpp"
#include "sync/tagged_stack.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

namespace sluice::detail {

class SlotStore {
    /// How the stack finds the link of a slot.
    [[nodiscard]] auto links() noexcept {
        return [this](std::uint32_t index) -> sync::atomic<std::uint32_t>& { return (*this)[index].below; };
    }

public:
    static constexpr std::uint32_t in_transit = 64;
    static constexpr std::uint32_t nil = sync::TaggedStack::nil;

    /// Slot 0 is never given out: it lends its record to the ledger to begin with.
    SlotStore(std::uint32_t items, std::pmr::memory_resource& resource, Pool* pool)
        : first_(1 + items + in_transit), resource_(resource), pool_(pool), first_slots_(make(first_, 0)) {
        for (std::uint32_t i = first_; i-- > 1;)
            free_.push(i, links());
    }
    ~SlotStore() {
        destroy(first_slots_, first_);
        for (std::uint32_t k = 0; k < segment_count; ++k) {
            // relaxed: all is quiet by now
            destroy(segments_[k].load(sync::memory_order_relaxed), size_of(k));
        }
    }
    SlotStore(const SlotStore&) = delete;
    SlotStore& operator=(const SlotStore&) = delete;

    [[nodiscard]] PoolSlot& operator[](std::uint32_t index) const noexcept {
        if (index < first_)
            return first_slots_[index];
        const Place place = place_of(index);
        // acquire: partner of the release in grow(); who has a number may have it from a thread that read it elsewhere.
        return segments_[place.segment].load(sync::memory_order_acquire)[place.offset];
    }

    /// A free slot; null if there is no memory for another one. **Progress**: lock-free, but for the resource.
    [[nodiscard]] PoolSlot* take() noexcept {
        for (;;) {
            if (const auto index = free_.pop(links()))
                return &(*this)[*index];
            if (!grow())
                return nullptr;
        }
    }
    /// **Progress**: lock-free.
    void give(PoolSlot& slot) noexcept {
        free_.push(slot.index, links());
    }
    /// Slots there are.
    [[nodiscard]] std::uint32_t size() const noexcept {
        std::uint32_t count = first_ - 1;
        for (std::uint32_t k = 0; k < segment_count && has_segment(k); ++k)
            count += size_of(k);
        return count;
    }
    template <class Visit>
    void for_each(Visit&& visit) {
        for (std::uint32_t i = 1; i <= size(); ++i)
            visit((*this)[i]);
    }

private:
    static constexpr std::uint32_t segment_count = 15;  // to two million slots more
    struct Place {
        std::uint32_t segment;
        std::uint32_t offset;
    };

    [[nodiscard]] static constexpr std::uint32_t size_of(std::uint32_t segment) noexcept {
        return 64U << segment;
    }
    [[nodiscard]] constexpr Place place_of(std::uint32_t index) const noexcept {
        const std::uint32_t beyond = index - first_;
        const auto segment = static_cast<std::uint32_t>(std::bit_width(beyond / 64 + 1) - 1);
        // bit_width of at least 1 is at least 1, which the analyzer does not know.
        // NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift)
        return {segment, beyond - 64 * ((1U << segment) - 1)};
    }
    [[nodiscard]] bool has_segment(std::uint32_t k) const noexcept {
        return segments_[k].load(sync::memory_order_acquire) != nullptr;  // pairs with grow()
    }

    [[nodiscard]] PoolSlot* make(std::uint32_t count, std::uint32_t first_index) {
        auto* const slots =
            static_cast<PoolSlot*>(resource_.allocate(count * sizeof(PoolSlot), alignof(PoolSlot)));
        for (std::uint32_t i = 0; i < count; ++i) {
            auto* const slot = ::new (&slots[i]) PoolSlot;
            slot->index = first_index + i;
            slot->scratch = slot->index;
            slot->pool = pool_;
        }
        return slots;
    }
    void destroy(PoolSlot* slots, std::uint32_t count) noexcept {
        if (slots != nullptr)
            resource_.deallocate(slots, count * sizeof(PoolSlot), alignof(PoolSlot));
    }

    [[nodiscard]] bool grow() noexcept {
        std::uint32_t k = 0;
        while (k < segment_count && has_segment(k))
            ++k;
        if (k == segment_count)
            return false;
        const std::uint32_t first_index = first_ + 64 * ((1U << k) - 1);
        PoolSlot* made = nullptr;
        try {
            made = make(size_of(k), first_index);
        } catch (...) {
            return false;
        }
        PoolSlot* none = nullptr;
        // release: partner of the acquire of whoever follows a number.
        if (!segments_[k].compare_exchange_strong(none, made, sync::memory_order_acq_rel,
                                                  sync::memory_order_relaxed)) {
            destroy(made, size_of(k));
            return true;
        }
        for (std::uint32_t i = size_of(k); i-- > 0;)
            free_.push(first_index + i, links());
        return true;
    }

    const std::uint32_t first_;
    std::pmr::memory_resource& resource_;
    Pool* const pool_;
    PoolSlot* const first_slots_;
    std::array<sync::atomic<PoolSlot*>, segment_count> segments_{};
    alignas(sync::cache_line) sync::TaggedStack free_;
};

}  // namespace sluice::detail
