// Goal: no memory and no lock per job in steady state, and a balance of zero at the end (E31).
// Method: a counting resource under the executor, and the calls of malloc and of pthread_mutex_lock of the whole process,
// over 100,000 jobs after a warm-up. Then resources that fail at the n-th call.
#include <optional>
#include <string>

#include "executor/harness.hpp"
#include "support/counting_resource.hpp"
#include "support/malloc_counter.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Jobs of every lane and class, from several threads, each thread with a window of handles; some posted, some dropped.
/// Allocates nothing itself.
class Traffic {
public:
    static constexpr unsigned threads = 3;

    explicit Traffic(Executor& executor) {
        for (std::size_t i = 0; i < actors_.size(); ++i)
            actors_[i] = executor.add_actor("a" + std::to_string(i), 0L);
        for (unsigned t = 0; t < threads; ++t)
            workers_[t] = std::jthread([this, t] { submit(t); });
    }
    ~Traffic() {
        rounds_.store(-1);
        rounds_.notify_all();
    }
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;

    /// Lets each thread submit so many jobs, and waits for all of them.
    void run(int jobs_each) {
        done_.store(0);
        jobs_each_.store(jobs_each);
        rounds_.fetch_add(1);
        rounds_.notify_all();
        for (unsigned done = done_.load(); done != threads; done = done_.load())
            done_.wait(done);
    }
    [[nodiscard]] int failures() const {
        return failures_.load();
    }

private:
    void submit(unsigned self) {
        std::array<Completion<long>, 32> window;
        for (int seen = 0;;) {
            rounds_.wait(seen);
            seen = rounds_.load();
            if (seen < 0)
                return;
            for (int i = 0; i < jobs_each_.load(); ++i)
                one(window[static_cast<std::size_t>(i) % window.size()], i, self);
            for (auto& job : window)
                finish(job);
            done_.fetch_add(1);
            done_.notify_all();
        }
    }

    void one(Completion<long>& place, int i, unsigned self) {
        finish(place);
        const Actor<long>& actor = actors_[(static_cast<std::size_t>(i) * 7 + self) % actors_.size()];
        const JobOptions options{.job_class = i % 5 == 0 ? JobClass::maintenance : JobClass::interactive,
                                 .request_id = i % 3 == 0 ? std::string_view("request") : std::string_view{}};
        const std::array<long, 6> captured{i, 1, 2, 3, 4, 5};
        switch (i % 16) {
            case 0:
                place = actor.build(
                    options,
                    [captured](const long&) { return captured[1]; },  // beside mutations: it reads nothing
                    [](long& n, long built) { return n = built; });
                break;
            case 1:
                place = actor.build(options, [](const long&) { return 1L; });
                break;
            case 2:
                place = actor.status(options, [](const long& n) { return n; });
                break;
            case 3:
                actor.mutate(options, [](long& n) { return ++n; }).detach();
                break;
            case 4:
                failures_.fetch_add(actor.post_mutate(options, [](long& n) { ++n; }) ? 0 : 1);
                break;
            case 5:
            case 6:
                place = actor.mutate(options, [captured](long& n) { return n += captured[2]; });
                break;
            default:
                place = actor.read(options, [captured](const long& n) { return n + captured[3]; });
                break;
        }
    }

    void finish(Completion<long>& job) {
        if (job.valid() && !job.wait_for(patience))
            failures_.fetch_add(1);
    }

    std::array<Actor<long>, 12> actors_;
    std::atomic<int> rounds_{0};
    std::atomic<int> jobs_each_{0};
    std::atomic<unsigned> done_{0};
    std::atomic<int> failures_{0};
    std::array<std::jthread, threads> workers_;
};

}  // namespace

