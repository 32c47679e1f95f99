// Where full and empty batches of recycled objects change hands between threads.
//
// Batches live in segments that are never freed before the depot, so an index stays valid (what the stacks need
// against ABA). A batch belongs to whoever popped it; its contents were written before it was pushed.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "sync/atomic.hpp"
#include "sync/tagged_stack.hpp"

namespace sluice::memory {

/// An array of pointers to recycled objects, owned by one thread at a time.
struct Batch {
    /// A batch is exchanged once for this many objects: 64 make 150 ns across CPUs vanish, 16 KiB stay unused.
    static constexpr std::uint32_t capacity = 64;

    std::uint32_t count = 0;
    std::uint32_t index = 0;
    sync::atomic<std::uint32_t> below{0};
    std::array<void*, capacity> items{};
};

/// One thread's two batches. `loaded` is taken from and given to; `previous` is full or empty, so that a thread on
/// the edge of a batch does not go to the depot for every object (Bonwick's magazines).
struct Cache {
    Batch* loaded = nullptr;
    Batch* previous = nullptr;
};

/// **Thread**: any. **Progress**: lock-free, but for the allocation in add_batches().
class BatchDepot {
    /// How the stacks find the link of a batch.
    auto links() noexcept {
        return [this](std::uint32_t index) -> sync::atomic<std::uint32_t>& { return at(index).below; };
    }

public:
    BatchDepot() = default;
    BatchDepot(const BatchDepot&) = delete;
    BatchDepot& operator=(const BatchDepot&) = delete;
    ~BatchDepot() {
        for (auto& segment : segments_)
            delete[] segment.load(std::memory_order_relaxed);  // all is quiet by now
    }

    /// Makes `count` more batches, empty. False: no memory.
    [[nodiscard]] bool add_batches(std::uint32_t count) noexcept {
        for (; count != 0; --count) {
            Batch* batch = make_batch();
            if (batch == nullptr)
                return false;
            give_empty(batch);
        }
        return true;
    }
    /// One more, empty and the caller's. Null: no memory.
    [[nodiscard]] Batch* make_batch() noexcept {
        // A number each; it orders nothing.
        const std::uint32_t index = made_.fetch_add(1, std::memory_order_relaxed);
        Batch* batch = place(index);
        if (batch != nullptr)  // else the number is lost, nothing else
            batch->index = index;
        return batch;
    }

    [[nodiscard]] Batch* take_full() noexcept {
        return take(full_);
    }
    [[nodiscard]] Batch* take_empty() noexcept {
        return take(empty_);
    }
    void give_full(Batch* batch) noexcept {
        full_.push(batch->index, links());
    }
    void give_empty(Batch* batch) noexcept {
        empty_.push(batch->index, links());
    }

private:
    // Segment k holds first_segment << k batches; 25 of them number more than any index.
    static constexpr std::uint32_t first_segment = 16;
    static constexpr std::size_t segment_count = 25;

    struct Place {
        std::size_t segment;
        std::uint32_t offset;
    };
    static constexpr Place place_of(std::uint32_t index) noexcept {
        const auto segment = static_cast<std::uint32_t>(std::bit_width(index / first_segment + 1) - 1);
        // bit_width of at least 1 is at least 1, which the analyzer does not know.
        // NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift)
        return {segment, index - first_segment * ((std::uint32_t{1} << segment) - 1)};
    }

    Batch* place(std::uint32_t index) noexcept {
        const Place at = place_of(index);
        if (at.segment >= segment_count)
            return nullptr;
        auto& segment = segments_[at.segment];
        Batch* batches = segment.load(std::memory_order_acquire);  // pairs with the release of the CAS below
        if (batches == nullptr) {
            std::unique_ptr<Batch[]> fresh(new (std::nothrow)
                                               Batch[std::size_t{first_segment} << at.segment]);
            if (fresh == nullptr)
                return nullptr;
            // release: pairs with the acquire above and below; acquire on failure: another thread's segment.
            if (segment.compare_exchange_strong(batches, fresh.get(), std::memory_order_acq_rel,
                                                std::memory_order_acquire)) {
                batches = fresh.release();
            }
        }
        return batches + at.offset;
    }

    Batch& at(std::uint32_t index) noexcept {
        const Place where = place_of(index);
        // relaxed: whoever holds an index got it through a stack's acquire, after the segment was published.
        return segments_[where.segment].load(std::memory_order_relaxed)[where.offset];
    }
    Batch* take(sync::TaggedStack& stack) noexcept {
        const auto index = stack.pop(links());
        return index ? &at(*index) : nullptr;
    }

    sync::TaggedStack full_;
    sync::TaggedStack empty_;
    sync::atomic<std::uint32_t> made_{0};
    std::array<sync::atomic<Batch*>, segment_count> segments_{};
};

}  // namespace sluice::memory
