// Job nodes: allocated in slabs, recycled in batches, never returned to the resource while the executor lives.
//
// Threads. Each thread that submits or frees owns a Cache (in its thread slot) and alone touches it. The depot,
// the slab list and the batch table are shared. `close()` runs when no thread takes nodes any more; threads may
// still give back nodes of handles that outlived the executor.
//
// Why batches of pointers. A node freed one by one across CPUs costs 150 ns whatever the allocator, a batch of 64
// costs as much once. An array of pointers can be prefetched; a linked list is a chain of cache misses. And an
// array lies outside the nodes: a thread that gives a node back after `close()` writes to no node memory.
//
// Invariant (batches). There are at least slabs + 3 * caches batches: all nodes fit into one full batch a slab, a
// cache holds at most two, and one more is in its hands during an exchange. So an empty batch is always to be had
// and giving a node back cannot fail.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <utility>

#include "memory/batch_depot.hpp"
#include "platform/cpu.hpp"
#include "platform/thread.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

namespace sluice::memory {

/// A pool of `Node`s. Node needs a default constructor; it is constructed once, with its slab.
template <class Node>
class NodePool {
public:
    static constexpr std::size_t slab_nodes = Batch::capacity;

    /// Memory for nodes comes from `resource`, which must be thread-safe; `fixed` forbids it after set-up.
    NodePool(std::pmr::memory_resource* resource, bool fixed) noexcept
        : resource_(resource), fixed_(fixed), promised_(fixed) {}
    NodePool(const NodePool&) = delete;
    NodePool& operator=(const NodePool&) = delete;

    /// Readies a cache for its thread. False: no memory. **Progress**: lock-free, but for the resource.
    [[nodiscard]] bool open(Cache& cache) noexcept {
        if (!depot_.add_batches(3))
            return false;
        cache.loaded = depot_.take_empty();
        cache.previous = depot_.take_empty();
        uncovered_.fetch_add(1);
        return cover_caches();
    }

    /// A node for this thread, or null: no memory, or none left of a fixed capacity.
    /// **Progress**: lock-free, but for the resource. **Cost**: a few ns; an exchange with the depot every 64.
    [[nodiscard]] Node* take(Cache& cache) noexcept {
        if (cache.loaded->count == 0 && !refill(cache))
            return nullptr;
        auto& batch = *cache.loaded;
        auto* node = static_cast<Node*>(batch.items[--batch.count]);
        look_ahead(cache);
        return node;
    }

    /// Takes a node back. **Progress**: lock-free. **Memory**: none; cannot fail.
    void give(Cache& cache, Node* node) noexcept {
        if (cache.loaded->count == Batch::capacity)
            make_room(cache);
        Batch& batch = *cache.loaded;
        batch.items[batch.count++] = node;
        prefetch_pointers(batch,
                          batch.count + pointers_in_a_line);  // whoever emptied the batch has read them
    }

    /// Allocates ahead: `nodes` more, beside what the caches may hold back, those of now and of later. False: no memory.
    [[nodiscard]] bool reserve(std::size_t nodes) noexcept {
        promised_.store(true);
        if (!cover_caches())
            return false;
        for (std::size_t have = 0; have < nodes; have += slab_nodes) {
            if (!add_slab())
                return false;
        }
        return true;
    }

    /// Nodes allocated so far.
    [[nodiscard]] std::uint64_t allocated() const noexcept {
        return slabs_allocated_.load(std::memory_order_relaxed) * slab_nodes;  // a count, it orders nothing
    }

    /// Visits every node there is, free ones too. **Thread**: any, before close(). **Progress**: wait-free.
    template <class Visit>
    void for_each(Visit&& visit) const {
        // acquire: pairs with the release in add_slab(), so the nodes are seen constructed.
        for (Slab* slab = slabs_.load(std::memory_order_acquire); slab != nullptr; slab = slab->next) {
            for (Node& node : slab->nodes)
                visit(node);
        }
    }

    /// Ends the pool. `orphan(node)` marks a node and says whether a handle still owns it. The memory goes back
    /// now, or with the last of those. Returns whether it went back now.
    template <class Orphan>
    [[nodiscard]] bool close(Orphan&& orphan) noexcept {
        closed_.store(true);
        while (growing_.load() != 0)
            platform::yield();  // a submitter that will be refused is just allocating
        std::int64_t live = 0;
        for_each([&](Node& node) { live += orphan(node) ? 1 : 0; });
        // acq_rel: pairs with release_late(); whoever brings the sum to zero sees what the others did.
        if (live_after_close_.fetch_add(live, std::memory_order_acq_rel) + live != 0)
            return false;
        free_slabs();
        return true;
    }

    /// A handle let go of a node that was marked by close(). True: it was the last, the memory is gone.
    [[nodiscard]] bool release_late() noexcept {
        if (live_after_close_.fetch_sub(1, std::memory_order_acq_rel) != 1)
            return false;  // pairs with itself, close()
        free_slabs();
        return true;
    }

private:
    struct Slab {
        Slab* next = nullptr;
        std::array<Node, slab_nodes> nodes{};
    };

    // Once nodes were promised, what a cache may hold back (two batches) must not lessen them: it gets as many of its own.
    // Dekker of open() and reserve(), seq_cst: a cache is counted, then the promise looked at; the promise is made, then the
    // count taken. So one of the two covers the cache.
    [[nodiscard]] bool cover_caches() noexcept {
        if (!promised_.load())
            return true;
        for (std::uint32_t caches = uncovered_.exchange(0); caches != 0; --caches) {
            if (!add_slab() || !add_slab()) {
                uncovered_.fetch_add(caches);  // if one of the two is there, it is more than was promised
                return false;
            }
        }
        return true;
    }

