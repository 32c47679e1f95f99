// Goal: snapshots answer while every worker is stuck, and their numbers add up at any moment (E29, E33).
// Method: a known constellation, read in full; then snapshots without pause while everything that can happen happens.
#include <functional>
#include <stdexcept>
#include <string>

#include "executor/harness.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Whether the numbers add up, none of them having gone below zero (they would be huge).
bool adds_up(const JobTotals& jobs) {
    constexpr std::uint64_t huge = std::uint64_t{1} << 60;
    for (const std::uint64_t count :
         {jobs.accepted, jobs.queued, jobs.running, jobs.succeeded, jobs.threw, jobs.actor_removed,
          jobs.actor_fatal, jobs.shut_down, jobs.cancelled, jobs.deadline_exceeded, jobs.abandoned}) {
        if (count > huge)
            return false;
    }
    return jobs.accepted == jobs.queued + jobs.running + jobs.completed();
}

bool adds_up(const Snapshot& snapshot) {
    return adds_up(snapshot.jobs) && adds_up(snapshot.interactive.jobs) &&
           adds_up(snapshot.maintenance.jobs) &&
           snapshot.jobs.accepted ==
               snapshot.interactive.jobs.accepted + snapshot.maintenance.jobs.accepted &&
           snapshot.jobs.running == snapshot.interactive.jobs.running + snapshot.maintenance.jobs.running &&
           snapshot.turn.since_last >= 0ns && snapshot.undispatched == 0 &&
           (!snapshot.interactive.oldest_age || *snapshot.interactive.oldest_age >= 0ns) &&
           (!snapshot.maintenance.oldest_age || *snapshot.maintenance.oldest_age >= 0ns);
}

/// An exception that looks at its executor while the error of its job is made.
struct Inquisitive : std::exception {
    std::function<void()> look;
    explicit Inquisitive(std::function<void()> looks) : look(std::move(looks)) {}
    [[nodiscard]] const char* what() const noexcept override {
        look();
        return "looked";
    }
};

}  // namespace

TEST_CASE("E29 while every worker is stuck: queued and running by class, ages, reserve, cap, turns") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        Executor executor(config);
        const EffectiveConfig& caps = executor.config();
        Snapshot snapshot = executor.snapshot();
        CHECK(adds_up(snapshot));
        CHECK_FALSE(snapshot.interactive.oldest_age);
        CHECK(snapshot.interactive_reserve == caps.interactive_reserve);
        CHECK(snapshot.maintenance_cap == caps.maintenance_cap);

        AllWorkersHeld held(executor);
        auto actor = executor.add_actor("a", 0);
        for (int i = 0; i < 5; ++i)
            CHECK(actor.post_read([](const int&) {}));
        for (int i = 0; i < 3; ++i)
            CHECK(actor.post_mutate({.job_class = JobClass::maintenance}, [](int&) {}));
        std::this_thread::sleep_for(10ms);
        snapshot = executor.snapshot();
        CHECK(adds_up(snapshot));
        CHECK(snapshot.interactive.jobs.queued == 5);
        CHECK(snapshot.maintenance.jobs.queued == 3);
        CHECK(snapshot.interactive.jobs.running == caps.pool_size);
        CHECK(snapshot.maintenance.jobs.running == 0);
        CHECK(snapshot.actors == 1 + caps.pool_size);
        REQUIRE(snapshot.interactive.oldest_age);
        REQUIRE(snapshot.maintenance.oldest_age);
        CHECK(eventually([&] { return *executor.snapshot().interactive.oldest_age >= 10ms; }));
        CHECK(eventually([&] { return *executor.snapshot().maintenance.oldest_age >= 10ms; }));
        const auto age = *executor.snapshot().interactive.oldest_age;
        CHECK(eventually([&] { return *executor.snapshot().interactive.oldest_age > age + 5ms; }));
        CHECK(snapshot.turn.turns > 0);
        CHECK(eventually(
            [&] { return executor.snapshot().turn.since_last > 20ms || executor.snapshot().turn.held; }));
        CHECK(executor.actor_snapshot("a")->accepted == 8);
        CHECK(executor.actor_snapshot("a")->queued == 8);
        held.release();
        CHECK(eventually(
            [&] { return executor.snapshot().jobs.queued + executor.snapshot().jobs.running == 0; }));
        CHECK_FALSE(executor.snapshot().interactive.oldest_age);
        CHECK(eventually([&] { return executor.actor_snapshot("a")->completed == 8; }));
    });
}

