// Beginning, looks, end and audit of the executor. What submitters do to it: executor_load.cpp.

#include "executor_part.hpp"

#include "starts.hpp"

#include <chrono>
#include <sstream>
#include <thread>

namespace sluice::soak {

namespace {

bool balanced(const JobTotals& jobs) {
    return jobs.accepted == jobs.queued + jobs.running + jobs.completed();
}

}  // namespace

ExecutorPart::ExecutorPart(Scene& scene, Book& book, test::CountingResource& resource)
    : scene_(scene), book_(book), resource_(resource) {
    rooms_.findings = &scene.findings;
}

ExecutorPart::~ExecutorPart() {
    delete executor_;
}

void ExecutorPart::start() {
    Config config = scene_.plan.executor;
    config.memory = &resource_;
    config.on_thread_start = thread_hook(scene_, started_);
    config.on_thread_stop = thread_hook(scene_, stopped_);
    executor_ = start_part<Executor>(scene_, Part::executor, resource_, config).release();
    limits_ = executor_->config();
    threads_ = stopped_.load() + limits_.pool_size + 1;  // those of attempts that failed have stopped
}

void ExecutorPart::disturb(const Event& event) {
    switch (event.fault) {
        case Fault::actor_removed:
            if (executor_->remove_actor(name_of(event.choice % scene_.plan.load.actors)))
                scene_.faults.count(Fault::actor_removed);
            break;
        case Fault::allocation_fails:
            resource_.fail_nth(1 + event.choice / part_count % 20);
            break;
        case Fault::early_shutdown:
            scene_.faults.count(Fault::early_shutdown);
            static_cast<void>(
                executor_->shutdown(event.choice % 2 == 0 ? Shutdown::drain : Shutdown::cancel));
            break;
        default:
            break;
    }
}

void ExecutorPart::sample() {
    const std::uint64_t least = book_.at_least();
    const Snapshot seen = executor_->snapshot();
    const std::uint64_t most = book_.at_most();
    const std::uint64_t submissions = seen.jobs.accepted + seen.refused.total();
    const bool good = balanced(seen.jobs) && balanced(seen.interactive.jobs) &&
                      balanced(seen.maintenance.jobs) && seen.undispatched == 0 && submissions >= least &&
                      submissions <= most && seen.jobs.accepted >= before_.accepted &&
                      seen.jobs.completed() >= before_.completed() && seen.jobs.queued <= most;
    scene_.findings.expect(good, [&] {
        return "executor: a snapshot that does not add up, submissions " + std::to_string(least) + ".." +
               std::to_string(most) + ": " + state();
    });
    before_ = seen.jobs;
    if (const auto actor = executor_->actor_snapshot(name_of(0))) {
        scene_.findings.expect(actor->accepted == actor->queued + actor->running + actor->completed,
                               [] { return std::string("executor: an actor's totals do not add up"); });
    }
    static_cast<void>(executor_->running_mutations());
    static_cast<void>(executor_->mutation_state(name_of(0), "soak"));
}

void ExecutorPart::end() {
    const End how = scene_.plan.executor_end;
    if (how == End::drain || how == End::cancel) {
        static_cast<void>(executor_->shutdown(how == End::drain ? Shutdown::drain : Shutdown::cancel));
        scene_.findings.expect(executor_->wait_shut_down().has_value(),
                               [] { return std::string("executor: wait_shut_down"); });
        return;
    }
    if (how == End::own_job)
        die_in_own_job();
    else
        delete executor_;
    executor_ = nullptr;
    wait_for_threads(stopped_, threads_);
}

// Its last totals are those of now: until all parts had ended others' jobs were still refused.
void ExecutorPart::destroy() {
    if (executor_ == nullptr)
        return;
    last_ = executor_->snapshot();
    totals_known_ = true;
    delete std::exchange(executor_, nullptr);
}

void ExecutorPart::die_in_own_job() {
    scene_.faults.count(Fault::owner_dies_in_a_job);
    std::unique_ptr<Executor> owner(executor_);
    try {
        auto actor = owner->add_actor("owner", 0);
        // Refused, the closure stays here, and the executor ends on this thread.
        static_cast<void>(actor.post_mutate([held = std::move(owner)](int&) mutable { held.reset(); }));
    } catch (const Exception&) {  // shut down, or no memory: likewise
        owner.reset();
    }
}

void ExecutorPart::audit() {
    check_entries();
    if (totals_known_)
        check_totals();
    scene_.findings.expect(started_.load() == stopped_.load(), [&] {
        return "executor: " + std::to_string(started_.load()) + " threads started, " +
               std::to_string(stopped_.load()) + " stopped";
    });
    // Who ends on a thread of its own destroys them a little later than it says that the thread stops.
    for (const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
         rooms_.alive.load() != 0 && std::chrono::steady_clock::now() < patience;)
        std::this_thread::yield();
    scene_.findings.expect(rooms_.alive.load() == 0, [&] {
        return "executor: " + std::to_string(rooms_.alive.load()) + " contexts left";
    });
}

void ExecutorPart::check_entries() const {
    for (const Entry& entry : book_.entries()) {
        const bool value = entry.told.load() == 1 && entry.outcome.load() == 0;
        const bool threw = entry.outcome.load() == static_cast<std::uint8_t>(ErrorCode::job_threw);
        const bool other = entry.told.load() == 1 && !value && !threw;
        const bool good = entry.destroyed.load() == 1 && entry.told.load() == (entry.asked ? 1 : 0) &&
                          entry.began.load() <= 1 && entry.returned.load() + entry.threw.load() <= 1 &&
                          (entry.heavy || entry.returned.load() + entry.threw.load() == entry.began.load()) &&
                          (!value || entry.returned.load() == 1) && (!threw || entry.threw.load() == 1) &&
                          (!other || (entry.threw.load() == 0 && (entry.heavy || entry.began.load() == 0)));
        scene_.findings.expect(good, [&] { return "executor: " + to_string(entry); });
    }
}

// What the executor says, against what the jobs and their submitters say.
void ExecutorPart::check_totals() const {
    std::uint64_t values = 0;
    std::uint64_t threw = 0;
    for (const Entry& entry : book_.entries()) {
        const bool told = entry.told.load() != 0;
        values += entry.heavy ? (told && entry.outcome.load() == 0 ? 1U : 0U) : entry.returned.load();
        threw += entry.threw.load();
    }
    const JobTotals& jobs = last_.jobs;
    const std::uint64_t submissions = jobs.accepted + last_.refused.total();
    scene_.findings.expect(jobs.queued == 0 && jobs.running == 0 && balanced(jobs) &&
                               submissions == book_.entries().size() && jobs.succeeded == values &&
                               jobs.threw == threw && jobs.abandoned == 0,
                           [&] {
                               return "executor: " + std::to_string(book_.entries().size()) +
                                      " submissions, " + std::to_string(values) + " values, " +
                                      std::to_string(threw) + " threw, but " + to_text(last_);
                           });
}

std::string ExecutorPart::to_text(const Snapshot& seen) {
    std::ostringstream out;
    const JobTotals& jobs = seen.jobs;
    out << "accepted " << jobs.accepted << ", queued " << jobs.queued << ", running " << jobs.running
        << ", succeeded " << jobs.succeeded << ", threw " << jobs.threw << ", removed " << jobs.actor_removed
        << ", fatal " << jobs.actor_fatal << ", shut down " << jobs.shut_down << ", cancelled "
        << jobs.cancelled << ", late " << jobs.deadline_exceeded << ", abandoned " << jobs.abandoned
        << "; refused " << seen.refused.total() << "; turns " << seen.turn.turns << ", role "
        << seen.turn.holder.value_or("free") << ", since "
        << std::chrono::duration_cast<std::chrono::microseconds>(seen.turn.since_last).count() << " us";
    return out.str();
}

std::string ExecutorPart::state() const {
    return executor_ == nullptr ? "gone" : to_text(executor_->snapshot());
}

}  // namespace sluice::soak
