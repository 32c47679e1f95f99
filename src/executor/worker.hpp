#pragma once

// One worker: the batch that it has claimed, and what others may see of it.
//
// Roles. The worker's own thread writes everything but the far ends of `reports` (the role holder takes them out) and of
// `claim` (the role holder may revoke what was not started). Observers read the atomics.

#include "core/effects.hpp"
#include "core/spin_history.hpp"
#include "executor/counters.hpp"
#include "executor/job_node.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/claim.hpp"
#include "sync/spsc_ring.hpp"

#include <cstdint>
#include <exception>
#include <thread>

namespace sluice::detail {

class Engine;
struct ActorCell;
struct ThreadContext;
struct ThreadSlot;

/// What a worker tells the scheduler, one record a run (not a job).
struct RunReport {
    enum class Kind : std::uint8_t {
        ended,       ///< the run is over; `end.rest` was not executed
        given_back,  ///< the run goes on; `end.rest` was not started and goes back
        returned,    ///< a whole run that was not started
    };
    core::RunEnd end;
    Kind kind = Kind::ended;
};

/// As many as Config::pool_size allows.
inline constexpr std::size_t max_workers = 256;

class Worker {
public:
    /// Reports that can be outstanding: every unit in flight ends once (512 in the backlog and 256 workers at most),
    /// and a batch of 64 that is handed back adds one a run.
    static constexpr std::size_t report_capacity = 1024;
    /// Jobs claimed at once: a run-ahead batch; the backlog's 30 us bound it long before.
    static constexpr std::uint32_t batch_jobs_max = 64;

    Worker(Engine& engine, unsigned index) noexcept : engine_(engine), index_(index) {}
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// The thread's function: claim, run, report, take turns, park; until the engine ends.
    void main(ThreadSlot& slot) noexcept;

    /// The job inside the worker, if any: its node, and which of the node's lives.
    struct Executing {
        const JobNode* node = nullptr;
        std::uint32_t life = 0;
    };
    /// **Thread**: any. **Progress**: lock-free: it looks again only when the worker has gone on.
    [[nodiscard]] Executing seen_executing() const noexcept;

    /// Own thread, inside a job: gives everything back that was claimed and not started.
    void hand_back_rest() noexcept;

    /// Own thread or home, for a worker inside a job: it counts among the lookers no more, until this job's run has ended.
    /// The caller then does what Engine::stop_looking() says. False: it did not count.
    [[nodiscard]] bool leave_lookers() noexcept {
        Looking inside = Looking::inside;
        return looking_.compare_exchange_strong(inside, Looking::left);  // seq_cst: as the count that follows
    }
    [[nodiscard]] unsigned index() const noexcept {
        return index_;
    }

    std::thread thread;  ///< written by start and joined by the end, see lifecycle.cpp
    sync::Claim claim;
    sync::SpscRing<RunReport, report_capacity> reports;
    sync::atomic<std::uint32_t> posted{0};  ///< reports pushed, under `dedicated`; see Engine::reported()
    Progress progress;

    // What a snapshot shows and deadlock detection needs. Written by the own thread, at run starts and around waits.
    // `executing` is set before the job runs and reset after its word says that it has ended: a node that shows a queued job
    // and is in no worker has not started.
    sync::atomic<JobNode*> executing{nullptr};
    sync::atomic<std::uint32_t> executing_life{0};  ///< which life of that node; written first
    sync::atomic<std::int64_t> run_started_at{0};

private:
    /// Whether the worker counts among the lookers (sync/lookout.hpp) while it is inside jobs.
    enum class Looking : std::uint8_t {
        outside,  ///< not inside jobs; it counts or not, and home leaves that alone
        inside,   ///< it counts: its jobs are short, or were expected to be
        left  ///< it does not: the job is long, or waits, or home has seen that it is longer than expected
    };
    void enter_jobs(bool leaves_rest) noexcept;
    void leave_jobs() noexcept;
    void look_again_after_run() noexcept;

    bool run_batch() noexcept;
    void begin_run(JobNode& first) noexcept;
    void show_executing(JobNode& node) noexcept;
    void execute(JobNode& node) noexcept;
    void execute_heavy(JobNode& node) noexcept;
    [[nodiscard]] std::exception_ptr attempt(JobNode& node, void (*step)(void*, void*)) noexcept;
    void finish(JobNode& node, std::exception_ptr thrown) noexcept;
    [[nodiscard]] core::JobChain take_rest_of_run() noexcept;
    void end_run(core::JobChain rest) noexcept;
    template <class Fill>
    void report(const Fill& fill) noexcept;
    void idle() noexcept;
    [[nodiscard]] bool spin_for_work() noexcept;

    Engine& engine_;
    const unsigned index_;
    /// Own thread writes; leave_lookers() may turn `inside` into `left`. It says `inside` only while the worker is counted.
    sync::atomic<Looking> looking_{Looking::outside};
    ThreadSlot* slot_ = nullptr;
    ThreadContext* context_ = nullptr;

    // The run in progress.
    core::RunEnd run_{};
    bool in_run_ = false;
    std::uint32_t clock_stride_ = 1;  ///< jobs between two looks at the clock
    std::int64_t clock_ = 0;          ///< when the run began; the end of one run is the beginning of the next

    core::SpinHistory spins_;
};

}  // namespace sluice::detail