TEST_CASE("E29 the age of a job does not come from an earlier life of its memory") {
    under_both_policies({1}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (int i = 0; i < 200; ++i)
            CHECK(code_of(actor.read([](const int&) {})) == no_error);
        std::this_thread::sleep_for(300ms);
        const auto begin = steady_clock::now();
        {
            const Batch batch(executor);  // nobody is woken: the job stays in the ingress
            CHECK(actor.post_read([](const int&) {}));
            const auto age = executor.snapshot().interactive.oldest_age;
            const auto at_most = steady_clock::now() - begin;
            if (age && at_most < 200ms)
                CHECK(*age <= at_most);
        }
    });
}

TEST_CASE("E29 running mutations: actor, request, label and age, ordered by actor") {
    under_both_policies({4}, [](const Config& config) {
        Executor executor(config);
        const Gate gate;
        std::vector<Completion<void>> jobs;
        const auto pass = [gate](auto&) { gate.pass(); };
        auto c = executor.add_actor("c", 0);
        auto a = executor.add_actor("a", 0);
        auto b = executor.add_actor("b", 0);
        jobs.push_back(c.mutate({.request_id = "r3", .label = "reindex"}, pass));
        jobs.push_back(a.mutate({.request_id = "r1"}, pass));
        jobs.push_back(b.read({.request_id = "r2"}, pass));  // no mutation
        REQUIRE(gate.reached_by(3));
        std::this_thread::sleep_for(5ms);
        const auto running = executor.running_mutations();
        REQUIRE(running.size() == 2);
        CHECK(running[0].actor == "a");
        CHECK(running[0].request_id == "r1");
        CHECK(running[0].label == "interactive/mutating");
        CHECK(running[0].age >= 5ms);
        CHECK(running[1].actor == "c");
        CHECK(running[1].request_id == "r3");
        CHECK(running[1].label == "reindex");
        CHECK(executor.actor_snapshot("a")->running == 1);
        gate.open();
        for (auto& job : jobs)
            CHECK(code_of(job) == no_error);
        CHECK(executor.running_mutations().empty());
    });
}

TEST_CASE("E29 the age of a running mutation is its own, not that of the run it belongs to") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (int i = 0; i < 2000; ++i)  // known as tiny: handed out in runs
            actor.post_mutate([](int& n) { ++n; }).value();
        CHECK(code_of(actor.mutate([](int&) {})) == no_error);
        const Gate gate;
        {
            const Batch batch(executor);
            actor.post_mutate([](int&) { std::this_thread::sleep_for(200ms); }).value();
            actor.post_mutate({.request_id = "second"}, [gate](int&) { gate.pass(); }).value();
        }
        REQUIRE(gate.reached_by(1));
        const auto begin = steady_clock::now();
        const auto running = executor.running_mutations();
        const auto took = steady_clock::now() - begin;
        REQUIRE(running.size() == 1);
        CHECK(running[0].request_id == "second");
        if (took < 50ms)
            CHECK(running[0].age < 150ms);
        gate.open();
    });
}

