// What the engine's own threads ask and tell: entering and leaving, and who has to look.

#include "executor/engine.hpp"
#include "executor/owned.hpp"
#include "memory/default_resource.hpp"
#include "platform/thread.hpp"

#include <algorithm>
#include <string>

namespace sluice::detail {

using sync::memory_order_relaxed;

namespace {

constexpr std::int64_t short_slice_ns = 200'000;
/// Work that is worth waking one more worker for: less than that is done before the worker is there.
constexpr std::uint64_t worth_a_wake_ns = 20'000;

thread_local ThreadContext context;

}  // namespace

ThreadContext& this_thread_context() noexcept {
    return context;
}

std::string Engine::thread_name(const Worker* worker) const {
    return worker == nullptr ? config_.thread_name_prefix + "-sched"
                             : config_.thread_name_prefix + "-w" + std::to_string(worker->index());
}

void Engine::enter_thread(Worker* worker, ThreadSlot& slot) noexcept {
    memory::prepare_thread();
    context = {this, worker, nullptr};
    const std::string name = thread_name(worker);
    platform::set_thread_name(name);
    if (!config_.cpus.empty()) {
        const std::vector<unsigned> cpus(config_.cpus.begin(), config_.cpus.end());
        (void)platform::set_affinity(cpus);  // start() has checked them
    }
    if (config_.short_time_slice)
        (void)platform::set_short_time_slice(short_slice_ns);
    SlotLease::adopt(*this, slot);
    call_hook(config_.on_thread_start, name);
}

// The user's: what it throws ends here, and is counted.
void Engine::call_hook(const ThreadHook& hook, const std::string& name) noexcept {
    if (!hook)
        return;
    try {
        hook(name);
    } catch (...) {
        count_callback_that_threw();
    }
}

// Whether a turn would find something. seq_cst reads throughout: the last look before a thread parks.
bool Engine::turn_needed() const noexcept {
    if (ingress_.pending() || requests_.load() != nullptr || strays_.load() != nullptr ||
        stops_.load() != nullptr || more_to_hand_out_.load() || more_overdue_.load()) {
        return true;
    }
    if (shutdown_mode_.load() != shutdown_served_.load())
        return true;
    for (const auto& worker : all_workers_) {
        (void)worker->posted.load();  // pairs with reported(): what was pushed before it is seen
        if (!worker->reports.empty())
            return true;
    }
    return false;
}

bool Engine::work_for_worker() const noexcept {
    if (over() || !run_queue_.empty() || anything_left())
        return true;
    return workers_take_turns() && role_->load() == 0 && turn_needed();
}

bool Engine::anything_to_watch() const noexcept {
    if (turn_needed() || !run_queue_.empty() || anything_left())
        return true;
    for (const auto& worker : all_workers_) {
        if (worker->claim.observe().left() != 0)
            return true;
    }
    return false;
}

// How many jobs a worker claims at once. If what is handed out is worth another worker's time, half of it is left for that one.
std::uint32_t Engine::fair_share_of_runs() const noexcept {
    // relaxed: a hint.
    if (expected_in_flight_ns_.load(memory_order_relaxed) <= worth_a_wake_ns)
        return Worker::batch_jobs_max;
    const auto half = static_cast<std::uint32_t>((run_queue_.size() + 1) / 2);
    return std::clamp(half, 1U, Worker::batch_jobs_max);
}

// After a claim: wakes one more worker if what is left is worth it. Each that is woken does the same, so a large backlog
// wakes as many as it needs, one after the other. True: something is left, there or in the ingress, as a batch leaves it.
bool Engine::call_for_help() noexcept {
    if (run_queue_.empty())
        return more_to_hand_out_.load();
    // relaxed: a hint.
    if (expected_in_flight_ns_.load(memory_order_relaxed) > worth_a_wake_ns)
        (void)workers_.wake_another();
    return true;
}

// A run end was reported. Under `lent` its worker is a looker and collects it itself, or is about to stop being one and
// then looks. Under `dedicated` home may be about to sleep (Dekker): the count goes up, then asleep_ is read.
void Engine::reported(Worker& worker) noexcept {
    if (workers_take_turns())
        return;
    worker.posted.fetch_add(1);
    home_.look_now();
}

// Keeps "somebody looks": first no looker any more, then a look. The last looker wakes another if there is work.
void Engine::stop_looking() noexcept {
    if (workers_.stop_looking() && work_for_worker())
        make_somebody_look_at_runs();
}

void Engine::wake_all() noexcept {
    while (workers_.wake_another()) {}
    home_.stop();
}

void Engine::make_somebody_look_at_runs() noexcept {
    if (workers_.wake_one() != sync::Wake::woke && workers_take_turns())
        home_.watch();
}

}  // namespace sluice::detail
