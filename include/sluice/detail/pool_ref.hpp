// The seam between the typed interface of the pool and its compiled part: an item in two calls, with the closure
// constructed in the slot between them; the handle; the owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sluice/detail/export.hpp>
#include <sluice/detail/payload.hpp>
#include <sluice/error.hpp>
#include <sluice/pool_config.hpp>

namespace sluice {

struct ItemMeta;
enum class ItemState : std::uint8_t;

namespace detail {

class Pool;       // src/pool
struct PoolSlot;  // src/pool; a stable address while a handle exists

/// A handle's claim on its slot.
class SLUICE_API PoolItemRef {
public:
    PoolItemRef() noexcept = default;
    explicit PoolItemRef(PoolSlot* slot) noexcept : slot_(slot) {}
    PoolItemRef(PoolItemRef&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    PoolItemRef& operator=(PoolItemRef&& other) noexcept {
        if (this != &other) {
            drop();
            slot_ = std::exchange(other.slot_, nullptr);
        }
        return *this;
    }
    ~PoolItemRef() {
        drop();
    }
    [[nodiscard]] bool valid() const noexcept {
        return slot_ != nullptr;
    }
    [[nodiscard]] ItemState state() const noexcept;
    bool cancel() const noexcept;

private:
    void drop() noexcept {
        if (slot_ != nullptr)
            release(std::exchange(slot_, nullptr));
    }
    static void release(PoolSlot* slot) noexcept;

    PoolSlot* slot_ = nullptr;
};

/// What admission needs to know of an item.
struct ItemRequest {
    PoolLane lane;
    const ItemMeta* meta;
    const JobOps* ops;
    std::size_t size;
    std::size_t alignment;
    std::int64_t patience_ns;  ///< how long to wait for room; 0: not at all, negative: for ever
};

/// An item between its two calls: admitted, its closure not yet there.
class SLUICE_API ItemDraft {
public:
    /// Afterwards either accepted(), and commit() or destruction follows, or refusal() says why not and the caller's
    /// closure is untouched.
    ItemDraft(Pool& pool, const ItemRequest& request);
    ItemDraft(const ItemDraft&) = delete;
    ItemDraft& operator=(const ItemDraft&) = delete;
    /// Gives the place back if the closure could not be constructed.
    ~ItemDraft();

    [[nodiscard]] bool accepted() const noexcept {
        return slot_ != nullptr;
    }
    [[nodiscard]] Error refusal() && noexcept {
        return std::move(refusal_);
    }
    [[nodiscard]] void* payload() const noexcept {
        return payload_;
    }
    /// Queues the item and wakes a worker for it if none looks.
    [[nodiscard]] PoolItemRef commit() noexcept;

private:
    Pool& pool_;
    Error refusal_;  // before slot_: admission writes it
    PoolSlot* slot_ = nullptr;
    void* payload_ = nullptr;
};

/// The one owner of a running pool.
class SLUICE_API PoolOwner {
public:
    explicit PoolOwner(Pool* pool) noexcept : pool_(pool) {}
    PoolOwner(PoolOwner&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
    PoolOwner& operator=(PoolOwner&& other) noexcept {
        if (this != &other) {
            close();
            pool_ = std::exchange(other.pool_, nullptr);
        }
        return *this;
    }
    ~PoolOwner() {
        close();
    }
    [[nodiscard]] Pool& operator*() const noexcept {
        return *pool_;
    }
    [[nodiscard]] Pool* operator->() const noexcept {
        return pool_;
    }

private:
    void close() noexcept {
        // The pointer stays: jobs may still enqueue meanwhile, to be refused.
        if (pool_ != nullptr)
            end(pool_);
    }
    static void end(Pool* pool) noexcept;

    Pool* pool_;
};

}  // namespace detail
}  // namespace sluice
