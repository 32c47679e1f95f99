// The bounded pool: a fixed set of workers, priority lanes, and a bound on everything that waits.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sluice/detail/awaiting.hpp>
#include <sluice/detail/continuation.hpp>
#include <sluice/detail/job_handle.hpp>
#include <sluice/detail/payload.hpp>
#include <sluice/detail/pool_ref.hpp>
#include <sluice/detail/room_wait.hpp>
#include <sluice/error.hpp>
#include <sluice/job.hpp>
#include <sluice/pool_config.hpp>
#include <sluice/pool_snapshot.hpp>
#include <sluice/shutdown.hpp>

namespace sluice {

/// What an enqueuer may say about one item beside what it does (P4). The two ids are copied: nothing needs to outlive the
/// call. Together they may have `max_name_bytes`; longer ones are refused with `invalid_argument`.
struct ItemMeta {
    std::string_view call_id = {};   ///< to cancel this one by; empty: none
    std::string_view group_id = {};  ///< to cancel it with its group by; empty: none
    std::uint64_t bytes = 0;         ///< what it adds to the queued bytes
};

/// Where an item stands. It passes from queued to running once, or to cancelled or discarded, and never back (P6).
enum class ItemState : std::uint8_t {
    none,       ///< the handle is empty
    queued,     ///< waits for a worker
    running,    ///< a worker has it
    ran,        ///< ended by itself
    thrown,     ///< ended by an exception
    cancelled,  ///< withdrawn before it began
    discarded,  ///< the pool came to its end before it began
};

/// The state's name as it stands above.
[[nodiscard]] constexpr std::string_view to_string(ItemState state) noexcept {
    constexpr std::array<std::string_view, 7> names{"none",   "queued",    "running",  "ran",
                                                    "thrown", "cancelled", "discarded"};
    return names[static_cast<std::size_t>(state)];
}

/// A handle to one accepted item. Move-only; dropping it changes nothing for the item. It may outlive the pool, not the
/// memory resource that the pool was given. While it lives it keeps the item's slot (some 500 bytes), so keep handles of
/// ended items only as long as they are of use.
///
/// **Thread**: state() and cancel() any; moving and dropping one at a time.
class PoolItem {
public:
    PoolItem() noexcept = default;
    explicit PoolItem(detail::PoolItemRef item) noexcept : item_(std::move(item)) {}

    [[nodiscard]] bool valid() const noexcept {
        return item_.valid();
    }
    /// **Progress**: wait-free. **Cost**: O(1).
    [[nodiscard]] ItemState state() const noexcept {
        return item_.state();
    }
    /// Withdraws the item if it has not begun: its place and bytes are free, and its closure destroyed on this thread, when
    /// this returns true. False: it has begun or ended, or another one withdrew it. **Progress**: lock-free. **Cost**: O(1).
    bool cancel() noexcept {
        return item_.cancel();
    }

private:
    detail::PoolItemRef item_;
};

/// A job of the pool: called once, with nothing.
template <class F>
concept PoolJob = std::constructible_from<std::decay_t<F>, F> && std::invocable<std::decay_t<F>&&>;

/// An item that is enqueued once it is awaited: by `co_await`, by resume_on(), or by async_wait() of an Asio adapter. See
/// BoundedPool::enqueue_when_room().
///
/// **Thread**: one at a time, and it is moved only before it is awaited. A coroutine that is suspended here may be destroyed as
/// long as its item has not been admitted or refused. The item then leaves the line, or was admitted in the same moment.
template <class F>
class ItemWait : public detail::CoAwaitable<ItemWait<F>, Result<PoolItem>> {
public:
    ItemWait(ItemWait&& other) noexcept
        : pool_(other.pool_), lane_(other.lane_), meta_(other.meta_), stop_(std::move(other.stop_)) {
        take_job(other);
    }
    ItemWait& operator=(ItemWait&& other) noexcept {
        pool_ = other.pool_;
        lane_ = other.lane_;
        meta_ = other.meta_;
        stop_ = std::move(other.stop_);
        take_job(other);
        return *this;
    }
    ~ItemWait() = default;

private:
    friend class BoundedPool;
    template <class Source, class Post>
    friend class detail::Awaiter;
    template <class Net, class Source, class Handler, class Fallback>
    friend class detail::AsioWait;

    template <class G>
    ItemWait(detail::Pool& pool, PoolLane lane, const ItemMeta& meta, G&& job, std::stop_token stop)
        : pool_(&pool),
          lane_(lane),
          meta_(meta),
          job_(std::in_place, std::forward<G>(job)),
          stop_(std::move(stop)) {}

    void take_job(ItemWait& other) noexcept {  // a closure need not be assignable
        job_.reset();
        if (other.job_)
            job_.emplace(*std::move(other.job_));
        other.job_.reset();
    }

