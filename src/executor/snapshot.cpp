// What an observer sees, without waiting for anybody: sums of counters in the order that counters.hpp gives, and a scan
// of the nodes, each of which says for itself whether what was read of it is whole (job_node.hpp).

#include "executor/engine.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace sluice::detail {

namespace job_word = core::job_word;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;

namespace {

/// A queued job as a snapshot may see it; only what is atomic in the node.
struct SeenJob {
    ActorCell* cell;
    Lane lane;
    JobClass job_class;
    std::int64_t enqueued_at;
    std::uint32_t life;  ///< of its node
    sync::NamePair::Copy names;
};

/// Reads a node whole, or not at all: nullopt if it is not a queued (or executing) job, or changed meanwhile.
std::optional<SeenJob> see(const JobNode& node, bool with_names) noexcept {
    const std::uint32_t before =
        node.state.load(memory_order_acquire);  // pairs with the release in Engine::publish()
    if (job_word::phase(before) != job_word::Phase::queued)
        return std::nullopt;
    const std::uintptr_t who =
        node.who.load(memory_order_acquire);  // acquire: these loads stay before the second look
    const std::int64_t enqueued_at = node.enqueued_at.load(memory_order_acquire);
    std::optional<sync::NamePair::Copy> names;
    if (with_names)
        names = node.names.get();
    if (!job_word::same_queued_life(before, node.state.load(memory_order_acquire)))
        return std::nullopt;
    return SeenJob{reinterpret_cast<ActorCell*>(who & ~std::uintptr_t{15}),
                   static_cast<Lane>(who & 3U),
                   static_cast<JobClass>((who >> 2U) & 1U),
                   enqueued_at,
                   job_word::life(before),
                   names.value_or(sync::NamePair::Copy{})};
}

/// The jobs inside workers, taken before the nodes are looked at: a job that is found queued and is not among them had not
/// started when they were taken. So no observer finds a job running and then queued.
class ExecutingJobs {
public:
    explicit ExecutingJobs(std::span<const std::unique_ptr<Worker>> workers) noexcept {
        for (const auto& worker : workers) {
            const Worker::Executing seen = worker->seen_executing();
            if (seen.node != nullptr)
                jobs_[count_++] = seen;
        }
        std::ranges::sort(std::span(jobs_).first(count_), std::less(), &Worker::Executing::node);
    }
    /// **Cost**: O(log of the jobs inside workers).
    [[nodiscard]] bool has(const JobNode& node, std::uint32_t life) const noexcept {
        const auto same_node = std::ranges::equal_range(std::span(jobs_).first(count_), &node, std::less(),
                                                        &Worker::Executing::node);
        return std::ranges::find(same_node, life, &Worker::Executing::life) != same_node.end();
    }

private:
    std::array<Worker::Executing, max_workers> jobs_;
    std::size_t count_ = 0;
};

JobTotals sum(JobTotals left, const JobTotals& right) noexcept {
    left.accepted += right.accepted;
    left.queued += right.queued;
    left.running += right.running;
    left.succeeded += right.succeeded;
    left.threw += right.threw;
    left.actor_removed += right.actor_removed;
    left.actor_fatal += right.actor_fatal;
    left.shut_down += right.shut_down;
    left.cancelled += right.cancelled;
    left.deadline_exceeded += right.deadline_exceeded;
    left.abandoned += right.abandoned;
    return left;
}

}  // namespace

// A lower bound, exact when nothing is under way: jobs that have started, or have ended without starting.
std::uint64_t Engine::jobs_that_left_the_queue() const noexcept {
    std::uint64_t left = 0;
    for (std::size_t c = 0; c < class_count; ++c) {
        for (const auto& exit : counters_.classes[c].left_queue)
            left += exit.load();
        left += counters_.classes[c].heavy_started.load();
        for (const auto& worker : all_workers_)
            left += worker->progress.started(static_cast<JobClass>(c));
    }
    return left;
}

std::uint64_t Engine::jobs_that_ended() const noexcept {
    std::uint64_t ended = 0;
    for (std::size_t c = 0; c < class_count; ++c) {
        for (const auto& exit : counters_.classes[c].left_queue)
            ended += exit.load();
        ended += counters_.classes[c].heavy_succeeded.load() + counters_.classes[c].heavy_threw.load();
        for (const auto& failed : counters_.classes[c].heavy_failed)
            ended += failed.load();
        for (const auto& worker : all_workers_)
            ended += worker->progress.ended(static_cast<JobClass>(c));
    }
    return ended;
}

