// The public surface, in terms of the pool.

#include "core/pool_normalise.hpp"
#include "pool/pool.hpp"

#include <sluice/bounded_pool.hpp>

namespace sluice {

namespace {

detail::Pool* start(const PoolConfig& config) {
    auto effective = core::normalise(config);
    if (!effective)
        throw Exception(Error({.code = ErrorCode::invalid_argument, .message = effective.error().message()}));
    try {
        return detail::Pool::start(*effective);
    } catch (const std::bad_alloc&) {
        throw Exception(Error({.code = ErrorCode::out_of_memory, .message = "no memory for the pool"}));
    }
}

Result<void> result_of(detail::WaitStatus status, std::string_view late, std::string_view inside) {
    switch (status) {
        case detail::WaitStatus::done:
            return {};
        case detail::WaitStatus::timed_out:
            return Result<void>(std::unexpect,
                                Error({.code = ErrorCode::timed_out, .message = std::string(late)}));
        default:
            return Result<void>(std::unexpect,
                                Error({.code = ErrorCode::would_deadlock, .message = std::string(inside)}));
    }
}

}  // namespace

namespace detail {

ItemState PoolItemRef::state() const noexcept {
    if (slot_ == nullptr)
        return ItemState::none;
    switch (slot_->load().phase()) {
        case core::ItemPhase::free:
            return ItemState::none;  // not while a handle is about
        case core::ItemPhase::drafted:
        case core::ItemPhase::queued:
            return ItemState::queued;
        case core::ItemPhase::running:
            return ItemState::running;
        case core::ItemPhase::ran:
            return ItemState::ran;
        case core::ItemPhase::thrown:
            return ItemState::thrown;
        case core::ItemPhase::cancelled:
            return ItemState::cancelled;
        case core::ItemPhase::discarded:
            return ItemState::discarded;
    }
    return ItemState::none;
}

bool PoolItemRef::cancel() const noexcept {
    return slot_ != nullptr && slot_->pool->cancel(*slot_);
}
void PoolItemRef::release(PoolSlot* slot) noexcept {
    slot->pool->drop_handle(*slot);
}

ItemDraft::ItemDraft(Pool& pool, const ItemRequest& request)
    : pool_(pool), slot_(pool.admit(request, refusal_)) {
    if (slot_ != nullptr)
        payload_ = slot_->payload;
}
ItemDraft::~ItemDraft() {
    if (slot_ != nullptr)
        pool_.abandon(*slot_);
}
PoolItemRef ItemDraft::commit() noexcept {
    PoolSlot* slot = std::exchange(slot_, nullptr);
    pool_.commit(*slot);
    return PoolItemRef(slot);
}

void PoolOwner::end(Pool* pool) noexcept {
    pool->close_owner();
}

}  // namespace detail

BoundedPool::BoundedPool(const PoolConfig& config) : pool_(start(config)) {}

Result<BoundedPool> BoundedPool::create(const PoolConfig& config) {
    try {
        return BoundedPool(config);
    } catch (const Exception& refused) {
        return Result<BoundedPool>(std::unexpect, refused.error());
    } catch (const std::bad_alloc&) {
        return Result<BoundedPool>(std::unexpect, Error({.code = ErrorCode::out_of_memory}));
    }
}

bool BoundedPool::cancel_call(std::string_view call_id) noexcept {
    return pool_->cancel_wanted({.call = call_id, .group = {}}, 1) != 0;
}
std::size_t BoundedPool::cancel_group(std::string_view group_id) noexcept {
    return pool_->cancel_wanted({.call = {}, .group = group_id}, ~std::size_t{0});
}
std::size_t BoundedPool::cancel_all_queued() noexcept {
    return pool_->cancel_wanted({.call = {}, .group = {}, .all = true}, ~std::size_t{0});
}
void BoundedPool::shutdown(Shutdown mode) noexcept {
    pool_->shut_down(mode);
}
PoolSnapshot BoundedPool::snapshot() const {
    return pool_->snapshot();
}
const EffectivePoolConfig& BoundedPool::config() const noexcept {
    return pool_->config();
}

std::optional<PoolLane> BoundedPool::lane(std::string_view name) const noexcept {
    const auto& lanes = pool_->config().lanes;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        if (lanes[i].name == name)
            return PoolLane{static_cast<std::uint8_t>(i)};
    }
    return std::nullopt;
}

Result<void> BoundedPool::wait_idle_ns(std::int64_t patience_ns) {
    return result_of(pool_->wait_idle(patience_ns), "the pool was not idle in time",
                     "a job of the pool cannot wait for the pool to be idle");
}
Result<void> BoundedPool::wait_ended_ns(std::int64_t patience_ns) {
    return result_of(pool_->wait_ended(patience_ns), "the pool had not ended in time",
                     "the pool's end cannot be waited for by its own job, or before shutdown()");
}

}  // namespace sluice