    // What Awaiter and AsioWait ask of what they wait for.
    [[nodiscard]] static bool ready() noexcept {
        return false;  // nothing was asked for yet
    }
    [[nodiscard]] bool valid() const noexcept {
        return job_.has_value();
    }
    [[nodiscard]] bool attach(detail::Continuation& continuation) noexcept {
        using Payload = detail::OneStep<F, void, void>;
        const detail::ItemRequest request{lane_,           &meta_,           &Payload::ops,
                                          sizeof(Payload), alignof(Payload), detail::JobHandle::forever};
        wait_.emplace(*pool_);
        void* const memory = wait_->reserve(request, stop_);
        if (memory == nullptr)
            return false;
        ::new (memory) Payload(*std::move(job_));
        job_.reset();
        return wait_->enter(request, std::move(stop_), continuation);
    }
    bool take_back_continuation() noexcept {
        return wait_->take_back();
    }
    [[nodiscard]] Result<PoolItem> take_ready() noexcept {
        if (!wait_)
            return Result<PoolItem>(std::unexpect, Error({.code = ErrorCode::no_state}));
        auto item = wait_->take();
        if (!item)
            return Result<PoolItem>(std::unexpect, std::move(item).error());
        return PoolItem(*std::move(item));
    }
    [[nodiscard]] Result<PoolItem> take_for_callback() noexcept {
        return take_ready();
    }
    [[nodiscard]] Result<PoolItem> take_given_up() noexcept {
        return take_ready();
    }

    detail::Pool* pool_;
    PoolLane lane_;
    ItemMeta meta_;
    std::optional<F> job_;
    std::stop_token stop_;
    std::optional<detail::RoomWait> wait_;
};

/// Runs jobs on a fixed set of workers. Lanes have priorities and bounds, so a burst in one neither starves another nor
/// fills the memory; who does not get in is told at once which bound was in the way. `docs/guide/bounded_pool.md`.
///
/// **Thread**: every member function may be called from any thread at any time, but destruction and moving, which need the
/// caller's own order. **When not to use it**: for work that belongs to keyed state (Executor); for tasks that wait for
/// each other inside the pool (all workers may come to wait); where a queue without a bound is wanted.
class SLUICE_API BoundedPool {
public:
    /// Starts the workers. **Errors**: throws Exception (`invalid_argument`, naming field, value and range; or the system's
    /// reason when a thread cannot be started; `out_of_memory`).
    explicit BoundedPool(const PoolConfig& config = {});
    /// As the constructor, with the error as a value.
    [[nodiscard]] static Result<BoundedPool> create(const PoolConfig& config = {});

    BoundedPool(BoundedPool&&) noexcept = default;
    BoundedPool& operator=(BoundedPool&&) noexcept = default;
    /// shutdown(Shutdown::cancel), then joins the workers (P9). From a job of this pool it does not wait: the workers end
    /// by themselves, the last one cleans up.
    ~BoundedPool() = default;

    /// Queues a job, or says at once why not (P2).
    ///
    /// **Progress**: lock-free; never waits for a worker. **Errors**: `queue_full`, with the bound in Error::limit():
    /// "total", "lane" or "bytes", asked in this order, or "waiting" when others wait for room in the lane and came first;
    /// `never_fits` when `meta.bytes` is more than the whole budget, full or not; `shut_down`; `invalid_argument` for a lane
    /// that the pool does not have, or ids that are too long; `out_of_memory`. Refused, the job is untouched. What
    /// constructing the closure throws comes through, and the item counts as discarded.
    /// **Cost**: O(lanes). **Memory**: none for a closure of up to `inline_payload_bytes`; a larger one costs one allocation
    /// and is counted.
    template <PoolJob F>
    [[nodiscard("drop it on purpose with post()")]] Result<PoolItem> enqueue(PoolLane lane,
                                                                             const ItemMeta& meta, F&& job) {
        return enqueue_within(0, lane, meta, std::forward<F>(job));
    }

    /// As enqueue(), but waits for room for up to `patience` (P13). Those who wait in a lane are admitted in the order in
    /// which they came, and before anyone who came later; a lane that is full holds up no other.
    ///
    /// **Progress**: blocks. **Errors**: as enqueue(), which it gives at once unless a bound is in the way; after the time
    /// the bound that was in the way. `would_deadlock` from a job of this pool: its worker would be missing.
    template <class Rep, class Period, PoolJob F>
    [[nodiscard]] Result<PoolItem> enqueue_for(std::chrono::duration<Rep, Period> patience, PoolLane lane,
                                               const ItemMeta& meta, F&& job) {
        return enqueue_within(detail::JobHandle::nanoseconds(patience), lane, meta, std::forward<F>(job));
    }

