#pragma once

// The bounded pool behind a BoundedPool: the wiring between the record of what is admitted, the lanes, and the workers.
//
// Roles of threads
//   enqueuer   enqueue.cpp: is admitted by a change of the ledger, fills a slot, pushes it into its lane, calls a worker
//   worker     worker.cpp: claims an item by its slot's word, changes the ledger, runs it
//   canceller  cancel.cpp: as the worker, but destroys the closure; also whoever discards at the end
//   waiter     room.cpp: sleeps until there is room, room_wait.cpp: is a coroutine; waiting.cpp: until nothing is left to do
//   observer   snapshot.cpp: reads
//
// One item, step by step, and the word that decides each: *admitted* (ledger), *queued* (slot), *reachable* (cell of the
// lane), *running or cancelled or discarded* (slot), *out of the queue's bounds* (ledger), *ended* (slot).
//
// The invariant that keeps items moving: while a lane holds a living item, a worker that may run it looks, or is on its
// way to look, or all of them are inside jobs, after which each looks. Each file says where it keeps it.

#include "core/pool_record.hpp"
#include "platform/cheap_clock.hpp"
#include "pool/room_line.hpp"
#include "pool/slot.hpp"
#include "pool/slot_store.hpp"
#include "pool/worker.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/lane_queue.hpp"
#include "sync/ledger.hpp"

#include <sluice/bounded_pool.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::detail {

/// Which items of a lane a cancellation means.
struct CancelWanted {
    std::string_view call;
    std::string_view group;
    bool all = false;
};

class Pool {
public:
    /// Throws Exception.
    [[nodiscard]] static Pool* start(const EffectivePoolConfig& config);

    // enqueue.cpp
    [[nodiscard]] PoolSlot* admit(const ItemRequest& request, Error& refusal);
    void commit(PoolSlot& slot) noexcept;
    void abandon(PoolSlot& slot) noexcept;

    // cancel.cpp
    [[nodiscard]] bool cancel(PoolSlot& slot) noexcept;
    [[nodiscard]] std::size_t cancel_wanted(const CancelWanted& wanted, std::size_t most) noexcept;
    void drop_handle(PoolSlot& slot) noexcept;

    // waiting.cpp
    [[nodiscard]] WaitStatus wait_idle(std::int64_t patience_ns) noexcept;
    [[nodiscard]] WaitStatus wait_ended(std::int64_t patience_ns) noexcept;

    // lifecycle.cpp
    void shut_down(Shutdown mode) noexcept;
    void close_owner() noexcept;

    // snapshot.cpp
    [[nodiscard]] PoolSnapshot snapshot();

    [[nodiscard]] const EffectivePoolConfig& config() const noexcept {
        return config_;
    }

private:
    friend class PoolWorker;
    friend class RoomWait;
    using Verdict = core::Verdict;
    using Phase = core::ItemPhase;

    /// What a lane asks of the slots.
    struct Items {
        SlotStore& slots;
        [[nodiscard]] sync::atomic<std::uint64_t>& seat(std::uint32_t slot) const noexcept {
            return slots[slot].seat;
        }
        /// The word first: a queued life has no seat of an earlier one.
        [[nodiscard]] bool live(std::uint32_t slot, std::uint64_t seat) const noexcept {
            const PoolSlot& item = slots[slot];
            return item.load().queued() && item.seat.load(sync::memory_order_acquire) == seat;
        }
    };
    struct Lane {
        Lane(std::uint32_t index, std::uint32_t limit, std::pmr::memory_resource& resource)
            : queue(index, limit, resource) {}
        sync::LaneQueue queue;
        std::vector<std::uint8_t> kinds;  ///< that may run it; those with the fewest lanes first
        std::int64_t max_wait_ns = 0;
        /// Refusals by Verdict. Each lane has its own lines, so that a lane that is full slows down no other.
        alignas(sync::cache_line) std::array<sync::atomic<std::uint64_t>, 7> refused{};
    };

    explicit Pool(const EffectivePoolConfig& config);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // The ledger.
    [[nodiscard]] auto records() noexcept {
        return [this](std::uint32_t index) { return slots_[index].record.data(); };
    }
    template <class Step>
    void change(PoolSlot& slot, core::PoolRecord& record, Step&& step) noexcept {
        ledger_.change(records(), record_words_, record, slot.scratch, step);
    }
    [[nodiscard]] core::PoolRecord read_record() noexcept {
        core::PoolRecord record;
        static_cast<void>(ledger_.read(records(), record.words, record_words_));
        return record;
    }
    [[nodiscard]] Items items() noexcept {
        return {slots_};
    }

