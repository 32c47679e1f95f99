// Goal:   ten times more than the workers can do, for as long as one likes: memory is bounded, refusals are exact and name their
//         bound (E23, E33, E34), interactive work does not feel the maintenance that saturates the rest (E11), and a second
//         after the load stops it is as one that was never flooded.
// Method: submitters that may make ten submissions for each job that has ended. Jobs take a fixed time, asleep, so that they and their
//         submitters do not compete for CPUs. What is queued is counted beside the executor. SLUICE_TEST_SECONDS=300 makes it
//         five minutes; 3 s without it.
#include "support/overload.hpp"
#include "executor/harness.hpp"
#include "support/counting_resource.hpp"

#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr auto work = 2ms;
constexpr unsigned submitters = 2;
constexpr std::size_t bulk_actors = 4;
// Two workers are through with 200 jobs in 200 ms.
constexpr std::int64_t most_per_actor = 50;
constexpr std::int64_t most_in_all = 200;

/// Ten times too much maintenance for a few actors, until it is stopped.
class Flood {
public:
    Flood(Executor& executor, std::string_view bound, std::uint64_t most) : bound_(bound), most_(most) {
        for (std::size_t i = 0; i < bulk_actors; ++i)
            actors_[i] = executor.add_actor("bulk" + std::to_string(i), 0);
        for (unsigned i = 0; i < submitters; ++i)
            threads_.emplace_back([this, i](const std::stop_token& stop) { submit(i, stop); });
    }
    void stop() {
        for (std::jthread& thread : threads_)
            thread.request_stop();
        threads_.clear();
    }

    Flooding told{work};

private:
    void submit(std::size_t next, const std::stop_token& stop) {
        told.submit(
            stop,
            [&](auto job) {
                return actors_[next++ % bulk_actors].post_read({.job_class = JobClass::maintenance},
                                                               [job](const int&) { job(); });
            },
            [this](const Error& error) {
                const LimitHit hit = error.limit();
                return error == ErrorCode::queue_full && hit.name == bound_ && hit.value == most_ &&
                       hit.count == most_;
            });
    }

    const std::string_view bound_;
    const std::uint64_t most_;
    std::array<Actor<int>, bulk_actors> actors_;
    std::vector<std::jthread> threads_;  // last: they use the others
};

void round_trips(Latencies& latencies, const Actor<int>& actor, int count) {
    for (int i = 0; i < count; ++i)
        latencies.measure([&] { CHECK(code_of(actor.read([](const int&) {})) == no_error); });
}

/// Within what time the executor is as one that was never flooded, once nothing more comes.
void check_recovery(const Executor& executor, const Actor<int>& actor, const Config& config) {
    const auto stopped = steady_clock::now();
    CHECK(within_steps(1s / work, work, [&] {
        const JobTotals jobs = executor.snapshot().jobs;
        return jobs.queued == 0 && jobs.running == 0;
    }));
    const auto took = steady_clock::now() - stopped;
    Config same = config;
    same.memory = nullptr;
    Executor fresh(same);
    auto unhurried = fresh.add_actor("fresh", 0);
    const Recovery recovery =
        compare_round_trips([&](Latencies& times) { round_trips(times, actor, 1); },
                            [&](Latencies& times) { round_trips(times, unhurried, 1); });
    CHECK(recovery.as_quick());
    MESSAGE("empty after " << took / 1ms << " ms; a round trip takes " << recovery.flooded / 1us << " us, "
                           << recovery.fresh / 1us << " us on one that was never flooded");
}

}  // namespace