TEST_CASE("E29 the five states of a mutating request") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        CHECK(executor.mutation_state("nobody", "r1") == MutationState::actor_missing);
        CHECK(executor.mutation_state("a", "r1") == MutationState::not_found);
        const Gate gate;
        auto running = actor.mutate({.request_id = "r1"}, [gate](int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        auto queued = actor.mutate({.request_id = "r2"}, [](int&) {});
        auto read = actor.read({.request_id = "r4"}, [](const int&) {});
        CHECK(executor.mutation_state("a", "r1") == MutationState::running);
        CHECK(executor.mutation_state("a", "r2") == MutationState::queued);
        CHECK(executor.mutation_state("a", "r3") == MutationState::blocked_by_other_mutating);
        CHECK(executor.mutation_state("a", "r4") ==
              MutationState::blocked_by_other_mutating);  // a read is no mutation
        gate.open();
        CHECK(code_of(running) == no_error);
        CHECK(code_of(queued) == no_error);
        CHECK(code_of(read) == no_error);
        CHECK(eventually([&] { return executor.mutation_state("a", "r1") == MutationState::not_found; }));
        CHECK(executor.mutation_state("a", "r2") == MutationState::not_found);
        for (const auto state : {MutationState::running, MutationState::actor_missing})
            CHECK_FALSE(to_string(state).empty());
    });
}

TEST_CASE(
    "E29 E33 until a job's word says that it has ended it is running, also while its error is made; and it "
    "threw") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::atomic<int> looks{0};
        std::atomic<int> wrong{0};
        auto job = actor.mutate({.request_id = "r1"}, [&](int&) {
            throw Inquisitive([&] {
                looks.fetch_add(1);
                if (executor.mutation_state("a", "r1") != MutationState::running)
                    wrong.fetch_add(1);
                if (executor.running_mutations().size() != 1)
                    wrong.fetch_add(1);
                const JobTotals jobs = executor.snapshot().jobs;
                if (jobs.succeeded != 0 || jobs.threw != 1 || !adds_up(jobs))
                    wrong.fetch_add(1);
            });
        });
        CHECK(code_of(job) == ErrorCode::job_threw);
        CHECK(looks.load() == 1);
        CHECK(wrong.load() == 0);
    });
}

TEST_CASE("E29 no request is running and then queued") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        int back = 0;
        for (int i = 0; i < scaled(400); ++i) {
            const std::string id = "r" + std::to_string(i);
            auto job = actor.mutate({.request_id = id}, [](int&) {
                const auto end = steady_clock::now() + 30us;
                while (steady_clock::now() < end) {}
            });
            for (bool running = false;;) {
                const MutationState state = executor.mutation_state("a", id);
                if (state == MutationState::not_found)
                    break;
                back += running && state == MutationState::queued ? 1 : 0;
                running |= state == MutationState::running;
            }
            CHECK(code_of(job) == no_error);
        }
        CHECK(back == 0);
    });
}

TEST_CASE("E29 a heavy job that waits for its second step is running, and no queued job is as old as it") {
    under_both_policies({4}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto reader = actor.read([gate](const int&) { gate.pass(); });  // keeps the install out
        REQUIRE(gate.reached_by(1));
        std::atomic<bool> built{false};
        auto build = actor.build([&built](const int&) { built.store(true); }, [](int&) {});
        REQUIRE(eventually([&] { return built.load(); }));
        CHECK(eventually([&] { return executor.snapshot().interactive.jobs.running == 2; }));
        std::this_thread::sleep_for(2 * a_while);
        CHECK_FALSE(executor.snapshot().interactive.oldest_age);
        const auto submitted = steady_clock::now();
        auto queued = actor.read([](const int&) {});  // behind the install
        const Snapshot snapshot = executor.snapshot();
        const auto passed = steady_clock::now() - submitted;
        CHECK(snapshot.interactive.jobs.queued == 1);
        CHECK(snapshot.interactive.jobs.running == 2);
        REQUIRE(snapshot.interactive.oldest_age);
        CHECK(*snapshot.interactive.oldest_age <= passed + 1ms);  // two clocks
        gate.open();
        CHECK(code_of(queued) == no_error);
        CHECK(code_of(build) == no_error);
        CHECK(code_of(reader) == no_error);
    });
}

