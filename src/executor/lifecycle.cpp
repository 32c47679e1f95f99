// Start and end of an engine.
//
// Shutdown, step by step (E22):
//   1. Admission is closed: a bit in the word that numbers are taken from, so every submission is either refused or has a
//      number below the last one, and will arrive.
//   2. `cancel` only: the next turn takes back what was handed out and not started, and fails all that is queued, of every
//      registered actor. What arrives afterwards fails on arrival. `drain` goes on as ever.
//   3. After each turn the ended jobs are compared with the numbers taken. When they are equal nothing is under way, and
//      nothing can come: `over_`. All threads are woken and leave; the last one sets `ended_`.
//   4. The owner joins the threads. On one of them, also while that one's thread-local objects go, it detaches them all
//      instead, and the last one to leave does the rest, or the owner if all have left: destroys the contexts, closes the
//      node pool and drops the owner's reference. With the contexts go the hooks of the configuration.
// A submitter suspended between its number and its push holds up 3, and nothing else: its job was accepted, and ends.
//
// In a child of fork() none of this happens: the engine's copy is left alone, threads, contexts and memory (E35).
//
// References. The engine's memory stays until the last of: the owner, cells in use, threads' leases, nodes whose handles
// outlived the owner.

#include "core/normalise.hpp"
#include "executor/engine.hpp"
#include "executor/owned.hpp"
#include "memory/default_resource.hpp"
#include "platform/thread.hpp"
#include "platform/thread_start.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::detail {

namespace {

std::int64_t spin_budget_of(const EffectiveConfig& config) noexcept {
    return config.spin == SpinPolicy::park ? 0 : config.spin_budget.count();
}

Exception could_not_start(const EffectiveConfig& config, std::uint64_t started,
                          const std::system_error& error) {
    return Exception(
        Error({.code = ErrorCode::invalid_argument,
               .message = std::string("the system could not start a thread of the executor: ") + error.what(),
               .limit = {"pool_size", config.pool_size, started}}));
}

/// Tries the CPUs on a thread made for it, so that a wrong list is refused and not ignored.
void check_cpus(const EffectiveConfig& config) {
    if (config.cpus.empty())
        return;
    std::error_code problem;
    const std::vector<unsigned> cpus(config.cpus.begin(), config.cpus.end());
    try {
        platform::start_thread([&] { problem = platform::set_affinity(cpus); }).join();
    } catch (const std::system_error& error) {
        throw could_not_start(config, 0, error);
    }
    if (!problem)
        return;
    throw Exception(Error(
        {.code = ErrorCode::invalid_argument,
         .message = "cpus: the system does not give these CPUs to this process: " + problem.message()}));
}

}  // namespace

Engine::Engine(const EffectiveConfig& config)
    : config_(config),
      resource_(config.memory != nullptr ? config.memory : memory::default_resource()),
      spin_budget_ns_(spin_budget_of(config)),
      give_back_ns_(config.run_budget.count()),
      spins_always_(config.spin == SpinPolicy::busy),
      admission_(config.max_queued),
      pool_(resource_, config.fixed_capacity),
      registry_(memory::default_resource()),
      ingress_(*memory::default_resource(), 1),
      workers_(config.pool_size),
      permits_(config.heavy_permits),
      home_(*this),
      owned_(std::make_unique<Owned>(core::limits_of(config), static_cast<core::HeavyPermits&>(*this))) {
    all_workers_.reserve(config.pool_size);
    for (unsigned i = 0; i < config.pool_size; ++i)
        all_workers_.push_back(std::make_unique<Worker>(*this, i));
}

Engine::~Engine() {
    for (ThreadSlot* slot = slots_.load(); slot != nullptr;)
        delete std::exchange(slot, slot->next);
}

Engine* Engine::start(const EffectiveConfig& config) {
    check_cpus(config);
    platform::watch_forks();
    auto* engine = new Engine(config);
    try {
        engine->start_threads();
    } catch (...) {  // whatever it was: those that have started end again
        engine->shut_down(true);
        engine->over_.store(true);  // nothing was accepted yet
        engine->wake_all();
        engine->finish_on_other_thread();
        engine->release();  // the caller's, who gets none
        throw;
    }
    return engine;
}

void Engine::start_threads() {
    if (config_.reserve_nodes != 0 && !pool_.reserve(config_.reserve_nodes)) {
        throw Exception(Error({.code = ErrorCode::out_of_memory,
                               .message = "no memory for the nodes of reserve_nodes",
                               .limit = {"reserve_nodes", config_.reserve_nodes, pool_.allocated()}}));
    }
    // Here and not on the threads: without memory there is no executor, and a thread that comes late allocates nothing.
    std::vector<ThreadSlot*> slots(all_workers_.size() + 1);
    for (ThreadSlot*& slot : slots) {
        slot = lease_slot();
        if (slot == nullptr)
            throw std::bad_alloc();
    }
    // A thread is counted before it runs, and not if it does not.
    const auto start_thread = [this](std::thread& thread, auto main) {
        threads_.fetch_add(1);
        try {
            thread = platform::start_thread(std::move(main));
        } catch (...) {
            threads_.fetch_sub(1);
            throw;
        }
    };
    try {
        for (auto& worker : all_workers_)
            start_thread(worker->thread,
                         [self = worker.get(), slot = slots[worker->index()]] { self->main(*slot); });
        start_thread(home_.thread, [this, slot = slots.back()] { home_.main(*slot); });
    } catch (const std::system_error& error) {
        throw could_not_start(config_, threads_.load(), error);
    }
}

