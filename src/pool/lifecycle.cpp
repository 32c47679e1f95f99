// Start and end of a pool.
//
// Shutdown, step by step (P9):
//   1. The record is closed, by a change like any other: each item is either admitted before it or refused.
//   2. `cancel` only: what is queued is discarded on the closing thread. What was admitted and is not reachable yet is
//      discarded by its enqueuer, who looks for this after it has made the item reachable.
//   3. The change after which nothing is queued any more, one and only one, is seen by who made it (or by the closer): it
//      sets `over_` and wakes all workers, who leave when they find nothing to take.
//      Whoever waits for room is let go by the same change: it is closed to them too.
//   4. The owner joins them. On one of them it detaches them instead, and the last to leave does the rest.
//
// References. The pool's memory stays until the last of: the owner, handles that outlive it, handles that are just letting
// go.

#include "core/pool_normalise.hpp"
#include "memory/default_resource.hpp"
#include "platform/thread.hpp"
#include "platform/thread_start.hpp"
#include "pool/pool.hpp"

#include <sluice/detail/continuation.hpp>

#include <algorithm>
#include <bit>
#include <new>
#include <system_error>
#include <utility>

namespace sluice::detail {

using sync::memory_order_acq_rel;
using sync::memory_order_relaxed;

namespace {

constexpr std::int64_t short_slice_ns = 200'000;

thread_local Pool* own_pool = nullptr;

/// Tries the CPUs on a thread made for it, so that a wrong list is refused and not ignored.
void check_cpus(const EffectivePoolConfig& config) {
    if (config.cpus.empty())
        return;
    std::error_code problem;
    const std::vector<unsigned> cpus(config.cpus.begin(), config.cpus.end());
    platform::start_thread([&] { problem = platform::set_affinity(cpus); }).join();
    if (!problem)
        return;
    throw Exception(Error(
        {.code = ErrorCode::invalid_argument,
         .message = "cpus: the system does not give these CPUs to this process: " + problem.message()}));
}

}  // namespace

Pool*& pool_of_this_thread() noexcept {
    return own_pool;
}
bool Pool::on_own_thread() const noexcept {
    return own_pool == this;
}

Pool::Pool(const EffectivePoolConfig& config)
    : config_(config),
      limits_(core::limits_of(config)),
      record_words_(limits_.words()),
      resource_(config.memory != nullptr ? config.memory : memory::default_resource()),
      spin_budget_ns_(config.spin == SpinPolicy::park ? 0 : config.spin_budget.count()),
      spins_always_(config.spin == SpinPolicy::busy),
      slots_(config.max_queued + config.workers, *resource_, this),
      ledger_(0) {
    for (std::uint32_t i = 0; i < limits_.lanes; ++i) {
        // More than the total never come together.
        lanes_.push_back(std::make_unique<Lane>(i, std::min(limits_.lane[i], limits_.total), *resource_));
        lanes_[i]->max_wait_ns = config_.lanes[i].max_wait.count();
        if (lanes_[i]->max_wait_ns > 0)
            aging_lanes_ |= 1U << i;
    }
    for (std::uint32_t k = 0; k < limits_.kinds; ++k) {
        const EffectiveWorkerKind& kind = config_.kinds[k];
        kinds_.push_back(kind.workers == 0 ? nullptr : std::make_unique<PoolKind>(kind.lanes, kind.workers));
        for (std::uint32_t member = 0; member < kind.workers; ++member) {
            const auto index = static_cast<std::uint32_t>(workers_.size());
            workers_.push_back(std::make_unique<PoolWorker>(*this, index, k, member));
        }
        for (std::uint32_t i = 0; kind.workers != 0 && i < limits_.lanes; ++i) {
            if ((kind.lanes >> i & 1U) != 0)
                lanes_[i]->kinds.push_back(static_cast<std::uint8_t>(k));
        }
    }
    for (std::uint32_t k = 0; k < limits_.kinds; ++k) {
        const auto covers = [&](const auto& other) {
            return other != nullptr && other->lanes != config_.kinds[k].lanes &&
                   (config_.kinds[k].lanes & ~other->lanes) == 0;
        };
        if (kinds_[k] != nullptr)
            kinds_[k]->may_spin = std::ranges::none_of(kinds_, covers);
    }
    // The most special kind is woken first, so that those who can do more stay free for what only they can do.
    for (auto& lane : lanes_) {
        std::ranges::sort(lane->kinds, {}, [this](std::uint8_t kind) {
            return std::pair(std::popcount(kinds_[kind]->lanes), kind);
        });
    }
}

Pool::~Pool() = default;

Pool* Pool::start(const EffectivePoolConfig& config) {
    Pool* pool = nullptr;
    std::uint64_t started = 0;
    try {
        check_cpus(config);
        pool = new Pool(config);
        pool->start_threads();
        return pool;
    } catch (...) {  // whatever it was: those that have started end again
        if (pool != nullptr) {
            started = pool->threads_.load();
            pool->shut_down(Shutdown::cancel);
            pool->finish_on_other_thread();
        }
        try {
            throw;
        } catch (const std::system_error& error) {
            throw Exception(Error(
                {.code = ErrorCode::invalid_argument,
                 .message = std::string("the system could not start a worker of the pool: ") + error.what(),
                 .limit = {"workers", config.workers, started}}));
        }
    }
}

// A thread is counted before it runs, and not if it does not.
void Pool::start_threads() {
    for (auto& worker : workers_) {
        threads_.fetch_add(1);
        try {
            worker->thread = platform::start_thread([self = worker.get()] { self->main(); });
        } catch (...) {
            threads_.fetch_sub(1);
            throw;
        }
    }
}

void Pool::release() noexcept {
    // acq_rel: what any holder did comes before the end.
    if (refs_.fetch_sub(1, memory_order_acq_rel) == 1)
        delete this;
}

void Pool::shut_down(Shutdown mode) noexcept {
    const ContinuationsHeld held;  // coroutines that wait for room are told, and go on, when all is done here
    PoolSlot* slot = slots_.take();
    while (slot == nullptr) {  // no memory: some item's slot will be free again
        platform::yield();
        slot = slots_.take();
    }
    core::PoolRecord record;
    change(*slot, record, [](core::PoolRecord& r) { r.close(); });
    slots_.give(*slot);
    if (mode == Shutdown::cancel) {
        discarding_.store(true);  // seq_cst: before the lanes are looked through, see commit()
        discard_all();
    }
    left_queue(record);
    ended();
}

// The word first: a worker on its way to sleep looks at it after it has said so.
void Pool::end_threads() noexcept {
    over_.store(1);
    for (auto& kind : kinds_) {
        while (kind != nullptr && kind->lookout.wake_another()) {}
    }
}

std::string Pool::thread_name(const PoolWorker& worker) const {
    return config_.thread_name_prefix + "-w" + std::to_string(worker.index());
}

void Pool::enter_thread(PoolWorker& worker) noexcept {
    memory::prepare_thread();
    own_pool = this;
    const std::string name = thread_name(worker);
    platform::set_thread_name(name);
    if (!config_.cpus.empty()) {
        const std::vector<unsigned> cpus(config_.cpus.begin(), config_.cpus.end());
        (void)platform::set_affinity(cpus);  // start() has checked them
    }
    if (config_.short_time_slice)
        (void)platform::set_short_time_slice(short_slice_ns);
    call_hook(config_.on_thread_start, name);
}

// The user's: what it throws ends here, and is counted.
void Pool::call_hook(const ThreadHook& hook, const std::string& name) noexcept {
    if (!hook)
        return;
    try {
        hook(name);
    } catch (...) {
        callbacks_threw_.fetch_add(1, memory_order_relaxed);  // a count
    }
}

void Pool::leave_thread(PoolWorker& worker) noexcept {
    call_hook(config_.on_thread_stop, thread_name(worker));
    own_pool = nullptr;
    if (threads_.fetch_sub(1) != 1)
        return;  // seq_cst: all that the others did comes before
    const bool owner_left = owner_left_.load();
    ended_.store(1);
    sync::wake_all(
        ended_);  // touches no more than the address: a waiting owner may be through with us already
    if (owner_left)
        bury();
}

void Pool::close_owner() noexcept {
    shut_down(Shutdown::cancel);
    if (!on_own_thread()) {
        finish_on_other_thread();
        return;
    }
    owner_left_.store(true);  // seq_cst: before this thread leaves, so the last one to leave sees it
    for (auto& worker : workers_)
        worker->thread.detach();
}

void Pool::finish_on_other_thread() noexcept {
    for (auto& worker : workers_) {
        if (worker->thread.joinable())
            worker->thread.join();
    }
    bury();
}

// All workers have left and all items have ended. Handles that are still about keep the memory.
void Pool::bury() noexcept {
    while (inside_line_.load() != 0)
        platform::yield();  // they have been told, and are on their way out
    slots_.for_each([this](PoolSlot& slot) {
        retain();  // before the mark: the handle may let go right after it
        // acq_rel: partner of drop_handle(); one of the two comes second.
        const core::ItemWord word{slot.word.fetch_or(core::ItemWord::orphan_bit, memory_order_acq_rel)};
        if (word.phase() == Phase::free || word.dropped())
            release();
    });
    release();
}

}  // namespace sluice::detail