TEST_CASE("E29 a snapshot says who holds the role, by name") {
    under_both_policies({1, 2}, [](Config config) {
        config.thread_name_prefix = "role";
        std::atomic<bool> over{false};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        std::jthread feeder([&] {
            while (!over.load()) {
                for (int i = 0; i < 50; ++i)
                    static_cast<void>(actor.post_mutate([](int&) {}));
                if (executor.snapshot().jobs.queued > 2000)
                    std::this_thread::sleep_for(200us);
            }
        });
        const auto deadline = steady_clock::now() + patience;
        TurnSnapshot turn;
        while (!turn.held && steady_clock::now() < deadline)
            turn = executor.snapshot().turn;
        over.store(true);
        REQUIRE(turn.held);
        REQUIRE(turn.holder);
        if (config.policy == SchedulerPolicy::dedicated)
            CHECK(*turn.holder == "role-sched");
        else
            CHECK(turn.holder->starts_with("role-"));
    });
}

TEST_CASE("E33 every snapshot adds up, by class, in total and for each actor, while everything goes on") {
    under_both_policies({2, 4}, [](Config config) {
        config.max_queued = 300;
        std::atomic<bool> over{false};
        Executor executor(config);
        for (int i = 0; i < 5; ++i)
            static_cast<void>(executor.add_actor("a" + std::to_string(i), 0));
        std::vector<std::jthread> threads;
        for (std::uint64_t t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] {
                Random random(t);
                while (!over.load()) {
                    const std::string id = "a" + std::to_string(random.below(5));
                    auto found = executor.find_actor<int>(id);
                    if (!found)
                        continue;
                    const JobOptions options{.job_class = random.one_in(3) ? JobClass::maintenance
                                                                           : JobClass::interactive};
                    const bool fails = random.one_in(50);
                    const auto job = [fails](auto&) {
                        if (fails)
                            throw std::runtime_error("counted");
                    };
                    const auto heavy = [fails](const int&) {
                        if (fails)
                            throw std::runtime_error("counted");
                    };
                    bool ok = true;
                    switch (random.below(5)) {
                        case 0:
                            ok = found->post_mutate(options, job).has_value();
                            break;
                        case 1: {
                            found->build(options, heavy, [](int&) {}).detach();
                            break;
                        }
                        default:
                            ok = found->post_read(options, job).has_value();
                            break;
                    }
                    if (!ok)
                        std::this_thread::yield();
                }
            });
        }
        threads.emplace_back([&] {
            Random random(77);
            while (!over.load()) {
                const std::string id = "a" + std::to_string(random.below(5));
                executor.remove_actor(id);
                static_cast<void>(executor.add_actor(id, 0));
                std::this_thread::sleep_for(1ms);
            }
        });
        Snapshot last;
        int wrong = 0;
        int backwards = 0;
        int samples = 0;
        for (const auto end = steady_clock::now() + 400ms; steady_clock::now() < end; ++samples) {
            const Snapshot now = executor.snapshot();
            wrong += adds_up(now) ? 0 : 1;
            backwards +=
                now.jobs.accepted < last.jobs.accepted || now.jobs.completed() < last.jobs.completed() ? 1
                                                                                                       : 0;
            last = now;
            const auto one = executor.actor_snapshot("a" + std::to_string(samples % 5));
            if (one && one->accepted != one->queued + one->running + one->completed)
                ++wrong;
            if (one && (one->queued > 1'000'000 || one->running > 4))
                ++wrong;
            static_cast<void>(executor.running_mutations());
            static_cast<void>(executor.mutation_state("a1", "none"));
        }
        over.store(true);
        threads.clear();
        CHECK(samples > 10);
        CHECK(wrong == 0);
        CHECK(backwards == 0);
        CHECK(eventually(
            [&] { return executor.snapshot().jobs.queued + executor.snapshot().jobs.running == 0; }));
        const Snapshot end = executor.snapshot();
        CHECK(adds_up(end));
        CHECK(end.refused.other == 0);
        MESSAGE(samples << " snapshots over " << end.jobs.accepted << " jobs");
    });
}
