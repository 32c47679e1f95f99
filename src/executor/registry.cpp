#include "executor/registry.hpp"

#include <functional>
#include <new>
#include <utility>

namespace sluice::detail {

using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;
using sync::memory_order_seq_cst;

namespace {

constexpr std::size_t first_capacity = 64;
constexpr std::size_t chunk_cells = 34;  // with its link just below 8 KiB, where allocators waste least

std::size_t hash_of(std::string_view id) noexcept {
    return std::hash<std::string_view>{}(id);
}

/// A table is left when it is fuller than this. Found ids then lie 4 to 5 slots away, in the same line or the next.
constexpr std::size_t most_used(std::size_t capacity) noexcept {
    return capacity / 8 * 7;
}

constexpr std::uintptr_t tag_of(std::size_t hash) noexcept {
    return (hash >> 48U) & 15U;
}

}  // namespace

struct Registry::Chunk {
    Chunk* next = nullptr;
    ActorCell cells[chunk_cells];
};

Registry::~Registry() {
    static_assert(sizeof(Chunk) <= 8192 && sizeof(Chunk) + sizeof(ActorCell) > 8192);
    free_tables(table_.load(memory_order_relaxed));  // all is quiet
    while (chunks_ != nullptr) {
        Chunk* next = chunks_->next;
        chunks_->~Chunk();
        resource_->deallocate(chunks_, sizeof(Chunk), alignof(Chunk));
        chunks_ = next;
    }
}

void Registry::free_tables(Table* newest) noexcept {
    while (newest != nullptr) {
        Table* older = newest->older;
        resource_->deallocate(newest, sizeof(Table) + newest->capacity * sizeof(std::uintptr_t),
                              alignof(Table));
        newest = older;
    }
}

bool Registry::try_retain(ActorCell& cell) noexcept {
    std::uint32_t refs = cell.refs.load(memory_order_relaxed);  // the CAS decides
    while (refs != 0) {
        // acquire: pairs with the release in insert(), so that the cell's fields are seen as published.
        if (cell.refs.compare_exchange_weak(refs, refs + 1, memory_order_acquire, memory_order_relaxed))
            return true;
    }
    return false;
}

bool Registry::release_unless_last(ActorCell& cell) noexcept {
    // acquire, also of the failed CAS: pairs with the releases of those who dropped theirs. Who finds itself the last uses the
    // cell's link, which one of them has written.
    std::uint32_t refs = cell.refs.load(memory_order_acquire);
    while (refs > 1) {
        // release: what this thread did with the cell comes before what the last holder does, see Engine::drop_ref().
        if (cell.refs.compare_exchange_weak(refs, refs - 1, memory_order_release, memory_order_acquire))
            return true;
    }
    return false;
}

ActorCell* Registry::find(std::string_view id, sync::atomic<bool>& reading) const noexcept {
    const std::size_t hash = hash_of(id);
    ActorCell* found = nullptr;
    ActorCell* last_ones = nullptr;  // met and not wanted, and nobody else's any more; linked by `link`
    reading.store(true, memory_order_seq_cst);         // see the header
    Table* table = table_.load(memory_order_seq_cst);  // see the header; and the table is complete
    for (std::size_t i = hash; table != nullptr; ++i) {
        // acquire: pairs with the release in put().
        const std::uintptr_t slot = table->slots()[i & (table->capacity - 1)].load(memory_order_acquire);
        if (slot == 0)
            break;
        if (slot == tombstone || (slot & tag_mask) != tag_of(hash))
            continue;
        auto* cell = reinterpret_cast<ActorCell*>(slot & ~tag_mask);
        if (!try_retain(*cell))
            continue;
        // acquire: pairs with the release in remove(). A cell that was recycled for another id fails by its id.
        if (cell->hash == hash && cell->id == id &&
            cell->phase.load(memory_order_acquire) != ActorPhase::removed) {
            found = cell;
            break;
        }
        if (!release_unless_last(*cell))
            cell->link = std::exchange(last_ones, cell);
    }
    reading.store(false,
                  memory_order_release);  // pairs with the writer's look: no access to the table after this
    while (last_ones != nullptr)
        const ActorRef give_back(std::exchange(last_ones, last_ones->link));
    return found;
}

ActorCell* Registry::make_cell() {
    const platform::MutexLock lock(mutex_);
    // acquire: pairs with the release in recycle(). Only this function pops, under the mutex: no ABA.
    ActorCell* cell = free_.load(memory_order_acquire);
    while (cell != nullptr) {
        if (free_.compare_exchange_weak(cell, cell->link, memory_order_acquire, memory_order_acquire))
            return cell;
    }
    if (chunks_ == nullptr || fresh_in_chunk_ == 0) {
        auto* chunk = ::new (resource_->allocate(sizeof(Chunk), alignof(Chunk))) Chunk;
        chunk->next = chunks_;
        chunks_ = chunk;
        fresh_in_chunk_ = chunk_cells;
    }
    return &chunks_->cells[--fresh_in_chunk_];
}

void Registry::recycle(ActorCell* cell) noexcept {
    cell->link = free_.load(memory_order_relaxed);  // only linked to
    // release: pairs with the acquire in make_cell().
    while (!free_.compare_exchange_weak(cell->link, cell, memory_order_release, memory_order_relaxed)) {}
}

Registry::Table* Registry::make_table(std::size_t capacity) {
    void* memory = resource_->allocate(sizeof(Table) + capacity * sizeof(std::uintptr_t), alignof(Table));
    auto* table = ::new (memory) Table;
    table->capacity = capacity;
    for (std::size_t i = 0; i < capacity; ++i)
        ::new (static_cast<void*>(table->slots() + i)) sync::atomic<std::uintptr_t>(0);
    return table;
}

void Registry::grow_if_needed() {
    Table* old = table_.load(memory_order_relaxed);  // changed under the mutex only
    if (old != nullptr && used_ + 1 <= most_used(old->capacity))
        return;
    // Tombstones are left behind, and there is room for half as many again, so that removals do not bring the next growth at once.
    const std::size_t live = size_.load(memory_order_relaxed);
    std::size_t capacity = first_capacity;
    while (capacity < live + live / 2 + 1)
        capacity *= 2;
    Table* fresh = make_table(capacity);
    fresh->older = old;
    used_ = 0;
    for (std::size_t i = 0; old != nullptr && i < old->capacity; ++i) {
        const std::uintptr_t slot =
            old->slots()[i].load(memory_order_relaxed);  // written under the mutex only
        if (slot != 0 && slot != tombstone)
            put(*fresh, reinterpret_cast<ActorCell*>(slot & ~tag_mask));
    }
    table_.store(fresh, memory_order_seq_cst);  // before the writer's look at the marks; see the header
}

void Registry::put(Table& table, ActorCell* cell) noexcept {
    for (std::size_t i = cell->hash;; ++i) {
        auto& slot = table.slots()[i & (table.capacity - 1)];
        const std::uintptr_t value = slot.load(memory_order_relaxed);  // written under the mutex only
        if (value != 0 && value != tombstone)
            continue;
        if (value == 0)
            ++used_;
        // release: pairs with the acquire in find() and for_each(); the cell is complete.
        slot.store(reinterpret_cast<std::uintptr_t>(cell) | tag_of(cell->hash), memory_order_release);
        return;
    }
}

sync::atomic<std::uintptr_t>* Registry::slot_of(Table& table, std::string_view id,
                                                std::size_t hash) const noexcept {
    for (std::size_t i = hash;; ++i) {
        auto& slot = table.slots()[i & (table.capacity - 1)];
        const std::uintptr_t value = slot.load(memory_order_relaxed);  // written under the mutex only
        if (value == 0)
            return nullptr;
        if (value == tombstone)
            continue;
        if ((value & tag_mask) != tag_of(hash))
            continue;
        const auto* cell = reinterpret_cast<const ActorCell*>(value & ~tag_mask);
        if (cell->hash == hash && cell->id == id)
            return &slot;
    }
}

ActorCell* Registry::insert(ActorCell* cell, std::uint32_t refs) {
    const platform::MutexLock lock(mutex_);
    cell->hash = hash_of(cell->id);
    grow_if_needed();
    Table& table = *table_.load(memory_order_relaxed);  // changed under the mutex only
    if (auto* taken = slot_of(table, cell->id, cell->hash); taken != nullptr) {
        auto* existing = reinterpret_cast<ActorCell*>(taken->load(memory_order_relaxed) & ~tag_mask);
        (void)try_retain(*existing);  // cannot fail: the registry has a reference while the slot stands
        return existing;
    }
    cell->phase.store(ActorPhase::alive, memory_order_relaxed);  // published by the next store
    cell->refs.store(refs, memory_order_release);                // pairs with the acquire in try_retain()
    put(table, cell);
    size_.fetch_add(1, memory_order_relaxed);  // a count
    return nullptr;
}

ActorCell* Registry::take_out(sync::atomic<std::uintptr_t>& slot) noexcept {
    auto* cell = reinterpret_cast<ActorCell*>(slot.load(memory_order_relaxed) & ~tag_mask);
    // release: pairs with the acquires in find() and in submissions. From here on they are refused.
    cell->phase.store(ActorPhase::removed, memory_order_release);
    slot.store(tombstone, memory_order_relaxed);  // a reader that still sees the cell looks at its phase
    size_.fetch_sub(1, memory_order_relaxed);     // a count
    return cell;
}

ActorCell* Registry::remove(std::string_view id) noexcept {
    const platform::MutexLock lock(mutex_);
    Table* table = table_.load(memory_order_relaxed);  // changed under the mutex only
    auto* slot = table == nullptr ? nullptr : slot_of(*table, id, hash_of(id));
    return slot == nullptr ? nullptr : take_out(*slot);
}

ActorCell* Registry::remove_any() noexcept {
    const platform::MutexLock lock(mutex_);
    Table* table = table_.load(memory_order_relaxed);  // changed under the mutex only
    for (; table != nullptr && emptied_ < table->capacity; ++emptied_) {
        auto& slot = table->slots()[emptied_];
        const std::uintptr_t value = slot.load(memory_order_relaxed);  // written under the mutex only
        if (value != 0 && value != tombstone)
            return take_out(slot);
    }
    return nullptr;
}

}  // namespace sluice::detail
