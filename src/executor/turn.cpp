// The scheduler's turn: what the holder of the role does, bounded, without running or destroying anything of the user's.
//
// Keeps "somebody looks". A turn takes what it sees; what arrives during it is seen by its holder afterwards, who is a
// looker still: a worker goes on looking until it parks or enters a long job, and looks after it stopped being a looker;
// home looks again before it sleeps. So a submitter that sees the role held may leave.

#include "executor/aftermath.hpp"
#include "executor/engine.hpp"
#include "executor/owned.hpp"
#include "executor/stop_watch.hpp"
#include "platform/cpu.hpp"

#include <algorithm>
#include <span>

namespace sluice::detail {

using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

namespace {

/// With many actors, a cell is in no cache when its job arrives: it is asked for this many jobs ahead.
constexpr std::size_t cells_ahead = 8;
void expect(const ActorCell* cell) noexcept {
    platform::prefetch_for_write(cell);
    platform::prefetch_for_write(&cell->seen_ended);
    __builtin_prefetch(static_cast<const void*>(&cell->context));
}

// release: pairs with the acquires in Engine::actor_snapshot(), which reads them the other way round.
void show_accepted(ActorCell& cell) noexcept {
    cell.seen_accepted.store(cell.accepted, memory_order_release);
}
void show_ended(ActorCell& cell) noexcept {
    cell.seen_ended.store(cell.completed(), memory_order_release);
}

}  // namespace

bool Engine::take_turn(unsigned who, ThreadSlot& slot,
                       std::span<const std::uint64_t> stalled_claims) noexcept {
    std::uint32_t nobody = 0;
    // acquire: pairs with the hand-back below, so that this holder sees what the last one did to what the role owns.
    if (role_->load(memory_order_relaxed) != 0 ||
        !role_->compare_exchange_strong(nobody, who + 1, memory_order_acquire, memory_order_relaxed)) {
        return false;
    }
    Aftermath aftermath;
    const bool progress = turn(aftermath, stalled_claims);
    if (aftermath.any())
        aftermaths_.fetch_add(aftermath.count());  // before the hand-back: the next turn must see it
    turns_.store(turns_.load(memory_order_relaxed) + 1,
                 memory_order_relaxed);                       // for observers; one writer at a time
    last_turn_at_.store(clock_.now(), memory_order_relaxed);  // for observers
    role_->store(0);  // seq_cst: ordered before this thread's next look; release for the next holder
    if (who == home_index && !run_queue_.empty())
        make_somebody_look_at_runs();  // a worker claims them itself
    if (aftermath.any())
        see_to(aftermath, who, slot);
    end_if_drained();
    return progress;
}

bool Engine::turn(Aftermath& aftermath, std::span<const std::uint64_t> stalled_claims) noexcept {
    recycle_retired();
    bool progress = collect_reports();
    progress |= revoke_stalled(stalled_claims);
    progress |= serve_requests();
    progress |= drain_ingress();
    progress |= serve_stops();
    progress |= end_overdue();
    core::Job* strays = strays_.exchange(nullptr);  // seq_cst: as turn_needed() reads it
    progress |= hand_out();
    show_next_expiry();
    const core::JobChain failed = owned_->core.take_failed();
    for (core::Job* job = failed.first; job != nullptr; job = job->next) {
        auto& cell = static_cast<ActorCell&>(*job->actor);
        show_ended(cell);
        // relaxed: from a reference that is held. fail() reads the cause, and drops this one.
        if (job->fail == core::FailReason::actor_fatal)
            cell.refs.fetch_add(1, memory_order_relaxed);
    }
    aftermath.append(failed.first);
    aftermath.append(std::exchange(owned_->stopped, {}).first);
    aftermath.append(std::exchange(owned_->abandoned, {}).first);
    aftermath.append(strays);
    while (core::Actor* actor = owned_->core.take_released())
        aftermath.release(static_cast<ActorCell&>(*actor));
    if (!aftermath.any())
        recycle_retired();
    return progress || aftermath.any();
}

bool Engine::collect_reports() noexcept {
    bool any = false;
    for (auto& worker : all_workers_) {
        for (RunReport report; worker->reports.try_pop(report); any = true)
            apply(report);
    }
    return any;
}

void Engine::apply(const RunReport& report) noexcept {
    // Of what comes back, those whose stop was taken while they were handed out. Usually nothing comes back.
    std::array<JobNode*, sync::RunQueue::longest_run> stopped;
    std::size_t count = 0;
    for (core::Job* job = report.end.rest.first; job != nullptr; job = job->next) {
        auto& node = static_cast<JobNode&>(*job);
        if (node.withdrawable && node.watch != nullptr && node.watch->request_was_taken())
            stopped[count++] = &node;
    }
    switch (report.kind) {
        case RunReport::Kind::ended:
            owned_->core.run_ended(report.end);
            show_ended(static_cast<ActorCell&>(*report.end.actor));
            break;
        case RunReport::Kind::given_back:
            owned_->core.give_back(*report.end.actor, report.end.rest);
            break;
        case RunReport::Kind::returned:
            owned_->core.return_run(run_of(report));
            break;
    }
    for (JobNode* node : std::span(stopped).first(count))
        withdraw_if_stopped(*node);
}

bool Engine::drain_ingress() noexcept {
    const std::size_t count = ingress_.drain(owned_->arrivals.data(), owned_->arrivals.size());
    const std::int64_t now = count == 0 ? 0 : clock_.now();
    for (std::size_t i = 0; i < count; ++i) {
        if (i + cells_ahead < count)
            expect(static_cast<const ActorCell*>(owned_->arrivals[i + cells_ahead]->actor));
        auto& node = static_cast<JobNode&>(*owned_->arrivals[i]);
        if (node.ops == nullptr) {  // a number without a job, see abandon()
            owned_->abandoned.append(node);
            continue;
        }
        node.enqueued_at.store(now, memory_order_release);  // for observers, as in Engine::draft()
        owned_->core.enqueue(node);
        if (node.withdrawable)
            withdraw_if_stopped(node);
        show_accepted(static_cast<ActorCell&>(*node.actor));
    }
    return count != 0;
}

bool Engine::hand_out() noexcept {
    std::uint32_t jobs = 0;
    while (jobs < turn_jobs_max) {
        const auto run = owned_->core.next_run();
        if (!run)
            break;
        auto& first = static_cast<JobNode&>(*run->jobs.first);
        __builtin_prefetch(static_cast<const ActorCell*>(run->actor)->context);  // of whoever runs it
        first.run_expected_ns = run->expected_ns;
        first.run_is_long = run->long_running;
        if (!run_queue_.try_push_run(run->jobs.first, run->jobs.count)) {
            owned_->core.return_run(*run);
            // relaxed: for observers. Cannot happen: the core's backlog is smaller than the queue.
            undispatched_.store(undispatched_.load(memory_order_relaxed) + 1, memory_order_relaxed);
            break;
        }
        jobs += run->jobs.count;
    }
    // relaxed: a hint for call_for_help().
    expected_in_flight_ns_.store(owned_->core.expected_in_flight_ns(), memory_order_relaxed);
    more_to_hand_out_.store(jobs >= turn_jobs_max);  // seq_cst, as turn_needed() reads it
    run_queue_.announce();
    return jobs != 0;
}

// Takes back everything that was handed out and not started: the rare events after which nothing that is queued may
// start as if it had been admitted before.
void Engine::recall_everything() noexcept {
    while (const std::size_t count = run_queue_.recall(owned_->entries)) {
        for_each_run(std::span(owned_->entries).first(count), false,
                     [this](const RunReport& part) { apply(part); });
    }
    for (auto& worker : all_workers_)
        revoke(*worker);
}

void Engine::revoke(Worker& worker) noexcept {
    const sync::RevokedRest rest = worker.claim.revoke(owned_->entries);
    for_each_run(std::span(owned_->entries).first(rest.count), rest.continues_run,
                 [this](const RunReport& part) { apply(part); });
}

// Gives other workers what one has claimed and not come to since home's last look (E28, E32).
bool Engine::revoke_stalled(std::span<const std::uint64_t> claims) noexcept {
    bool any = false;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        const core::ClaimWord claim = all_workers_[i]->claim.observe();
        if (claim.bits != claims[i] || claim.left() == 0)
            continue;
        revoke(*all_workers_[i]);
        any = true;
    }
    return any;
}

