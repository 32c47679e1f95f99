#pragma once

// The engine behind an Executor: the wiring between the pure core, the lock-free parts and the threads.
//
// Roles of threads
//   submitter   any thread, inside submit.cpp: numbers a job and puts it into its own ingress lane
//   role holder one thread at a time, inside turn.cpp: owns `core_`, the consumer side of `ingress_` and of the workers'
//               run-end rings, the producer side of `run_queue_`, and may revoke claims
//   worker      worker.cpp: claims runs, executes jobs, reports run ends; under `lent` takes turns when out of work
//   home        home.cpp: the scheduler's thread; under `dedicated` it alone takes turns, under `lent` it watches
//   waiter      wait.cpp: a thread blocked on a completion
//   observer    snapshot.cpp: reads atomics only
//
// The invariant that keeps everything moving (docs/ARCHITECTURE.md, "Somebody looks"): whenever there is a job in the
// ingress, a run end not collected or a run not claimed, some thread is going to look, or all that could act are inside
// jobs. Each file says where it keeps it.

#include "core/scheduler.hpp"
#include "core/spin_history.hpp"
#include "core/words/waits_word.hpp"
#include "executor/actor_cell.hpp"
#include "executor/admission.hpp"
#include "executor/counters.hpp"
#include "executor/home.hpp"
#include "executor/job_node.hpp"
#include "executor/registry.hpp"
#include "executor/thread_slot.hpp"
#include "executor/worker.hpp"
#include "memory/node_pool.hpp"
#include "platform/cheap_clock.hpp"
#include "platform/process.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/ingress.hpp"
#include "sync/lookout.hpp"
#include "sync/permits.hpp"
#include "sync/run_queue.hpp"

#include <sluice/config.hpp>
#include <sluice/detail/submission.hpp>
#include <sluice/executor.hpp>
#include <sluice/snapshot.hpp>

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <vector>

namespace sluice::detail {

/// Where the calling thread stands with regard to engines; null fields outside of their threads.
struct ThreadContext {
    Engine* engine = nullptr;  ///< whose worker or home thread this is
    Worker* worker = nullptr;  ///< null on the home thread
    ActorCell* inside =
        nullptr;            ///< the actor of the run that the worker is in: its jobs, and what they destroy
    bool settling = false;  ///< inside aftermath.cpp: what is awaited there may stand behind in the same list
    core::SpinHistory looks = {};  ///< of this thread's waits for jobs, see wait.cpp
};
[[nodiscard]] ThreadContext& this_thread_context() noexcept;

/// The Error of a job, with its actor's id and its own name.
[[nodiscard]] Error error_of(const JobNode& node, ErrorCode code, std::exception_ptr exception);

class StopWatch;   // stop_watch.hpp
struct Aftermath;  // aftermath.hpp
struct WaitSlot;   // wait_board.hpp

class Engine final : private core::HeavyPermits {
public:
    static constexpr unsigned home_index = 0xFFFF;  ///< as holder of the role
    static constexpr std::uint8_t drain_mode = 1;
    static constexpr std::uint8_t cancel_mode = 2;

    /// Starts all threads. The caller gets a reference, and the owner's duty to close_owner(); the threads together have
    /// another. Throws Exception.
    [[nodiscard]] static Engine* start(const EffectiveConfig& config);
    /// One more reference, from one that is held. A reference keeps the memory, not the threads.
    void retain() noexcept {
        refs_.fetch_add(1, sync::memory_order_relaxed);
    }
    void release() noexcept;

    // submit.cpp
    struct Refused {
        ErrorCode code;
        LimitHit limit;
    };
    /// Takes a node and a number for a job, or says why not; `node` stays null then. **Progress**: lock-free.
    Refused draft(ActorCell& cell, const Request& request, ThreadSlot& slot, JobNode*& node) noexcept;
    /// What a job is made of, by address only until it has its number: see draft().
    struct DraftParts {
        JobNode* node = nullptr;
        JobNode* carrier = nullptr;  ///< for a stop token
        void* block = nullptr;       ///< for a closure and a result that are too large for the node
    };
    Refused gather(const Request& request, ThreadSlot& slot, DraftParts& parts) noexcept;
    void give_up(const DraftParts& parts, const Request& request, ThreadSlot& slot) noexcept;
    [[nodiscard]] Refused no_node() const noexcept;
    /// Puts a drafted job into the ingress and sees to it that somebody looks. **Progress**: lock-free.
    void publish(JobNode& node, ThreadSlot& slot) noexcept;
    /// Ends a drafted job whose closure could not be constructed: its number arrives without it.
    void abandon(JobNode& node, ThreadSlot& slot) noexcept;
    /// If nobody looks: wakes a parked thread.
    void make_somebody_look() noexcept;
    void add_stray(JobNode& node) noexcept;
    /// Counts a submission that was refused before a draft was made.
    void count_refusal(ErrorCode code) noexcept;
    [[nodiscard]] void* allocate_payload(std::size_t size, std::size_t alignment) noexcept;
    [[nodiscard]] void* allocate_callback(std::size_t size, std::size_t alignment) noexcept {
        counters_.oversized_callbacks.fetch_add(1);
        return allocate_payload(size, alignment);
    }
    void free_block(void* block, std::size_t size, std::size_t alignment) noexcept {
        resource_->deallocate(block, size, alignment);
    }

