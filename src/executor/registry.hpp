#pragma once

// The registered actors by id: look-ups from any thread without waiting, registrations and removals one at a time.
//
// Roles. Reader: any thread; lock-free. Writer: whoever registers or removes, under `mutex_`, which no path of a job
// meets. Recycler: the role holder (or a late handle) pushes free cells without the mutex.
//
// Encoding. A slot is a cell's address with 4 bits of its hash in the low bits, 0 when empty, `tombstone` when removed.
// A table is never more than 7/8 full, tombstones included, so a probe ends. Tables are replaced, never changed in
// size. A replaced table is freed by a later writer that sees every thread's `reading` mark down.
//
// Reading marks (Dekker). Reader: mark up, then load the table. Writer: publish the new table, then look at the marks.
// Both seq_cst, so a reader whose mark the writer did not see up loads the new table.
//
// Under its mark a reader gives no last reference back: what follows may be the user's code (the first cause of a fatal
// actor goes with its cell), which may look up another actor, and so take the mark down.
//
// Why a reader of an old table is right: what it does not find was inserted after it loaded the table, so the look-up
// may be said to have come first; what it finds was removed or recycled is told by `refs` and `phase` of the cell.

#include "executor/actor_cell.hpp"
#include "platform/mutex.hpp"
#include "sync/atomic.hpp"

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <utility>

namespace sluice::detail {

class Registry {
public:
    explicit Registry(std::pmr::memory_resource* resource) noexcept : resource_(resource) {}
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;
    /// Frees all cells and tables. No reference may exist any more.
    ~Registry();

    /// The registered cell of that id with a reference taken, or null. `reading` is the calling thread's own mark.
    /// **Progress**: lock-free.
    [[nodiscard]] ActorCell* find(std::string_view id, sync::atomic<bool>& reading) const noexcept;

    /// A cell that nobody else sees, for insert() or recycle(). Throws std::bad_alloc.
    [[nodiscard]] ActorCell* make_cell();

    /// Publishes `cell` under its id with `refs` references, the registry's among them, unless the id is taken: then
    /// the cell that has it is returned, with a reference taken, and `cell` is still the caller's. Null: inserted.
    /// Throws std::bad_alloc, with nothing changed. **Progress**: may block on other writers.
    [[nodiscard]] ActorCell* insert(ActorCell* cell, std::uint32_t refs);

    /// Takes `id` out and marks its cell removed. The registry's reference passes to the caller. Null: no such id.
    /// **Progress**: may block on other writers.
    [[nodiscard]] ActorCell* remove(std::string_view id) noexcept;

    /// As remove(), of any that is registered; none may be inserted any more. Null: none is left.
    [[nodiscard]] ActorCell* remove_any() noexcept;

    /// Takes back a cell that nobody refers to. **Thread**: any. **Progress**: lock-free.
    void recycle(ActorCell* cell) noexcept;

    /// Calls `visit` with each registered cell and a reference taken, which passes to it. **Progress**: lock-free.
    template <class Visit>
    void for_each(sync::atomic<bool>& reading, Visit&& visit) const;

    /// Frees replaced tables if `quiet()`, asked under the mutex, finds every reading mark down.
    template <class Quiet>
    void reclaim(Quiet&& quiet);

    /// Registered actors, by a count.
    [[nodiscard]] std::uint64_t size() const noexcept {
        return size_.load(sync::memory_order_relaxed);
    }  // a count

    /// Takes a reference on a cell unless it has none any more. **Progress**: lock-free.
    [[nodiscard]] static bool try_retain(ActorCell& cell) noexcept;
    /// Gives one back unless it is the last. False: it is, and so still the caller's, and the cell in no list.
    /// **Progress**: lock-free.
    [[nodiscard]] static bool release_unless_last(ActorCell& cell) noexcept;

private:
    struct Table;
    struct Chunk;
    static constexpr std::uintptr_t tag_mask = 15;
    static constexpr std::uintptr_t tombstone = 1;  // no cell lives at address 0

    [[nodiscard]] Table* make_table(std::size_t capacity);
    void free_tables(Table* newest) noexcept;
    void grow_if_needed() SLUICE_REQUIRES(mutex_);
    void put(Table& table, ActorCell* cell) noexcept SLUICE_REQUIRES(mutex_);
    [[nodiscard]] ActorCell* take_out(sync::atomic<std::uintptr_t>& slot) noexcept SLUICE_REQUIRES(mutex_);
    [[nodiscard]] sync::atomic<std::uintptr_t>* slot_of(Table& table, std::string_view id,
                                                        std::size_t hash) const noexcept
        SLUICE_REQUIRES(mutex_);

    std::pmr::memory_resource* resource_;
    platform::Mutex mutex_;  // registrations and removals only; see tests/tidy/locks.txt
    sync::atomic<Table*> table_{nullptr};
    std::size_t used_ SLUICE_GUARDED_BY(mutex_) = 0;  // slots with a cell or a tombstone
    sync::atomic<std::uint64_t> size_{0};
    sync::atomic<ActorCell*> free_{nullptr};  // pushed by anybody, popped under mutex_ (so without ABA)
    Chunk* chunks_ SLUICE_GUARDED_BY(mutex_) = nullptr;
    std::size_t emptied_ SLUICE_GUARDED_BY(mutex_) = 0;  // places that remove_any() has passed
    std::size_t fresh_in_chunk_ SLUICE_GUARDED_BY(mutex_) =
        0;  // cells of the newest chunk that were never used
};

struct Registry::Table {
    Table* older = nullptr;
    std::size_t capacity = 0;
    [[nodiscard]] sync::atomic<std::uintptr_t>* slots() noexcept {
        return reinterpret_cast<sync::atomic<std::uintptr_t>*>(this + 1);
    }
};

template <class Quiet>
void Registry::reclaim(Quiet&& quiet) {
    const platform::MutexLock lock(mutex_);
    Table* table = table_.load(sync::memory_order_relaxed);  // changed under the mutex only
    if (table != nullptr && table->older != nullptr && quiet())
        free_tables(std::exchange(table->older, nullptr));
}

template <class Visit>
void Registry::for_each(sync::atomic<bool>& reading, Visit&& visit) const {
    reading.store(true, sync::memory_order_seq_cst);         // see above
    Table* table = table_.load(sync::memory_order_seq_cst);  // see above; and the table is complete
    for (std::size_t i = 0; table != nullptr && i < table->capacity; ++i) {
        // acquire: pairs with the release in put().
        const std::uintptr_t slot = table->slots()[i].load(sync::memory_order_acquire);
        auto* cell = reinterpret_cast<ActorCell*>(slot & ~tag_mask);
        if (cell != nullptr && try_retain(*cell))
            visit(cell);
    }
    reading.store(false, sync::memory_order_release);  // pairs with the writer's look: no access after this
}

}  // namespace sluice::detail