bool Engine::serve_requests() noexcept {
    ActorCell* requests = requests_.exchange(nullptr);  // seq_cst: as turn_needed() reads it
    const bool any = requests != nullptr;
    bool recalled = false;
    while (requests != nullptr) {
        ActorCell* cell = std::exchange(requests, requests->link);
        if (cell->removed) {  // a second request is the last reference's: the cell may be used again
            cell->link = owned_->retired;
            owned_->retired = cell;
            continue;
        }
        if (!std::exchange(recalled, true))
            recall_everything();
        owned_->core.remove(*cell);
    }
    const std::uint8_t mode = shutdown_mode_.load();  // seq_cst, as above
    if (mode == shutdown_served_.load())
        return any;
    if (mode == cancel_mode)
        cancel_everything();
    shutdown_served_.store(mode);
    return true;
}

void Engine::cancel_everything() noexcept {
    recall_everything();
    owned_->core.begin_cancel();
    registry_.for_each(owned_->reading, [this](ActorCell* cell) {
        owned_->core.fail_queued(*cell, core::FailReason::shut_down);
        drop_ref_inside_turn(*cell);
    });
}

// A retired cell is free once no number taken before its retirement is under way, and no thread is still telling
// submitters about jobs of it: no earlier turn's aftermath is left, and this turn's has no job yet, or has none at all. (At
// the end only, removals that keep coming would keep all cells retired: each turn has an aftermath then.)
void Engine::recycle_retired() noexcept {
    if (owned_->retired == nullptr || aftermaths_.load() != 0)
        return;  // seq_cst: see take_turn()
    ActorCell* waiting = std::exchange(owned_->retired, nullptr);
    while (waiting != nullptr) {
        ActorCell* cell = std::exchange(waiting, waiting->link);
        if (ingress_.all_emitted_below(cell->retired_at)) {
            recycle(*cell);
        } else {
            cell->link = owned_->retired;
            owned_->retired = cell;
        }
    }
}

void Engine::end_if_drained() noexcept {
    if (shutdown_mode_.load() == 0 || jobs_that_ended() != admission_.taken())
        return;
    over_.store(
        true);  // seq_cst: before the wake-ups; a thread about to park looks at it after announcing that
    wake_all();
}

}  // namespace sluice::detail