    // stop.cpp
    void push_stop(StopWatch& watch) noexcept;
    [[nodiscard]] bool may_start(JobNode& node, ThreadSlot& slot) noexcept;

    // thread_slot.cpp
    [[nodiscard]] ThreadSlot* lease_slot() noexcept;

    // registration.cpp
    [[nodiscard]] ActorCell* find(std::string_view id) noexcept;
    [[nodiscard]] ActorCell* make_cell(std::string_view id, const ContextType& type, std::uint32_t weight);
    [[nodiscard]] ActorCell* insert(ActorCell* cell);
    bool remove(std::string_view id) noexcept;
    void discard(ActorCell* cell) noexcept;
    void request(ActorCell& cell) noexcept;
    void recycle(ActorCell& cell) noexcept;
    void bury_requests() noexcept;
    void bury(ActorCell& cell) noexcept;
    [[nodiscard]] bool owned_reading() const noexcept;
    void drop_context(ActorCell& cell) noexcept;
    void drop_ref(ActorCell& cell) noexcept;
    void drop_ref_inside_turn(ActorCell& cell) noexcept;
    void retire(ActorCell& cell) noexcept;
    [[nodiscard]] std::vector<ActorEntry> actors();

    // wait.cpp
    [[nodiscard]] WaitStatus wait(JobNode& node, std::int64_t patience_ns) noexcept;
    [[nodiscard]] WaitStatus wait_inside_job(Worker& worker, ActorCell* source, JobNode& node,
                                             std::int64_t patience_ns) noexcept;
    [[nodiscard]] WaitStatus sleep_unless_blocked(JobNode& node, const WaitSlot& slot,
                                                  std::int64_t patience_ns) noexcept;
    [[nodiscard]] bool wait_begins(bool own, bool maintenance) noexcept;
    void wait_is_over(bool maintenance) noexcept;
    [[nodiscard]] bool ends_soon(const JobNode& node) noexcept;
    [[nodiscard]] WaitStatus sleep_on(JobNode& node, std::int64_t patience_ns) noexcept;

    // completion.cpp
    /// Ends a job: the outcome, then the waiter, then the node if nobody else holds it. The closure is gone already.
    void complete(JobNode& node, ThreadSlot& slot, ErrorCode outcome, Error error) noexcept;
    void fail(JobNode& node, ThreadSlot& slot, core::FailReason reason) noexcept;
    void free_node(JobNode& node, ThreadSlot& slot) noexcept;
    void free_payload(JobNode& node) noexcept;
    static void destroy_outcome(JobNode& node) noexcept;
    static void drop_handle(JobNode& node) noexcept;
    [[nodiscard]] static bool orphan(JobNode& node) noexcept;
    void left_actor_queue(const JobNode& node) noexcept {
        auto& cell = static_cast<ActorCell&>(*node.actor);
        // relaxed: a count, and the bound is kept by the CAS of who adds to it.
        if (config_.max_queued_per_actor != EffectiveConfig::no_limit)
            cell.queued.fetch_sub(1, sync::memory_order_relaxed);
        if (node.lane == Lane::heavy_init)
            cell.heavy_queued.fetch_sub(1);
    }
    void count_callback_that_threw() noexcept {
        counters_.callbacks_threw.fetch_add(1);
    }
    static void make_fatal(ActorCell& cell, std::exception_ptr cause) noexcept;