    /// `Result<PoolItem> item = co_await pool.enqueue_when_room(lane, meta, job, stop);`: enqueue_for() for a coroutine, which
    /// holds no thread meanwhile (P13). Those who wait in a lane are admitted in the order in which they came, threads and
    /// coroutines alike. Also `.resume_on(post)`, and sluice::async_wait() in a program of Asio. Nothing is
    /// asked for before it is awaited; the ids must stay until then. The job goes on its way when it is admitted, however
    /// late the coroutine goes on. There is no patience, for the pool has no timer: a timer of yours requests `stop`.
    ///
    /// **Thread**: the coroutine goes on where room was made, in a pool's worker before its next item, in a cancellation,
    /// in shutdown(), or where the stop was requested. Go on elsewhere with resume_on(), and do so for whatever takes
    /// long. It may be a job of the pool. It must not destroy the pool inside a call of the pool that told it.
    /// **Errors**: those of enqueue(), but `queue_full`; `cancelled` when the stop was requested before the item was
    /// admitted: then the job is destroyed without having been run, on the thread that let it go.
    /// **Memory**: none but a slot of the pool (some 500 bytes, used again) for each that waits. How many may is not bounded.
    template <PoolJob F>
        requires std::is_nothrow_move_constructible_v<std::decay_t<F>>
    [[nodiscard("an item is enqueued when it is awaited")]] ItemWait<std::decay_t<F>> enqueue_when_room(
        PoolLane lane, const ItemMeta& meta, F&& job, std::stop_token stop = {}) {
        return {*pool_, lane, meta, std::forward<F>(job), std::move(stop)};
    }

    /// As enqueue(), without a handle.
    template <PoolJob F>
    [[nodiscard]] Result<void> post(PoolLane lane, const ItemMeta& meta, F&& job) {
        auto item = enqueue(lane, meta, std::forward<F>(job));
        if (!item)
            return Result<void>(std::unexpect, std::move(item).error());
        return {};
    }

    /// Withdraws the first queued item with that call id, in the order of the lanes, then of arrival; false: none is queued.
    /// What runs is not touched. Place and bytes are free, and the closure destroyed on this thread, when it returns (P5).
    /// **Progress**: lock-free; stops nobody. **Cost**: O(queued).
    bool cancel_call(std::string_view call_id) noexcept;
    /// Withdraws all queued items of a group, and says how many. Otherwise as cancel_call().
    std::size_t cancel_group(std::string_view group_id) noexcept;
    /// Withdraws all queued items. Otherwise as cancel_call().
    std::size_t cancel_all_queued() noexcept;

    /// Waits until nothing is queued or running (P17); any number of threads may, and all return when the last item has
    /// ended. **Errors**: `would_deadlock` from a job of this pool; `timed_out`.
    [[nodiscard]] Result<void> wait_idle() {
        return wait_idle_ns(detail::JobHandle::forever);
    }
    template <class Rep, class Period>
    [[nodiscard]] Result<void> wait_idle_for(std::chrono::duration<Rep, Period> patience) {
        return wait_idle_ns(detail::JobHandle::nanoseconds(patience));
    }

    /// Starts shutting down; returns at once. Later items are refused with `shut_down`. What is queued is discarded, or,
    /// with Shutdown::drain, runs. May be called again, and turn a drain into a cancel.
    void shutdown(Shutdown mode) noexcept;
    /// Waits until all accepted items have ended and the workers have left, after shutdown(). **Errors**: `would_deadlock`
    /// from a job of this pool, and before shutdown(); `timed_out`.
    [[nodiscard]] Result<void> wait_shut_down() {
        return wait_ended_ns(detail::JobHandle::forever);
    }
    template <class Rep, class Period>
    [[nodiscard]] Result<void> wait_shut_down_for(std::chrono::duration<Rep, Period> patience) {
        return wait_ended_ns(detail::JobHandle::nanoseconds(patience));
    }

    /// The whole pool at one moment (P14, P16). **Progress**: lock-free, waits for nobody. **Cost**: O(lanes + workers), and
    /// what is cancelled at the front of a lane.
    [[nodiscard]] PoolSnapshot snapshot() const;
    /// The configuration in force.
    [[nodiscard]] const EffectivePoolConfig& config() const noexcept;
    /// The lane of that name.
    [[nodiscard]] std::optional<PoolLane> lane(std::string_view name) const noexcept;

private:
    explicit BoundedPool(detail::Pool* pool) noexcept : pool_(pool) {}
    [[nodiscard]] Result<void> wait_idle_ns(std::int64_t patience_ns);
    [[nodiscard]] Result<void> wait_ended_ns(std::int64_t patience_ns);

    template <class F>
    Result<PoolItem> enqueue_within(std::int64_t patience_ns, PoolLane lane, const ItemMeta& meta, F&& job) {
        using Payload = detail::OneStep<std::decay_t<F>, void, void>;
        detail::ItemDraft draft(*pool_,
                                {lane, &meta, &Payload::ops, sizeof(Payload), alignof(Payload), patience_ns});
        if (!draft.accepted())
            return Result<PoolItem>(std::unexpect, std::move(draft).refusal());
        ::new (draft.payload()) Payload(std::forward<F>(job));
        return PoolItem(draft.commit());
    }

    detail::PoolOwner pool_;
};

}  // namespace sluice
