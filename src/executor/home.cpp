#include "executor/home.hpp"

#include "executor/engine.hpp"
#include "platform/clock.hpp"
#include "platform/cpu.hpp"
#include "platform/thread.hpp"

#include <algorithm>
#include <utility>

namespace sluice::detail {

using sync::memory_order_relaxed;

namespace {

constexpr std::int64_t forever = core::Deadlines::never;

/// Runs are planned for less.
constexpr std::int64_t longest_usual_run_ns = 100'000;

/// Jobs begun and ended: it stands still while the worker is inside one, or idle.
std::uint64_t progress_of(const Worker& worker) noexcept {
    std::uint64_t progress = 0;
    for (const JobClass c : {JobClass::interactive, JobClass::maintenance}) {
        const auto seen = worker.progress.read(c);
        progress += seen.started + seen.ended;
    }
    return progress;
}

}  // namespace

void Home::main(ThreadSlot& slot) noexcept {
    slot_ = &slot;
    engine_.enter_thread(nullptr, slot);
    seen_claims_.resize(engine_.all_workers_.size());
    seen_progress_.resize(engine_.all_workers_.size());
    if (engine_.workers_take_turns()) {
        main_lent();
    } else {
        main_dedicated();
    }
    engine_.leave_thread();
}

void Home::main_lent() noexcept {
    unsigned quiet_ticks = 0;
    while (!engine_.over()) {
        if (time_to_next_expiry() <= 0) {
            if (!engine_.take_turn(Engine::home_index, *slot_))
                platform::yield();  // another thread is inside a turn
            continue;
        }
        if (!alarm_.armed()) {
            sleep(forever);
            quiet_ticks = 0;
            if (alarm_.armed()) {
                (void)remember();  // whoever is inside a short job has come out of it at the first look
                sleep(tick_ns);
            }
            continue;
        }
        const Seen seen = watch_over();
        quiet_ticks = seen == Seen::nothing ? quiet_ticks + 1 : 0;
        if (quiet_ticks >= quiet_ticks_max) {
            if (alarm_.try_disarm([this] { return engine_.anything_to_watch(); }))
                continue;
            quiet_ticks = 0;
        }
        sleep(seen == Seen::doubtful ? tick_ns : calm_tick_ns);
    }
}

// At most so long, and no longer than to the next deadline. Dekker with Engine::show_next_expiry(): until when home sleeps
// is announced, then the next deadline is read; there the deadline is set, and then the announcement read.
void Home::sleep(std::int64_t at_most_ns) noexcept {
    const std::int64_t now = platform::now_ns();
    const std::int64_t until = at_most_ns == forever ? forever : now + at_most_ns;
    sleeps_until_.store(until);
    const std::int64_t wanted = std::min(until, engine_.next_expiry_.load());
    if (wanted < until)
        sleeps_until_.store(wanted);  // a later deadline need not wake it
    if (wanted == forever)
        alarm_.sleep();
    else if (wanted > now)
        alarm_.tick(wanted - now);
    sleeps_until_.store(0);
}

std::int64_t Home::time_to_next_expiry() const noexcept {
    const std::int64_t next = engine_.next_expiry_.load();
    return next == forever ? forever : next - platform::now_ns();
}

void Home::main_dedicated() noexcept {
    lookout_.start_looking();
    while (!engine_.over()) {
        if (!engine_.take_turn(Engine::home_index, *slot_))
            rest();
    }
}

// Keeps "somebody looks" under `dedicated`: out of the lookers first, then a look, then sleep. While workers hold batches
// it sleeps no longer than a tick.
void Home::rest() noexcept {
    if (spin())
        return;
    lookout_.begin_park(0);
    const std::int64_t to_expiry = time_to_next_expiry();
    const bool watching = engine_.anything_to_watch();
    if (engine_.over() || engine_.turn_needed() || to_expiry <= 0) {
        (void)lookout_.cancel_park(0);
    } else if (!watching && to_expiry == forever) {
        lookout_.park(0);
    } else if (!lookout_.park_for(0, watching ? std::min(tick_ns, to_expiry) : to_expiry) && watching) {
        (void)watch_over();
    }
}

bool Home::spin() noexcept {
    if (engine_.spin_budget_ns_ == 0)
        return false;
    const std::int64_t since = engine_.clock_.now();
    for (unsigned round = 0;; ++round) {
        for (unsigned i = 0; i < 8; ++i)
            platform::cpu_relax();
        if (engine_.over() || engine_.turn_needed())
            return true;
        if (round % 4 != 3)
            continue;
        if (engine_.clock_.now() - since > engine_.spin_budget_ns_)
            return false;
        platform::yield();  // on few CPUs home holds the very CPU that a submitter or a worker needs
    }
}

// Who has neither begun nor ended a job since the last look, and is inside one. Keeps "somebody looks" as the worker itself
// would: it was counted, now it is not, and then somebody looks.
void Home::take_off_the_lookers(std::size_t worker) noexcept {
    Worker& each = *engine_.all_workers_[worker];
    const std::uint64_t progress = progress_of(each);
    if (std::exchange(seen_progress_[worker], progress) == progress && each.leave_lookers())
        engine_.stop_looking();
}

// What the next look compares with. True: somebody has been inside one run for longer than runs take.
bool Home::remember() noexcept {
    bool long_inside = false;
    const std::int64_t now = engine_.clock_.now();
    for (std::size_t i = 0; i < seen_claims_.size(); ++i) {
        const Worker& worker = *engine_.all_workers_[i];
        seen_claims_[i] = worker.claim.observe().bits;
        seen_progress_[i] = progress_of(worker);
        // relaxed: whether, and a time; they order nothing.
        long_inside |= worker.executing.load(memory_order_relaxed) != nullptr &&
                       now - worker.run_started_at.load(memory_order_relaxed) > longest_usual_run_ns;
    }
    seen_turns_ = engine_.turns_.load(memory_order_relaxed);  // a count that moves while turns are taken
    return long_inside;
}

// One look; see the header.
Home::Seen Home::watch_over() noexcept {
    if (!engine_.anything_to_watch())
        return Seen::nothing;
    // relaxed: a count that moves while turns are taken.
    bool stalled = engine_.turns_.load(memory_order_relaxed) == seen_turns_ && engine_.turn_needed();
    for (std::size_t i = 0; i < seen_claims_.size(); ++i) {
        const core::ClaimWord claim = engine_.all_workers_[i]->claim.observe();
        stalled |= claim.left() != 0 && claim.bits == seen_claims_[i];
        take_off_the_lookers(i);
    }
    if (stalled)
        (void)engine_.take_turn(Engine::home_index, *slot_, seen_claims_);
    const bool left = engine_.anything_left();
    if ((left || !engine_.run_queue_.empty()) && !engine_.workers_.wake_another() && left &&
        !engine_.workers_.anyone_looking()) {
        (void)engine_.settle_what_is_left(*slot_);  // all workers are inside jobs that take long
    }
    return remember() || stalled ? Seen::doubtful : Seen::all_well;
}

}  // namespace sluice::detail