    // lifecycle.cpp
    void start_threads();
    void shut_down(bool cancel) noexcept;
    [[nodiscard]] WaitStatus wait_ended(std::int64_t patience_ns) noexcept;
    void close_owner() noexcept;
    [[nodiscard]] bool on_own_thread() const noexcept;
    void finish_on_other_thread() noexcept;
    void bury() noexcept;
    [[nodiscard]] bool dead() const noexcept {
        return dead_.load();
    }
    [[nodiscard]] bool reserve(std::size_t jobs) noexcept {
        return pool_.reserve(jobs);
    }

    // snapshot.cpp
    [[nodiscard]] Snapshot snapshot() noexcept;
    [[nodiscard]] std::vector<RunningMutation> running_mutations();
    [[nodiscard]] MutationState mutation_state(std::string_view actor, std::string_view request_id) noexcept;
    [[nodiscard]] ActorSnapshot actor_snapshot(const ActorCell& cell) const noexcept;

    /// Whether this is a child of the process that started the engine (E35): its threads are not here. What is asked of
    /// it is refused, and its memory is left alone. **Cost**: a load.
    [[nodiscard]] bool forked() const noexcept {
        return platform::forks() != forks_at_start_;
    }

    // submit.cpp: Batch
    struct OpenBatch {
        ThreadSlot* slot = nullptr;  ///< null: it holds nothing back
        std::uint32_t lease = 0;     ///< which lease of the slot it was opened on
    };
    [[nodiscard]] OpenBatch begin_batch() noexcept;
    void end_batch(const OpenBatch& batch) noexcept;
    /// Closes all that are open on a lease that ends.
    void end_batches(ThreadSlot& slot) noexcept;
    /// Makes up for the wake-ups that Batches held back.
    void wake_for_batches(ThreadSlot& slot) noexcept;

    [[nodiscard]] const EffectiveConfig& config() const noexcept {
        return config_;
    }
    [[nodiscard]] bool closed() const noexcept {
        return admission_.closed();
    }

private:
    friend class Worker;
    friend class Home;
    friend class SlotLease;

    explicit Engine(const EffectiveConfig& config);
    ~Engine();

    // What the threads ask (threads.cpp).
    void enter_thread(Worker* worker, ThreadSlot& slot) noexcept;
    void leave_thread() noexcept;
    void call_hook(const ThreadHook& hook, const std::string& name) noexcept;
    [[nodiscard]] bool workers_take_turns() const noexcept {
        return config_.policy == SchedulerPolicy::lent;
    }
    [[nodiscard]] bool over() const noexcept {
        return over_.load();
    }
    [[nodiscard]] bool turn_needed() const noexcept;
    [[nodiscard]] bool work_for_worker() const noexcept;
    [[nodiscard]] bool anything_to_watch() const noexcept;
    [[nodiscard]] std::uint32_t fair_share_of_runs() const noexcept;
    bool call_for_help() noexcept;
    void reported(Worker& worker) noexcept;
    void make_somebody_look_at_runs() noexcept;
    void wake_all() noexcept;
    [[nodiscard]] std::string thread_name(const Worker* worker) const;
    void stop_looking() noexcept;
    void start_looking() noexcept {
        workers_.start_looking();
    }

    // The scheduler's turn (turn.cpp).
    bool take_turn(unsigned who, ThreadSlot& slot,
                   std::span<const std::uint64_t> stalled_claims = {}) noexcept;
    bool turn(Aftermath& aftermath, std::span<const std::uint64_t> stalled_claims) noexcept;
    bool collect_reports() noexcept;
    bool serve_requests() noexcept;
    bool drain_ingress() noexcept;
    bool hand_out() noexcept;
    void recycle_retired() noexcept;
    void recall_everything() noexcept;
    void cancel_everything() noexcept;
    bool revoke_stalled(std::span<const std::uint64_t> claims) noexcept;
    void revoke(Worker& worker) noexcept;
    void apply(const RunReport& report) noexcept;
    void end_if_drained() noexcept;

    // aftermath.cpp
    void see_to(const Aftermath& aftermath, unsigned who, ThreadSlot& slot) noexcept;
    [[nodiscard]] bool anything_left() const noexcept;
    bool settle_what_is_left(ThreadSlot& slot) noexcept;
    void settle(core::Job* job, ActorCell* released, ThreadSlot& slot) noexcept;
    void end_unstarted(JobNode& node, ThreadSlot& slot) noexcept;

