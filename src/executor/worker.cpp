#include "executor/worker.hpp"

#include "executor/engine.hpp"
#include "executor/owned.hpp"
#include "platform/clock.hpp"
#include "platform/cpu.hpp"
#include "platform/thread.hpp"

#include <exception>
#include <utility>

namespace sluice::detail {

using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

namespace {

/// A run that is expected to be shorter than this reads the clock every eight jobs only: a reading costs 11 ns.
constexpr std::uint32_t tiny_run_ns = 10'000;

}  // namespace

void Worker::main(ThreadSlot& slot) noexcept {
    slot_ = &slot;
    engine_.enter_thread(this, slot);
    context_ = &this_thread_context();
    engine_.start_looking();
    for (;;) {
        if (run_batch())
            continue;
        if (engine_.settle_what_is_left(*slot_))
            continue;
        if (engine_.workers_take_turns() && engine_.take_turn(index_, *slot_))
            continue;
        if (engine_.over())
            break;
        idle();
    }
    engine_.leave_thread();
}

// Claims runs and executes them. Keeps "somebody looks": while its jobs are short the worker stays a looker and is back
// within its time budget; before a long one it stops being a looker, and then looks (begin_run).
bool Worker::run_batch() noexcept {
    const std::uint32_t claimed = engine_.run_queue_.claim(claim, engine_.fair_share_of_runs());
    if (claimed == 0)
        return false;
    const bool more_is_left = engine_.call_for_help();
    enter_jobs(claimed > 1 || more_is_left);
    clock_ = engine_.clock_.now();
    const std::int64_t batch_ends = clock_ + engine_.give_back_ns_;
    for (sync::RunEntry entry = claim.take_next(); entry.job != nullptr; entry = claim.take_next()) {
        auto& node = static_cast<JobNode&>(*entry.job);
        if (!in_run_)
            begin_run(node);
        if (node.withdrawable && !node.built && !engine_.may_start(node, *slot_)) {
            ++run_.executed;
        } else {
            node.built || node.lane == Lane::heavy_init ? execute_heavy(node) : execute(node);
        }
        if (run_.failed && !entry.ends_run) {
            end_run(take_rest_of_run());
        } else if (entry.ends_run) {
            end_run({});
        } else if (run_.executed % clock_stride_ != 0) {
            continue;
        }
        if (claimed > 1 && engine_.clock_.now() > batch_ends)
            hand_back_rest();
    }
    if (in_run_)
        end_run({});  // the rest of it was given back, by this thread or by the role holder
    leave_jobs();
    return true;
}

void Worker::enter_jobs(bool leaves_rest) noexcept {
    // release: pairs with the CAS in leave_lookers(). Who takes this worker off the count sees it counted.
    looking_.store(Looking::inside, memory_order_release);
    if (leaves_rest)
        engine_.home_
            .watch();  // a job may turn out longer than expected; who relies on this looker sees to it itself
}

void Worker::leave_jobs() noexcept {
    if (looking_.exchange(Looking::outside) == Looking::left)
        engine_.start_looking();
}

void Worker::look_again_after_run() noexcept {
    // relaxed: whatever it says, nobody else changes `left`.
    if (looking_.load(memory_order_relaxed) != Looking::left)
        return;
    engine_.start_looking();
    enter_jobs(true);
}

void Worker::begin_run(JobNode& first) noexcept {
    run_ = {};
    run_.actor = first.actor;
    run_.lane = first.lane;
    run_.job_class = first.job_class;
    run_.step = first.built ? core::Step::install : first.step;
    run_.expected_ns = first.run_expected_ns;
    in_run_ = true;
    context_->inside = static_cast<ActorCell*>(first.actor);
    clock_stride_ = first.run_expected_ns > tiny_run_ns ? 1 : 8;
    run_started_at.store(clock_, memory_order_relaxed);  // a time for snapshots, it orders nothing
    if (!first.run_is_long)
        return;
    hand_back_rest();  // nothing waits behind a job that is known to be long (E28, E32)
    if (leave_lookers())
        engine_.stop_looking();
}

void Worker::end_run(core::JobChain rest) noexcept {
    const std::int64_t now = engine_.clock_.now();
    const std::int64_t elapsed_ns = now - clock_;
    clock_ = now;
    in_run_ = false;
    context_->inside = nullptr;
    report([&](RunReport& report) {
        report.end.actor = run_.actor;
        report.end.rest = rest;
        report.end.built = run_.built;
        report.end.elapsed_ns = elapsed_ns;
        report.end.executed = run_.executed;
        report.end.expected_ns = run_.expected_ns;
        report.end.lane = run_.lane;
        report.end.job_class = run_.job_class;
        report.end.step = run_.step;
        report.end.failed = run_.failed;
        report.kind = RunReport::Kind::ended;
    });
    look_again_after_run();
}

template <class Fill>
void Worker::report(const Fill& fill) noexcept {
    while (!reports.try_push_filled(fill))
        platform::yield();  // has never happened, see report_capacity
    engine_.reported(*this);
}

void Worker::show_executing(JobNode& node) noexcept {
    // relaxed: the life does not change before the job's end. Both releases pair with the acquires in seen_executing(): who
    // sees a life sees that the job before it has ended.
    executing_life.store(core::job_word::life(node.state.load(memory_order_relaxed)), memory_order_release);
    executing.store(&node, memory_order_release);
}

Worker::Executing Worker::seen_executing() const noexcept {
    for (;;) {
        const JobNode* node = executing.load(memory_order_acquire);  // pairs with show_executing(), finish()
        if (node == nullptr)
            return {};
        const std::uint32_t life = executing_life.load(memory_order_acquire);  // as above
        if (executing.load(memory_order_relaxed) == node)                      // not before the acquire
            return {node, life};
    }
}

// One job of a lane with one step.
void Worker::execute(JobNode& node) noexcept {
    show_executing(node);
    progress.begin(node.job_class);
    engine_.left_actor_queue(node);
    std::exception_ptr thrown = attempt(node, node.ops->run);
    node.ops->destroy_closure(node.payload);
    progress.end(node.job_class, thrown != nullptr);
    ++run_.executed;
    finish(node, std::move(thrown));
}

// One step of a heavy job. After a build that succeeded the job is not over: its install comes as a run of its own, on
// whichever worker.
void Worker::execute_heavy(JobNode& node) noexcept {
    show_executing(node);
    auto& counters = engine_.counters_.of(node.job_class);
    if (!node.built) {
        counters.heavy_started.fetch_add(1);
        // For observers: it waits in no queue again. release: as in Engine::draft().
        node.enqueued_at.store(JobNode::started, memory_order_release);
        static_cast<ActorCell&>(*node.actor).heavy_in_flight.fetch_add(1);
        engine_.left_actor_queue(node);
    }
    std::exception_ptr thrown = attempt(node, node.built ? node.ops->install : node.ops->run);
    ++run_.executed;
    if (!node.built && !thrown) {
        executing.store(nullptr, memory_order_release);
        node.built = true;
        run_.built = &node;
        return;
    }
    node.ops->destroy_closure(node.payload);
    (thrown ? counters.heavy_threw : counters.heavy_succeeded).fetch_add(1);
    static_cast<ActorCell&>(*node.actor).heavy_in_flight.fetch_sub(1);
    finish(node, std::move(thrown));
}

std::exception_ptr Worker::attempt(JobNode& node, void (*step)(void*, void*)) noexcept {
    std::exception_ptr thrown;
    try {
        step(node.payload, static_cast<ActorCell&>(*node.actor).context);
    } catch (...) {
        thrown = std::current_exception();
    }
    return thrown;
}

// The job is counted already. Only when its word says that it has ended it is in no worker any more: see `executing`.
void Worker::finish(JobNode& node, std::exception_ptr thrown) noexcept {
    if (!thrown) {
        engine_.complete(node, *slot_, {}, {});
    } else {
        if (node.lane == Lane::mutating || node.built) {
            run_.failed = true;
            Engine::make_fatal(static_cast<ActorCell&>(*node.actor), thrown);
        }
        engine_.complete(node, *slot_, ErrorCode::job_threw,
                         error_of(node, ErrorCode::job_threw, std::move(thrown)));
    }
    executing.store(nullptr, memory_order_release);  // pairs with seen_executing()
}

core::JobChain Worker::take_rest_of_run() noexcept {
    core::JobChain rest;
    for (sync::RunEntry entry = claim.take_next(); entry.job != nullptr; entry = claim.take_next()) {
        rest.append(*entry.job);
        if (entry.ends_run)
            break;
    }
    return rest;
}

void Worker::hand_back_rest() noexcept {
    std::array<sync::RunEntry, batch_jobs_max> entries;
    const sync::RevokedRest rest = claim.revoke(entries);
    for_each_run(std::span(entries).first(rest.count), rest.continues_run,
                 [this](const RunReport& part) { report([&part](RunReport& report) { report = part; }); });
}

void Worker::idle() noexcept {
    if (spin_for_work())
        return;
    engine_.workers_.begin_park(index_);
    if (engine_.work_for_worker()) {
        (void)engine_.workers_.cancel_park(index_);
    } else {
        engine_.workers_.park(index_);
    }
}

// Looks for work for a while before parking: only if that paid lately, and at most one worker at a time, for on few CPUs
// a spinner holds the very CPU that the submitter needs. It yields for the same reason.
bool Worker::spin_for_work() noexcept {
    const std::int64_t budget = engine_.spin_budget_ns_;
    if (budget == 0)
        return false;
    if (!engine_.spins_always_ && (!spins_.worth_it() || engine_.spinning_.exchange(true)))
        return false;
    const std::int64_t idle_since = engine_.clock_.now();
    bool found = false;
    for (unsigned round = 0; !found; ++round) {
        for (unsigned i = 0; i < 8; ++i)
            platform::cpu_relax();
        found = engine_.work_for_worker();
        if (round % 4 == 3) {
            if (engine_.clock_.now() - idle_since > budget)
                break;
            platform::yield();
        }
    }
    if (!engine_.spins_always_)
        engine_.spinning_.store(false);
    spins_.note(found);
    return found;
}

}  // namespace sluice::detail