    // A node was written last by whoever ran its job, and its batch by whoever filled it. Both are asked for while the nodes
    // before are used; near the end of a batch, those of the next one.
    static constexpr std::uint32_t nodes_ahead = 6;
    static constexpr std::uint32_t pointers_in_a_line = sync::cache_line / sizeof(void*);
    /// Of a node: what its next user writes at once, as a small job does in executor/job_node.hpp.
    static constexpr std::size_t lines_ahead = sizeof(Node) > sync::cache_line ? 2 : 1;

    void look_ahead(Cache& cache) noexcept {
        const std::uint32_t left = cache.loaded->count;
        if (left == nodes_ahead + pointers_in_a_line - 1 && cache.previous->count == 0)
            read_ahead(cache);
        if (left >= nodes_ahead)
            prefetch(*cache.loaded, left - nodes_ahead);
        else if (cache.previous->count >= nodes_ahead)
            prefetch(*cache.previous, cache.previous->count - nodes_ahead + left);
    }
    static void prefetch(const Batch& batch, std::uint32_t index) noexcept {
        const auto* line = static_cast<const std::byte*>(batch.items[index]);
        for (std::size_t i = 0; i < lines_ahead; ++i)
            platform::prefetch_for_write(line + i * sync::cache_line);
        if (index >= pointers_in_a_line)
            prefetch_pointers(batch, index - pointers_in_a_line);
    }
    static void prefetch_pointers(const Batch& batch, std::uint32_t index) noexcept {
        if (index < Batch::capacity)
            platform::prefetch_for_write(static_cast<const void*>(&batch.items[index]));
    }
    /// The next full batch, before this one is used up.
    void read_ahead(Cache& cache) noexcept {
        Batch* full = depot_.take_full();
        if (full == nullptr)
            return;
        depot_.give_empty(cache.previous);
        cache.previous = full;
        for (std::uint32_t i = 0; i < 2 * pointers_in_a_line; i += pointers_in_a_line)
            prefetch_pointers(*full, Batch::capacity - 1 - i);
    }

    [[nodiscard]] bool refill(Cache& cache) noexcept {
        if (cache.previous->count != 0) {
            std::swap(cache.loaded, cache.previous);
            return true;
        }
        Batch* full = depot_.take_full();
        if (full == nullptr && !fixed_)
            full = make_full();  // not by way of the depot, where others would take it
        if (full == nullptr)
            return false;
        depot_.give_empty(cache.loaded);
        cache.loaded = full;
        return true;
    }

    void make_room(Cache& cache) noexcept {
        if (cache.previous->count == Batch::capacity) {
            depot_.give_full(cache.previous);
            cache.previous = depot_.take_empty();
        }
        std::swap(cache.loaded, cache.previous);
        if (cache.loaded->count == Batch::capacity)
            make_room(cache);
    }

    [[nodiscard]] bool add_slab() noexcept {
        Batch* batch = make_full();
        if (batch != nullptr)
            depot_.give_full(batch);
        return batch != nullptr;
    }

    /// A slab's nodes in a batch; null: no memory, or the pool is closed.
    [[nodiscard]] Batch* make_full() noexcept {
        // Dekker with close(): a thread that finds the pool open here is waited for there. seq_cst on both sides.
        growing_.fetch_add(1);
        Batch* batch = closed_.load() ? nullptr : make_full_while_open();
        growing_.fetch_sub(1);
        return batch;
    }

    [[nodiscard]] Batch* make_full_while_open() noexcept {
        Batch* batch = depot_.make_batch();
        if (batch == nullptr)
            return nullptr;
        Slab* slab = nullptr;
        try {
            slab = ::new (resource_->allocate(sizeof(Slab), alignof(Slab))) Slab;
        } catch (...) {
            depot_.give_empty(batch);
            return nullptr;
        }
        slab->next = slabs_.load(std::memory_order_relaxed);  // the CAS below publishes it
        while (!slabs_.compare_exchange_weak(slab->next, slab, std::memory_order_release,
                                             std::memory_order_relaxed)) {  // release: pairs with for_each()
        }
        slabs_allocated_.fetch_add(1, std::memory_order_relaxed);  // a count, it orders nothing
        for (Node& node : slab->nodes)
            batch->items[batch->count++] = &node;
        return batch;
    }

    void free_slabs() noexcept {
        // acquire: pairs with add_slab(); all is quiet by now.
        Slab* slab = slabs_.exchange(nullptr, std::memory_order_acquire);
        while (slab != nullptr) {
            Slab* next = slab->next;
            slab->~Slab();
            resource_->deallocate(slab, sizeof(Slab), alignof(Slab));
            slab = next;
        }
    }

    std::pmr::memory_resource* resource_;
    bool fixed_;
    sync::atomic<bool> promised_;  ///< nodes were reserved
    sync::atomic<std::uint32_t> uncovered_{
        0};  ///< caches that have no nodes of their own yet, should any be promised
    BatchDepot depot_;
    sync::atomic<Slab*> slabs_{nullptr};
    sync::atomic<std::uint64_t> slabs_allocated_{0};
    sync::atomic<std::int64_t> live_after_close_{0};
    sync::atomic<std::uint32_t> growing_{0};
    sync::atomic<bool> closed_{false};
};

}  // namespace sluice::memory