    // stop.cpp
    [[nodiscard]] static StopWatch* make_stop_watch(JobNode& node, JobNode& carrier) noexcept;
    void free_stop_watch(JobNode& node, ThreadSlot& slot) noexcept;
    [[nodiscard]] bool take_from_requester(JobNode& node, ThreadSlot& slot) noexcept;
    [[nodiscard]] bool serve_stops() noexcept;
    void withdraw_if_stopped(JobNode& node) noexcept;
    [[nodiscard]] bool end_overdue() noexcept;
    void show_next_expiry() noexcept;

    // snapshot.cpp
    [[nodiscard]] JobTotals totals(JobClass job_class) const noexcept;
    void find_oldest(std::int64_t now, Snapshot& result) const noexcept;
    [[nodiscard]] bool is_executing(const JobNode& node) const noexcept;
    [[nodiscard]] std::uint64_t jobs_that_left_the_queue() const noexcept;
    [[nodiscard]] std::uint64_t jobs_that_ended() const noexcept;

    // core::HeavyPermits
    [[nodiscard]] bool try_take() noexcept override {
        return permits_.try_take();
    }
    void give_back() noexcept override {
        permits_.give_back();
    }

    // Constant after the start.
    EffectiveConfig config_;  ///< but for the hooks: they go when the threads have left
    std::pmr::memory_resource* const resource_;
    const platform::CheapClock clock_;
    const std::int64_t spin_budget_ns_;
    const std::int64_t give_back_ns_;
    const bool spins_always_;
    const std::uint32_t forks_at_start_ = platform::forks();

    // Shared, each with its own protocol.
    sync::atomic<std::uint64_t> refs_{2};
    Admission admission_;
    SharedCounters counters_;
    memory::NodePool<JobNode> pool_;
    Registry registry_;
    sync::Ingress ingress_;
    sync::RunQueue run_queue_;
    sync::Lookout workers_;
    sync::Permits permits_;
    Home home_;
    std::vector<std::unique_ptr<Worker>> all_workers_;
    sync::atomic<ThreadSlot*> slots_{nullptr};    ///< push-only list
    sync::atomic<ActorCell*> requests_{nullptr};  ///< pushed by anybody, taken whole by the role holder
    sync::atomic<core::Job*> strays_{
        nullptr};  ///< accepted jobs that found no memory in the ingress; as requests_
    sync::atomic<StopWatch*> stops_{nullptr};      ///< stops that were requested; as requests_
    sync::atomic<std::uint8_t> shutdown_mode_{0};  ///< 0 none, 1 drain, 2 cancel; only rises
    sync::atomic<bool> over_{false};               ///< every accepted job has ended: threads leave
    sync::atomic<std::uint32_t> threads_{0};       ///< threads that have not left
    sync::atomic<std::uint32_t> ended_{0};         ///< 1: all threads have left; waited on
    sync::atomic<bool> dead_{false};               ///< nobody takes turns any more; see drop_ref()
    /// One of two has happened: the last thread left, or the owner went away on a thread of the engine. The second of the
    /// two buries.
    sync::atomic<bool> left_by_one_{false};
    sync::atomic<bool> spinning_{false};                      ///< a worker spins; at most one does
    sync::atomic<core::WaitsWord> waits_{core::WaitsWord{}};  ///< workers in a wait inside a job
    sync::atomic<core::Job*> left_jobs_{
        nullptr};  ///< left by home to be ended; as requests_, taken by a worker
    sync::atomic<ActorCell*> left_cells_{nullptr};  ///< left by home to be dropped; the same
    sync::atomic<std::uint32_t> aftermaths_{0};     ///< jobs and cells of past turns that are not settled

    // The role: 0, or the holder's index + 1. Taken by CAS (acquire), handed back by a seq_cst store.
    sync::CacheAligned<sync::atomic<std::uint32_t>> role_;

    // Owned by the role holder.
    struct Owned;
    std::unique_ptr<Owned> owned_;

    // Written by the role holder, read by anybody.
    sync::atomic<std::uint64_t> turns_{0};
    sync::atomic<std::int64_t> last_turn_at_{0};
    sync::atomic<std::uint64_t> undispatched_{0};
    sync::atomic<std::uint8_t> shutdown_served_{0};  ///< the shutdown_mode_ that turns have acted on
    sync::atomic<bool> more_to_hand_out_{false};     ///< the last turn stopped at its bound
    sync::atomic<bool> more_overdue_{false};         ///< the same for deadlines
    sync::atomic<std::int64_t> next_expiry_{
        core::Deadlines::never};  ///< when a turn is needed for a deadline
    sync::atomic<std::uint64_t> expected_in_flight_ns_{0};
};

}  // namespace sluice::detail