TEST_CASE("E31 100,000 jobs in steady state: no allocation and no mutex, on any thread") {
    under_both_policies({2, 4}, [](Config config) {
        CountingResource resource;
        config.memory = &resource;
        config.reserve_nodes = 2048;
        {
            Executor executor(config);
            Traffic traffic(executor);
            for (int round = 0; round < 4; ++round)
                traffic.run(scaled(8'000));
            const CallCounts calls = call_counts();
            const std::uint64_t allocations = resource.allocations();
            const std::uint64_t nodes = executor.snapshot().nodes;
            traffic.run(scaled(34'000));
            const CallCounts used = call_counts() - calls;
            CHECK(resource.allocations() == allocations);
            CHECK(executor.snapshot().nodes == nodes);
            if (call_counting_available()) {
                CHECK(used.allocations == 0);
#ifndef SLUICE_PLATFORM_PORTABLE  // which sleeps and wakes by a mutex and a condition variable, for want of better
                CHECK(used.mutex_locks == 0);
#endif
            }
            CHECK(traffic.failures() == 0);
        }
        CHECK(resource.blocks_in_use() == 0);
        CHECK(resource.bytes_in_use() == 0);
    });
}

TEST_CASE("E31 memory levels off with nothing reserved, and a larger closure costs one allocation") {
    under_both_policies({2}, [](Config config) {
        CountingResource resource;
        config.memory = &resource;
        {
            Executor executor(config);
            auto actor = executor.add_actor("a", 0);
            const auto round_trips = [&](int count) {
                for (int i = 0; i < count; ++i)
                    CHECK(code_of(actor.mutate([](int&) {})) == no_error);
            };
            round_trips(300);
            std::uint64_t before = resource.allocations();
            round_trips(scaled(3000));
            CHECK(resource.allocations() == before);
            std::array<char, 200> bulk{};
            before = resource.allocations();
            const std::uint64_t blocks = resource.blocks_in_use();
            const std::uint64_t oversized = executor.snapshot().oversized;
            for (int i = 0; i < 100; ++i)
                CHECK(value_of(actor.read([bulk](const int&) { return static_cast<int>(bulk[5]); })) == 0);
            CHECK(resource.allocations() == before + 100);
            CHECK(resource.blocks_in_use() == blocks);
            CHECK(executor.snapshot().oversized == oversized + 100);
        }
        CHECK(resource.blocks_in_use() == 0);
    });
}

TEST_CASE("E31 E23 fixed_capacity: what was promised fits, more is refused, and nothing is allocated") {
    under_both_policies({1, 2}, [](Config config) {
        CountingResource resource;
        config.memory = &resource;
        config.reserve_nodes = 200;
        config.fixed_capacity = true;
        config.max_queued = 0;
        {
            Executor executor(config);
            auto actor = executor.add_actor("a", 0);
            CHECK(code_of(actor.mutate([](int&) {})) == no_error);
            for (int round = 0; round < 4; ++round) {
                AllWorkersHeld held(executor);
                const std::uint64_t allocations = resource.allocations();
                int accepted = 0;
                Result<void> posted;
                while ((posted = actor.post_mutate([](int& n) { ++n; })))
                    REQUIRE(++accepted < 100'000);
                CHECK(accepted >= 200 - static_cast<int>(executor.config().pool_size));
                CHECK(posted.error() == ErrorCode::queue_full);
                CHECK(posted.error().limit().name == "fixed_capacity");
                CHECK(posted.error().limit().value == executor.snapshot().nodes);
                CHECK(posted.error().limit().count == posted.error().limit().value);
                CHECK(posted.error().limit().count >= static_cast<std::uint64_t>(accepted));
                CHECK(posted.error().message().find("fixed_capacity") != std::string_view::npos);
                CHECK(resource.allocations() == allocations);
                held.release();
                CHECK(eventually([&] { return executor.snapshot().jobs.queued == 0; }));
                CHECK(code_of(actor.mutate([](int&) {})) == no_error);
            }
        }
        CHECK(resource.blocks_in_use() == 0);
    });
}

TEST_CASE(
    "E33 E31 a larger job for which there is no memory is refused, and nothing else: it was never accepted") {
    under_both_policies({1}, [](Config config) {
        CountingResource resource;
        config.memory = &resource;
        config.max_queued_per_actor = 5;
        {
            Executor executor(config);
            auto actor = executor.add_actor("a", 0);
            CHECK(code_of(actor.read([](const int&) {})) == no_error);
            resource.fail_all(true);
            std::stop_source stop;
            for (int i = 0; i < 20; ++i) {
                const auto refused =
                    result_of(actor.read({.stop = stop.get_token()},
                                         [bulk = std::array<char, 400>{}](const int&) { return bulk[0]; }));
                REQUIRE_FALSE(refused);
                CHECK(refused.error() == ErrorCode::out_of_memory);
            }
            const Snapshot snapshot = executor.snapshot();
            CHECK(snapshot.refused.other == 20);
            CHECK(snapshot.jobs.accepted == 1);
            CHECK(snapshot.jobs.abandoned == 0);
            CHECK(code_of(actor.read([](const int&) {})) == no_error);  // no place was lost
            resource.fail_all(false);
        }
        CHECK(resource.blocks_in_use() == 0);
    });
}

TEST_CASE("E31 reserve(n) allocates ahead: n jobs then need no allocation") {
    under_both_policies({1}, [](Config config) {
        CountingResource resource;
        config.memory = &resource;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        CHECK(code_of(actor.mutate([](int&) {})) == no_error);
        CHECK(executor.reserve(5000));
        AllWorkersHeld held(executor);
        const std::uint64_t allocations = resource.allocations();
        for (int i = 0; i < 5000; ++i)
            CHECK(actor.post_mutate([](int&) {}));
        CHECK(resource.allocations() == allocations);
        resource.fail_all(true);
        CHECK(executor.reserve(100'000).error() == ErrorCode::out_of_memory);
        resource.fail_all(false);
        held.release();
    });
}

TEST_CASE(
    "E31 reserve(n) holds whichever threads work: what their caches keep is allocated beside, for later ones "
    "too") {
    under_both_policies({1, 4}, [](Config config) {
        CountingResource resource;
        config.memory = &resource;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        CHECK(executor.reserve(64));
        const std::uint64_t allocations = resource.allocations();
        std::uint64_t first_submission = 0;
        const auto one_at_a_time = [&] {
            // Each job gives its node to the cache of the worker that ran it.
            CHECK(code_of(actor.read([](const int&) {})) == no_error);
            first_submission = resource.allocations();
            for (int i = 0; i < 2'000; ++i) {
                CHECK(actor.post_read([](const int&) {}));
                CHECK(eventually([&] {
                    return executor.snapshot().jobs.completed() == executor.snapshot().jobs.accepted;
                }));
            }
        };
        one_at_a_time();
        CHECK(first_submission == allocations);  // this thread's cache was covered with the workers'
        CHECK(resource.allocations() == first_submission);
        const std::uint64_t before = resource.allocations();
        std::jthread(one_at_a_time).join();
        CHECK(first_submission - before == 2);  // the other thread's own
        CHECK(resource.allocations() == first_submission);
    });
}

TEST_CASE("E34 E31 more than could ever be reserved is refused as an argument") {
    Executor executor;
    for (const std::size_t jobs : {(std::size_t{1} << 32) + 1, ~std::size_t{0}}) {
        const auto refused = executor.reserve(jobs);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() == ErrorCode::invalid_argument);
        CHECK(refused.error().limit().name == "jobs");
        CHECK(refused.error().message().ends_with(", but must be 0..2^32"));
    }
    CHECK(executor.reserve(0));
}

TEST_CASE("E31 completions and listings that outlive the executor give their memory back last") {
    under_both_policies({2}, [](Config config) {
        for (int round = 0; round < 10; ++round) {
            CountingResource resource;
            config.memory = &resource;
            std::optional<Executor> executor(std::in_place, config);
            auto actor = executor->add_actor("a", std::string("context"));
            std::vector<Completion<std::string>> jobs;
            for (int i = 0; i < 100; ++i)
                jobs.push_back(actor.read([](const std::string& s) { return s; }));
            std::vector<ActorEntry> entries = executor->actors();
            executor.reset();
            CHECK(resource.blocks_in_use() > 0);
            std::jthread elsewhere([mine = std::move(jobs)]() mutable { mine.resize(3); });
            elsewhere.join();
            CHECK(*entries[0].context<std::string>() == "context");
            entries.clear();
            CHECK(resource.blocks_in_use() == 0);
        }
    });
}

TEST_CASE("E31 E16 the n-th allocation fails: a refusal says so, no job is lost, all memory comes back") {
    under_both_policies({1, 2}, [](Config config) {
        for (std::uint64_t n = 1; n <= 12; ++n) {
            INFO("allocation " << n << " fails");
            CountingResource resource;
            config.memory = &resource;
            std::atomic<int> ran{0};
            int accepted = 0;
            {
                resource.fail_nth(n);
                auto created = Executor::create(config);
                if (!created) {
                    CHECK(created.error() == ErrorCode::out_of_memory);
                    continue;
                }
                for (int a = 0; a < 4; ++a) {
                    try {
                        auto actor = created->add_actor("a" + std::to_string(a), std::array<int, 40>{});
                        for (int i = 0; i < 40; ++i) {
                            std::array<char, 300> bulk{};
                            const auto small = actor.post_mutate([&ran](auto&) { ran.fetch_add(1); });
                            const auto large =
                                actor.post_read([&ran, bulk](const auto&) { ran.fetch_add(1 + bulk[9]); });
                            for (const auto* posted : {&small, &large}) {
                                if (*posted)
                                    ++accepted;
                                else
                                    CHECK(posted->error() == ErrorCode::out_of_memory);
                            }
                        }
                    } catch (const Exception& refused) {
                        CHECK(refused.error() == ErrorCode::out_of_memory);
                    }
                }
                CHECK(eventually([&] { return ran.load() == accepted; }));
                CHECK(eventually([&] {
                    const JobTotals jobs = created->snapshot().jobs;
                    return jobs.queued == 0 && jobs.accepted == jobs.completed();
                }));
            }
            CHECK(resource.blocks_in_use() == 0);
        }
    });
}

TEST_CASE("E31 no memory at the start, for the nodes that were asked for, is an error and leaks nothing") {
    CountingResource resource;
    resource.fail_all(true);
    Config config;
    config.memory = &resource;
    config.reserve_nodes = 1000;
    const auto refused = Executor::create(config);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == ErrorCode::out_of_memory);
    CHECK(refused.error().limit().name == "reserve_nodes");
    CHECK(resource.blocks_in_use() == 0);
}