    // enqueue.cpp
    [[nodiscard]] bool out_of_range(const ItemRequest& request, Error& refusal);
    [[nodiscard]] PoolSlot* take_slot(const ItemRequest& request) noexcept;
    void fill(PoolSlot& slot, const ItemRequest& request) noexcept;
    [[nodiscard]] Error refusal_of(const ItemRequest& request, Verdict verdict,
                                   const core::PoolRecord& record);

    // cancel.cpp: how an item ends that does not run
    void withdraw(PoolSlot& slot, Phase phase) noexcept;
    [[nodiscard]] bool wanted_here(const PoolSlot& slot, const CancelWanted& wanted, std::uint64_t call,
                                   std::uint64_t group) const noexcept;
    void discard_all() noexcept;
    void tell_thrown(const PoolSlot& slot, std::exception_ptr thrown) noexcept;
    void settle(PoolSlot& slot, std::uint64_t step) noexcept;
    void free_slot(PoolSlot& slot) noexcept;
    void free_payload(PoolSlot& slot) noexcept;
    void take_apart(PoolSlot& slot) noexcept;

    // take.cpp: what a worker takes, and who is called for what is there
    [[nodiscard]] PoolSlot* take(std::uint32_t lanes, std::uint32_t kind) noexcept;
    [[nodiscard]] PoolSlot* take_overdue(std::uint32_t lanes, std::uint32_t kind) noexcept;
    [[nodiscard]] PoolSlot* take_from(std::uint32_t lane, std::uint32_t kind) noexcept;
    [[nodiscard]] bool anything_in(std::uint32_t lanes) noexcept;
    [[nodiscard]] bool anyone_looks_at(std::uint32_t lane) const noexcept;
    void call_for(std::uint32_t lane) noexcept;
    void call_for_all(std::uint32_t lanes) noexcept;

    // room.cpp
    [[nodiscard]] Verdict wait_for_room(PoolSlot& slot, const ItemRequest& request) noexcept;
    void serve_room() noexcept;
    [[nodiscard]] bool let_in(RoomWaiter& waiter, bool first) noexcept;

    // waiting.cpp
    void left_queue(const core::PoolRecord& record) noexcept;
    void ended() noexcept;
    [[nodiscard]] bool idle() noexcept;
    void announce_idle() noexcept;

    // lifecycle.cpp
    void start_threads();
    void enter_thread(PoolWorker& worker) noexcept;
    void leave_thread(PoolWorker& worker) noexcept;
    void call_hook(const ThreadHook& hook, const std::string& name) noexcept;
    void end_threads() noexcept;
    void finish_on_other_thread() noexcept;
    void bury() noexcept;
    void retain() noexcept {
        refs_.fetch_add(1, sync::memory_order_relaxed);  // from a reference that is held
    }
    void release() noexcept;
    [[nodiscard]] std::string thread_name(const PoolWorker& worker) const;
    [[nodiscard]] bool over() const noexcept {
        return over_.load() != 0;
    }
    [[nodiscard]] bool on_own_thread() const noexcept;

    // Constant after the start.
    const EffectivePoolConfig config_;
    const core::PoolLimits limits_;
    const std::size_t record_words_;
    std::pmr::memory_resource* const resource_;
    const std::int64_t spin_budget_ns_;
    const bool spins_always_;
    const platform::CheapClock clock_;
    std::uint32_t aging_lanes_ = 0;  ///< bit i: lane i has a longest wait
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::vector<std::unique_ptr<PoolKind>> kinds_;  ///< null: no workers
    std::vector<std::unique_ptr<PoolWorker>> workers_;

    SlotStore slots_;
    sync::Ledger ledger_;

    // Waiting for room.
    RoomLine room_;
    sync::atomic<std::uint32_t> inside_line_{0};  ///< those who wait, or are on their way out

    // Waiting for nothing to be left.
    alignas(sync::cache_line) sync::atomic<std::uint32_t> idle_waiters_{0};
    /// Bit 0..31: who came to wait; bit 32..63: how often nothing was left while somebody waited.
    sync::atomic<std::uint64_t> idle_word_{0};
    sync::atomic<std::uint32_t> idle_bell_{0};  ///< slept on

    // The end.
    alignas(sync::cache_line) sync::atomic<std::uint32_t> over_{0};  ///< closed, and nothing queued any more
    sync::atomic<bool> discarding_{false};
    sync::atomic<std::uint32_t> threads_{0};
    sync::atomic<std::uint32_t> ended_{0};  ///< slept on
    sync::atomic<bool> owner_left_{false};
    sync::atomic<std::uint64_t> refs_{1};

    sync::atomic<std::uint64_t> oversized_{0};
    sync::atomic<std::uint64_t> other_refusals_{0};
    sync::atomic<std::uint64_t> callbacks_threw_{0};
};

/// The pool whose worker this thread is, or null.
[[nodiscard]] Pool*& pool_of_this_thread() noexcept;

}  // namespace sluice::detail