void Engine::release() noexcept {
    // acq_rel: what any holder did comes before the end.
    if (refs_.fetch_sub(1, sync::memory_order_acq_rel) == 1)
        delete this;
}

void Engine::shut_down(bool cancel) noexcept {
    if (forked())
        return;
    admission_.close();
    const std::uint8_t mode = cancel ? cancel_mode : drain_mode;
    std::uint8_t old = shutdown_mode_.load();
    while (old < mode &&
           !shutdown_mode_.compare_exchange_weak(old, mode)) {  // seq_cst: before this thread looks
    }
    make_somebody_look();
    home_.watch();  // also when all are inside jobs: what is queued is to end now
}

WaitStatus Engine::wait_ended(std::int64_t patience_ns) noexcept {
    if (forked())
        return WaitStatus::forked;
    if (this_thread_context().engine == this || shutdown_mode_.load() == 0)
        return WaitStatus::would_deadlock;
    const std::int64_t deadline = patience_ns < 0 ? 0 : sync::now_ns() + patience_ns;
    while (ended_.load() == 0) {
        if (patience_ns < 0) {
            sync::wait(ended_, 0);
            continue;
        }
        const std::int64_t left = deadline - sync::now_ns();
        if (left <= 0)
            return WaitStatus::timed_out;
        (void)sync::wait_for(ended_, 0, left);
    }
    return WaitStatus::done;
}

// The owner's end. On a thread of the engine nobody can be joined: the last thread to leave finishes (E22).
void Engine::close_owner() noexcept {
    if (forked())
        return;  // a copy of memory without its threads: nothing can be joined, and no user's object is ours to destroy
    shut_down(true);
    if (!on_own_thread()) {
        finish_on_other_thread();
        return;
    }
    for (auto& worker : all_workers_)
        worker->thread.detach();
    home_.thread.detach();
    if (left_by_one_.exchange(true))
        bury();  // all have left, this one too: its thread-local objects held the last handle
}

// By the threads' names for the system and not by the context, which a thread gives up before its thread-local objects go:
// one of these may hold the last handle. The names are given before there is a handle, and last until they are detached.
bool Engine::on_own_thread() const noexcept {
    const auto self = std::this_thread::get_id();
    return home_.thread.get_id() == self || std::ranges::any_of(all_workers_, [self](const auto& worker) {
               return worker->thread.get_id() == self;
           });
}

// The last thing that a thread of the engine does.
void Engine::leave_thread() noexcept {
    ThreadContext& here = this_thread_context();
    call_hook(config_.on_thread_stop, thread_name(here.worker));
    here = {};
    if (threads_.fetch_sub(1) != 1)
        return;  // seq_cst: all that the others did comes before
    ended_.store(1);
    sync::wake_all(ended_);
    // The engine is there still: an owner on another thread joins this one, and one on a thread of the engine leaves the
    // burial to whoever comes second here (seq_cst: with all that the first did).
    if (left_by_one_.exchange(true))
        bury();
}

void Engine::finish_on_other_thread() noexcept {
    for (auto& worker : all_workers_) {
        if (worker->thread.joinable())
            worker->thread.join();
    }
    if (home_.thread.joinable())
        home_.thread.join();
    bury();
}

// All threads have left, and all jobs have ended: contexts, nodes, and the owner's reference. Contexts' destructors run
// here, and may still remove actors: whoever takes one out of the registry, or finds its request, buries it.
void Engine::bury() noexcept {
    config_.on_thread_start = nullptr;  // nobody calls them any more, and what they captured is the user's
    config_.on_thread_stop = nullptr;
    (void)collect_reports();  // ends that no turn has come to: `over_` does not wait for them
    // Jobs have all ended, contexts may be left. No slot is used: nothing is given back to the pool.
    for (ActorCell* cell = left_cells_.exchange(nullptr); cell != nullptr;) {
        ActorCell& next = *std::exchange(cell, cell->link);
        drop_context(next);
        drop_ref(next);
    }
    dead_.store(
        true);  // seq_cst: a request pushed before is taken below, one pushed later is taken by who pushed it
    while (core::Actor* actor = owned_->core.take_released())
        bury(static_cast<ActorCell&>(*actor));
    while (ActorCell* cell = registry_.remove_any()) {
        bury(*cell);
        drop_ref(*cell);  // the registry's
    }
    bury_requests();
    while (owned_->retired != nullptr)
        recycle(*std::exchange(owned_->retired, owned_->retired->link));
    retain();  // for nodes whose handles are still about
    if (pool_.close([](JobNode& node) { return orphan(node); }))
        release();
    // The first release() cannot be the last: this one's reference is held. NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete)
    release();
}

}  // namespace sluice::detail
