#include "driver.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "arrival.hpp"
#include "os.hpp"

namespace sluice::replay {

void Driver::add_actors(Executor& executor) {
    actors_.reserve(trace_.actors.size());
    for (const std::string& name : trace_.actors)
        actors_.push_back(executor.add_actor(name, ActorState{}));
}

template <class Job, class Call>
Fate Driver::submit_as(std::size_t job, std::uint64_t service_ns, Call&& call) {
    Job closure{{JobToken(recorder_.record(job)), &setting_, service_ns}};
    Completion<void> completion = call(closure);
    if (!closure.token.here()) {
        completion.detach();
        return Fate::accepted;
    }
    // Refused, so the closure is as it was and the answer is there.
    closure.token.release();
    const Result<void> refusal = completion.wait();
    const bool full = !refusal && refusal.error() == ErrorCode::queue_full;
    return full ? Fate::refused_queue_full : Fate::refused_otherwise;
}

Fate Driver::submit(std::size_t job) {
    const Row& row = trace_.rows[plan_.jobs[job].row];
    const Actor<ActorState>& actor = actors_[row.actor];
    const JobOptions options{.job_class = row.job_class};
    const std::uint64_t service_ns = plan_.service_ns(row);
    switch (row.lane) {
        case Lane::pure_read:
            return submit_as<Reading>(job, service_ns,
                                      [&](auto& f) { return actor.read(options, std::move(f)); });
        case Lane::serial_status:
            return submit_as<Reading>(job, service_ns,
                                      [&](auto& f) { return actor.status(options, std::move(f)); });
        case Lane::heavy_init:
            return submit_as<Building>(
                job, service_ns, [&](auto& f) { return actor.build(options, std::move(f), Installing{}); });
        case Lane::mutating:
            break;
    }
    return submit_as<Mutating>(job, service_ns, [&](auto& f) { return actor.mutate(options, std::move(f)); });
}

void Driver::submit_all() {
    os::sleep_precisely();
    const std::uint64_t cpu_before = os::thread_cpu_ns();
    const std::size_t half = plan_.jobs.size() / 2;
    std::size_t job = 0;
    for (; job < plan_.jobs.size(); ++job) {
        if (!wait_for_arrival(recorder_, plan_.jobs[job].arrival_ns, interrupted_))
            break;
        if (job == half)
            allocations_at_half_ = memory_.allocations();
        Submission& submission = recorder_.submission(job);
        submission.called = recorder_.now();
        submission.fate = submit(job);
        const std::uint64_t took = recorder_.now() - submission.called;
        submission.call_ns = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(took, std::numeric_limits<std::uint32_t>::max()));
        submitted_.store(job + 1, std::memory_order_release);
    }
    if (job <= half)
        allocations_at_half_ = memory_.allocations();
    cpu_ns_ = os::thread_cpu_ns() - cpu_before;
    finished_.store(true, std::memory_order_release);
}

std::uint64_t count_changes(const Executor& executor) {
    std::uint64_t changes = 0;
    for (const ActorEntry& entry : executor.actors()) {
        if (const auto* state = entry.context<ActorState>())
            changes += state->changes;
    }
    return changes;
}

}  // namespace sluice::replay