// Ends, then starts, then acceptances (counters.hpp). Each count is read once, so what is a sum of others is theirs.
JobTotals Engine::totals(JobClass job_class) const noexcept {
    const auto& shared = counters_.classes[index_of(job_class)];
    JobTotals totals;
    totals.succeeded = shared.heavy_succeeded.load();
    totals.threw = shared.heavy_threw.load();
    std::uint64_t heavy_ended = totals.succeeded + totals.threw;
    const auto failed = [&](QueueExit exit) {
        const std::uint64_t between_steps = shared.heavy_failed[index_of(exit)].load();
        heavy_ended += between_steps;
        return between_steps + shared.left_queue[index_of(exit)].load();
    };
    totals.actor_removed = failed(QueueExit::actor_removed);
    totals.actor_fatal = failed(QueueExit::actor_fatal);
    totals.shut_down = failed(QueueExit::shut_down);
    totals.abandoned = failed(QueueExit::abandoned);
    totals.cancelled = failed(QueueExit::cancelled);
    totals.deadline_exceeded = failed(QueueExit::deadline_exceeded);
    for (const auto& worker : all_workers_) {
        const auto seen = worker->progress.read(job_class);
        totals.succeeded += seen.ended - seen.threw;
        totals.threw += seen.threw;
        totals.running += seen.started - seen.ended;
    }
    totals.running += shared.heavy_started.load() - heavy_ended;
    for (ThreadSlot* slot = slots_.load(); slot != nullptr; slot = slot->next) {
        totals.accepted += slot->accepted[index_of(job_class)].load(memory_order_acquire);
    }
    totals.queued = totals.accepted - totals.completed() - totals.running;
    return totals;
}

Snapshot Engine::snapshot() noexcept {
    Snapshot result;
    result.interactive.jobs = totals(JobClass::interactive);
    result.maintenance.jobs = totals(JobClass::maintenance);
    result.jobs = sum(result.interactive.jobs, result.maintenance.jobs);
    result.interactive_reserve = config_.interactive_reserve;
    result.maintenance_cap = config_.maintenance_cap;
    result.actors = registry_.size();
    result.undispatched = undispatched_.load(memory_order_relaxed);  // a count
    result.nodes = pool_.allocated();
    result.wakeups = workers_.wakes();
    result.callbacks_threw = counters_.callbacks_threw.load();
    result.oversized = counters_.oversized_callbacks.load();
    for (ThreadSlot* slot = slots_.load(); slot != nullptr; slot = slot->next) {
        const auto count = [&](Refusal reason) {
            return slot->refused[static_cast<std::size_t>(reason)].load(memory_order_relaxed);  // counts
        };
        result.refused.queue_full += count(Refusal::queue_full);
        result.refused.actor_not_registered += count(Refusal::actor_not_registered);
        result.refused.actor_fatal += count(Refusal::actor_fatal);
        result.refused.shut_down += count(Refusal::shut_down);
        result.refused.other += count(Refusal::other);
        result.oversized += slot->oversized.load(memory_order_relaxed);  // a count
    }
    const std::int64_t now = clock_.now();
    result.turn.turns = turns_.load(memory_order_relaxed);  // a count
    // relaxed: a time. A turn may have ended since `now` was read.
    result.turn.since_last =
        std::chrono::nanoseconds(std::max<std::int64_t>(0, now - last_turn_at_.load(memory_order_relaxed)));
    if (const std::uint32_t role = role_->load(memory_order_relaxed); role != 0) {  // a glance
        result.turn.held = true;
        result.turn.holder = thread_name(role - 1 == home_index ? nullptr : all_workers_[role - 1].get());
    }
    find_oldest(now, result);
    return result;
}