TEST_CASE("E11 E23 E33 E34 overload: ten times too much maintenance, for actors that each have a limit") {
    for (const SchedulerPolicy policy : {SchedulerPolicy::lent, SchedulerPolicy::dedicated}) {
        INFO("policy " << to_string(policy));
        CountingResource resource;
        Config config;
        config.policy = policy;
        config.pool_size = 4;  // two for maintenance, two that it leaves alone
        config.max_queued_per_actor = most_per_actor;
        config.memory = &resource;
        {
            Executor executor(config);
            auto hurried = executor.add_actor("hurried", 0);
            Latencies latencies;
            Latencies sleeps;  // how late this thread is that waits for nobody
            std::uint64_t unbalanced = 0;
            Flood flood(executor, "max_queued_per_actor", most_per_actor);
            const auto end = steady_clock::now() + overload_time(3);
            while (steady_clock::now() < end) {
                round_trips(latencies, hurried, 1);
                const JobTotals jobs = executor.snapshot().jobs;
                unbalanced += jobs.accepted == jobs.queued + jobs.running + jobs.completed() ? 0U : 1U;
                sleeps.measure([] { std::this_thread::sleep_for(1ms); });
            }
            flood.stop();
            check_recovery(executor, hurried, config);
            const Snapshot last = executor.snapshot();
            CHECK(unbalanced == 0);
            CHECK(flood.told.wrong.load() == 0);
            CHECK(flood.told.refused.load() > flood.told.accepted.load());
            CHECK(flood.told.load.submitted() == flood.told.accepted.load() + flood.told.refused.load());
            CHECK(last.maintenance.jobs.accepted == flood.told.accepted.load());
            CHECK(last.refused.queue_full == flood.told.refused.load());
            CHECK(last.refused.total() == flood.told.refused.load());
            CHECK(flood.told.ran.load() == flood.told.accepted.load());
            // Down when a job begins, which is after it left the queue.
            CHECK(flood.told.queued.highest() <= most_per_actor * static_cast<std::int64_t>(bulk_actors) + 4);
            CHECK(flood.told.queued.highest() > most_per_actor);
            // The line of the flood is 200 ms long; what it may wait for is a worker that sleeps.
            CHECK(latencies.percentile(50) < work + 2 * sleeps.percentile(50));
            CHECK(latencies.percentile(99) < 50ms + 2 * sleeps.percentile(99));
            // What is queued and running, and what each thread may keep in its cache, rounded up to whole slabs.
            constexpr std::uint64_t threads = 4 + 1 + submitters + 1;
            CHECK(last.nodes <= most_per_actor * bulk_actors + 4 + 2 * 128 * threads);
            MESSAGE(to_string(policy)
                    << ": " << flood.told.load.submitted() << " submissions, " << flood.told.refused.load()
                    << " refused; interactive p50 " << latencies.percentile(50) / 1us << " us, p99 "
                    << latencies.percentile(99) / 1us << " us of " << latencies.count() << "; " << last.nodes
                    << " nodes, " << resource.bytes_in_use() / 1024 << " KiB");
        }
        CHECK(resource.blocks_in_use() == 0);
    }
}

TEST_CASE("E23 E33 E34 overload: ten times too much for the limit of the whole executor") {
    CountingResource resource;
    Config config;
    config.pool_size = 4;
    config.max_queued = most_in_all;
    config.memory = &resource;
    {
        Executor executor(config);
        auto hurried = executor.add_actor("hurried", 0);
        Flood flood(executor, "max_queued", most_in_all);
        std::uint64_t most_bytes = 0;
        const auto end = steady_clock::now() + overload_time(3);
        while (steady_clock::now() < end) {
            most_bytes = std::max(most_bytes, resource.bytes_in_use());
            std::this_thread::sleep_for(1ms);
        }
        flood.stop();
        check_recovery(executor, hurried, config);
        const Snapshot last = executor.snapshot();
        CHECK(flood.told.wrong.load() == 0);
        CHECK(flood.told.refused.load() > flood.told.accepted.load());
        CHECK(last.maintenance.jobs.accepted == flood.told.accepted.load());
        CHECK(last.refused.queue_full == flood.told.refused.load());
        CHECK(flood.told.ran.load() == flood.told.accepted.load());
        CHECK(flood.told.queued.highest() <= most_in_all + 4);
        CHECK(flood.told.queued.highest() >= most_in_all - 10);
        CHECK(most_bytes <= (most_in_all + 4 + 2 * 128 * 8) * 512);
        MESSAGE(flood.told.load.submitted() << " submissions, " << flood.told.refused.load()
                                            << " refused; at most " << most_bytes / 1024 << " KiB");
    }
    CHECK(resource.blocks_in_use() == 0);
}
