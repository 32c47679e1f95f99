#pragma once

// The scheduler: which job may run next. One owner steps it (whoever holds the scheduler's role); it knows no threads,
// no clock and no memory. Events go in by enqueue(), run_ended(), give_back(), return_run(), remove(), fail_queued();
// decisions come out of next_run(), take_failed() and take_released().
//
// Invariants, by name; each transition says how it keeps them.
//   linked   Whenever no call is in progress, a class of an actor whose head is admissible (or only needs a permit) is in
//            its ready ring or in the heavy line. Every event therefore ends in look_again() for the actor that it is about.
//   single   A class of an actor is in at most one list, named by its Place.
//   paid     in_flight of actor and class count the same units: runs that were handed out and not ended, and heavy jobs
//            between build and install. busy_ counts the former only, for a waiting install occupies no worker.
//   permits  A heavy job holds one permit from the admission of its build until its install ended or cannot run any more.

#include <optional>

#include "core/admission.hpp"
#include "core/deadlines.hpp"
#include "core/effects.hpp"
#include "core/fair_ring.hpp"
#include "core/run_ahead.hpp"

namespace sluice::core {

class Scheduler {
public:
    /// Without `timers` no job may be `timed`.
    Scheduler(const Limits& limits, HeavyPermits& permits, TimerPlace timers = {}) noexcept;
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // Events.

    /// A job has arrived. Last in the FIFO of its class, or in the failed list if its actor takes no jobs any more.
    void enqueue(Job& job) noexcept;
    /// A run has ended. `rest` goes back to the front; a build that succeeded becomes a pending install.
    void run_ended(const RunEnd& end) noexcept;
    /// A part of a run that is still in flight was revoked before it started: back to the front of its queue.
    void give_back(Actor& actor, JobChain rest) noexcept;
    /// A run that nobody started: as if it had never been handed out.
    void return_run(const Run& run) noexcept;
    /// Queued jobs and pending installs fail with actor_removed; what is running finishes (E4). Only once an actor.
    void remove(Actor& actor) noexcept;
    /// Queued jobs and pending installs of this actor fail with `reason` (E22: shut_down).
    void fail_queued(Actor& actor, FailReason reason) noexcept;
    /// A withdrawable job that is queued fails with `reason` (E25). O(1).
    void withdraw(Job& job, FailReason reason) noexcept;
    /// Queued jobs whose deadline has passed fail with deadline_exceeded, at most `most` (E24). True: there may be more.
    [[nodiscard]] bool expire(Nanos now, std::uint32_t most) noexcept;
    /// From now on enqueue() and jobs that come back fail with shut_down. Running jobs, and heavy ones whose build is
    /// running, finish. The caller then calls fail_queued() for every actor.
    void begin_cancel() noexcept {
        cancelling_ = true;
    }
    /// A permit came back from elsewhere (permits may be shared by several executors).
    void heavy_permit_freed() noexcept {
        permit_may_be_free_ = true;
    }

    // Decisions.

    /// The next run to hand out; nullopt: nothing may be handed out before the next event. O(1), amortised.
    [[nodiscard]] std::optional<Run> next_run() noexcept;
    /// Jobs that will not run, Job::fail set, in order; empties the list.
    [[nodiscard]] JobChain take_failed() noexcept;
    /// A removed actor with nothing queued or in flight any more: each exactly once; nullptr: none. The caller destroys
    /// it only when no job for it can be enqueued any more.
    [[nodiscard]] Actor* take_released() noexcept;

    // State that can be read.

    /// By when expire() should be called; Deadlines::never: no queued job has a deadline.
    [[nodiscard]] Nanos next_expiry() const noexcept {
        return deadlines_.next_call();
    }
    [[nodiscard]] const Limits& limits() const noexcept {
        return limits_;
    }
    [[nodiscard]] std::uint64_t queued(JobClass c) const noexcept {
        return of(c).queued;
    }
    [[nodiscard]] std::uint32_t in_flight(JobClass c) const noexcept {
        return of(c).in_flight;
    }
    [[nodiscard]] std::uint32_t ready_actors(JobClass c) const noexcept {
        return of(c).ring.size();
    }
    [[nodiscard]] std::uint32_t busy_units() const noexcept {
        return busy_;
    }
    [[nodiscard]] std::uint32_t jobs_in_flight() const noexcept {
        return out_.jobs;
    }
    [[nodiscard]] std::uint64_t expected_in_flight_ns() const noexcept {
        return out_.expected_ns;
    }
    [[nodiscard]] std::uint32_t idle_workers() const noexcept {
        return busy_ < limits_.pool_size ? limits_.pool_size - busy_ : 0;
    }
    [[nodiscard]] std::uint32_t pending_installs() const noexcept {
        return pending_installs_;
    }
    [[nodiscard]] bool cancelling() const noexcept {
        return cancelling_;
    }
    /// Nothing queued, in flight or waiting to be taken.
    [[nodiscard]] bool quiet() const noexcept;
    /// Expected time of one job of this actor.
    [[nodiscard]] std::uint32_t expected_job_ns(const Actor& actor) const noexcept {
        return service::nanos(actor.service != 0 ? actor.service : global_service_);
    }
    [[nodiscard]] std::uint32_t global_job_ns() const noexcept {
        return service::nanos(global_service_);
    }

private:
    struct PerClass {
        explicit PerClass(JobClass c) noexcept : ring(c), heavy_line(c) {}
        FairRing ring;
        ActorList heavy_line;      ///< First come, first served for the next permit.
        std::uint64_t queued = 0;  ///< Jobs in the FIFOs.
        std::uint32_t in_flight = 0;
    };
    /// What came of offering a class, or one actor of it.
    enum class Offer : std::uint8_t { handed_out, moved_on, no_room, nobody_left, interactive_came };