void Engine::find_oldest(std::int64_t now, Snapshot& result) const noexcept {
    std::array<std::optional<std::int64_t>, class_count> oldest;
    const ExecutingJobs executing(all_workers_);
    pool_.for_each([&](const JobNode& node) {
        const auto job = see(node, false);
        // A job that no turn has drained yet has no time; it is younger than the last turn. One that waits for its second
        // step is running.
        if (!job || job->enqueued_at <= 0)
            return;
        auto& least = oldest[index_of(job->job_class)];
        if (job->enqueued_at < least.value_or(now + 1) && !executing.has(node, job->life))
            least = job->enqueued_at;
    });
    const auto age = [&](JobClass c, const JobTotals& jobs) -> std::optional<std::chrono::nanoseconds> {
        if (jobs.queued == 0)
            return std::nullopt;
        return std::chrono::nanoseconds(std::max<std::int64_t>(0, now - oldest[index_of(c)].value_or(now)));
    };
    result.interactive.oldest_age = age(JobClass::interactive, result.interactive.jobs);
    result.maintenance.oldest_age = age(JobClass::maintenance, result.maintenance.jobs);
}

// For one job; whoever asks for many takes ExecutingJobs.
bool Engine::is_executing(const JobNode& node) const noexcept {
    const std::uint32_t life =
        job_word::life(node.state.load(memory_order_relaxed));  // the caller holds the job
    return std::ranges::any_of(all_workers_, [&](const auto& worker) {
        const Worker::Executing seen = worker->seen_executing();
        return seen.node == &node && seen.life == life;
    });
}

std::vector<RunningMutation> Engine::running_mutations() {
    std::vector<RunningMutation> running;
    for (const auto& worker : all_workers_) {
        const Worker::Executing seen = worker->seen_executing();
        if (seen.node == nullptr)
            continue;
        const auto job = see(*seen.node, true);
        if (!job || job->life != seen.life || job->lane != Lane::mutating ||
            !Registry::try_retain(*job->cell))
            continue;
        const ActorRef cell(job->cell);
        const std::int64_t started_at = worker->run_started_at.load(memory_order_relaxed);  // a time
        // The reference is right, and the time, if the job has not ended since: its actor's cell is its own until then.
        const auto still = see(*seen.node, false);
        if (!still || still->life != seen.life)
            continue;
        std::string label(job->names.second());
        if (label.empty())
            label = std::string(to_string(job->job_class)) + "/" + std::string(to_string(job->lane));
        running.push_back({std::string(cell.id()), std::string(job->names.first()), std::move(label),
                           std::chrono::nanoseconds(std::max<std::int64_t>(0, clock_.now() - started_at))});
    }
    std::ranges::sort(running, {}, &RunningMutation::actor);
    return running;
}

// As of the last turn, but for what is running, which is as of now.
ActorSnapshot Engine::actor_snapshot(const ActorCell& cell) const noexcept {
    ActorSnapshot result;
    // acquire: pairs with the releases in turn.cpp; ends first, so that no end is seen without its acceptance.
    result.completed = cell.seen_ended.load(memory_order_acquire);
    result.accepted = cell.seen_accepted.load(memory_order_acquire);
    std::uint64_t running = 0;
    for (const auto& worker : all_workers_) {
        const Worker::Executing seen = worker->seen_executing();
        if (seen.node == nullptr)
            continue;
        const auto job = see(*seen.node, false);
        if (job && job->life == seen.life && job->cell == &cell)
            ++running;
    }
    const std::uint64_t unfinished = result.accepted - result.completed;
    result.running = std::min(running, unfinished);
    result.queued = unfinished - result.running;
    result.fatal = cell.phase.load(memory_order_acquire) == ActorPhase::fatal;  // pairs with make_fatal()
    return result;
}

MutationState Engine::mutation_state(std::string_view actor, std::string_view request_id) noexcept {
    const ActorRef cell(find(actor));
    if (!cell)
        return MutationState::actor_missing;
    bool running = false;
    bool queued = false;
    bool other = false;
    const ExecutingJobs jobs(all_workers_);
    pool_.for_each([&](const JobNode& node) {
        const auto job = see(node, true);
        if (!job || job->cell != cell.get() || job->lane != Lane::mutating)
            return;
        const bool executing = jobs.has(node, job->life);
        if (job->names.first() == request_id) {
            (executing ? running : queued) = true;
        } else {
            other |= executing;
        }
    });
    if (running)
        return MutationState::running;
    if (queued)
        return MutationState::queued;
    return other ? MutationState::blocked_by_other_mutating : MutationState::not_found;
}

}  // namespace sluice::detail