    [[nodiscard]] PerClass& of(JobClass c) noexcept {
        return c == JobClass::interactive ? interactive_ : maintenance_;
    }
    [[nodiscard]] const PerClass& of(JobClass c) const noexcept {
        return c == JobClass::interactive ? interactive_ : maintenance_;
    }

    // Rounds (scheduler_rounds.cpp).
    [[nodiscard]] bool next_admission(Run& run) noexcept;
    [[nodiscard]] bool nobody_is_ready() const noexcept;
    void begin_round() noexcept;
    [[nodiscard]] Offer offer_class(JobClass c, Run& run) noexcept;
    [[nodiscard]] Offer visit(Actor& actor, JobClass c, bool has_permit, Run& run) noexcept;
    [[nodiscard]] bool class_may_go(JobClass c) const noexcept;
    [[nodiscard]] bool fits_backlog(const Actor& actor, JobClass c, std::uint32_t jobs_max,
                                    std::uint32_t job_ns) const noexcept;
    [[nodiscard]] bool line_may_move(JobClass c) const noexcept;
    [[nodiscard]] bool permit_for_line(JobClass c) noexcept;
    [[nodiscard]] bool take_permit(Actor& actor, JobClass c) noexcept;
    void step_aside(Actor& actor, JobClass c) noexcept;
    void skip_rounds(JobClass c) noexcept;
    [[nodiscard]] std::uint32_t job_time(const Actor& actor, bool heavy) const noexcept;
    [[nodiscard]] std::uint32_t jobs_in_run(std::uint32_t job_ns) const noexcept;
    [[nodiscard]] std::uint32_t rounds_in_run(std::uint32_t batch) const noexcept;
    std::int64_t add_quantum(Actor& actor, JobClass c, std::uint32_t rounds, std::uint32_t batch) noexcept;
    [[nodiscard]] bool pay_for_head(Actor& actor, JobClass c, std::uint32_t batch) noexcept;
    void hand_out(Actor& actor, JobClass c, std::uint32_t jobs_max, std::uint32_t job_ns, Run& run) noexcept;
    [[nodiscard]] bool next_install(Run& run) noexcept;

    // Places and counts (scheduler_places.hpp).
    void look_again(Actor& actor) noexcept;
    void link(Actor& actor, JobClass c) noexcept;
    void unlink(Actor& actor, JobClass c) noexcept;
    void end_of_unit(Actor& actor, std::uint32_t jobs, std::uint32_t expected_ns) noexcept;
    void unit_left(Actor& actor, JobClass c, Lane lane) noexcept;

    // Ends of runs (scheduler.cpp).
    bool take_back(Actor& actor, JobChain rest) noexcept;  ///< false: nothing was queued, the jobs failed.
    void measure(const RunEnd& end) noexcept;

    // Jobs that can be withdrawn (scheduler_places.hpp): told whenever one enters or leaves a FIFO.
    void entered_queue(Job& job) noexcept;
    void left_queue(Job& job) noexcept;

    // Endings and failures (scheduler_endings.cpp).
    void build_ended(Actor& actor, const RunEnd& end) noexcept;
    void add_install(Actor& actor, Job& job, bool as_newest) noexcept;
    [[nodiscard]] Job& take_install(Actor& actor) noexcept;  ///< The oldest.
    void permit_back() noexcept;
    void fail_chain(JobChain chain, FailReason reason) noexcept;
    void fail_everything(Actor& actor, FailReason reason) noexcept;
    void release_if_done(Actor& actor) noexcept;
    [[nodiscard]] FailReason refusal(const Actor& actor) const noexcept;

    Limits limits_;
    HeavyPermits& permits_;
    PerClass interactive_{JobClass::interactive};
    PerClass maintenance_{JobClass::maintenance};
    ActorList install_ready_{JobClass::interactive};
    ActorList released_{JobClass::interactive};
    JobChain failed_;
    Backlog out_;
    TimerPlace timers_;
    Deadlines deadlines_;
    std::uint32_t busy_ = 0;  ///< Units handed out and not ended.
    std::uint32_t pending_installs_ = 0;
    std::uint32_t global_service_;
    std::uint32_t batch_ = 1;  ///< Run-ahead factor of the rounds.
    std::uint32_t rounds_ = 0;
    std::uint16_t heaviest_ = 1;  ///< Weight of the heaviest actor visited in the last 64 rounds or so.
    std::uint16_t heaviest_lately_ = 1;  ///< In those since the last multiple of 64.
    std::uint32_t fewest_rounds_ =
        0;  ///< Until the first of those who could not pay in this round will be able to.
    bool measured_ = false;
    bool between_rounds_ = true;
    bool maintenance_turn_ = false;
    bool interactive_came_ = false;  ///< During the maintenance half of a round.
    bool handed_out_ = false;        ///< In this round.
    bool permit_may_be_free_ = true;
    bool cancelling_ = false;
};

}  // namespace sluice::core
