// Goal: what may run beside what, and how many of it (E8, E9), seen by counters of our own.
// Method: jobs that count themselves into a context of atomics and stand at gates; caps must be reached exactly, and what
// is held back must not start until what holds it has gone.
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// How many are inside a context now, and the most that ever were.
class Level {
public:
    void enter() {
        const int now = now_.fetch_add(1) + 1;
        int most = most_.load();
        while (most < now && !most_.compare_exchange_weak(most, now)) {}
    }
    void leave() {
        now_.fetch_sub(1);
    }
    [[nodiscard]] int now() const {
        return now_.load();
    }
    [[nodiscard]] int most() const {
        return most_.load();
    }

private:
    std::atomic<int> now_{0};
    std::atomic<int> most_{0};
};

struct Observed {
    mutable Level reads;
    mutable Level statuses;
    mutable Level builds;
    mutable Level all;
    Level writers;
    mutable std::atomic<int> violations{0};
    int version =
        0;  // written by writers, read by readers: the thread sanitizer sees a writer that is not alone

    void read(Level& kind) const {
        kind.enter();
        all.enter();
        if (writers.now() != 0)
            violations.fetch_add(1);
        const int before = version;
        std::this_thread::sleep_for(50us);
        if (version != before || writers.now() != 0)
            violations.fetch_add(1);
        all.leave();
        kind.leave();
    }
    void build() const {  // beside anything
        builds.enter();
        all.enter();
        std::this_thread::sleep_for(50us);
        all.leave();
        builds.leave();
    }
    void write() {
        writers.enter();
        all.enter();
        if (reads.now() != 0 || statuses.now() != 0 || writers.now() != 1)
            violations.fetch_add(1);
        ++version;
        std::this_thread::sleep_for(20us);
        if (reads.now() != 0 || statuses.now() != 0 || writers.now() != 1)
            violations.fetch_add(1);
        all.leave();
        writers.leave();
    }
};

Config with_caps(Config config, std::int64_t actor_cap, std::int64_t read_cap, std::int64_t permits) {
    config.actor_cap = actor_cap;
    config.read_cap = read_cap;
    config.heavy_permits = permits;
    return config;
}

}  // namespace

TEST_CASE("E8 writer barrier: a mutating head waits for the readers in flight and holds back all behind it") {
    under_both_policies({2, 4}, [](const Config& config) {
        std::atomic<int> started{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate readers;
        auto first = actor.read([readers](const int& n) {
            readers.pass();
            return n;
        });
        REQUIRE(readers.reached_by(1));
        auto writer = actor.mutate([&started](int& n) {
            started.fetch_add(1);
            n = 1;
        });
        auto later_read = actor.read([&started](const int& n) {
            started.fetch_add(1);
            return n;
        });
        auto later_status = actor.status([&started](const int& n) {
            started.fetch_add(1);
            return n;
        });
        auto later_build = actor.build([&started](const int& n) {
            started.fetch_add(1);
            return n;
        });
        CHECK(stays([&] { return started.load() == 0; }));
        // Another actor is not held back.
        auto other = executor.add_actor("other", 0);
        CHECK(code_of(other.mutate([](int&) {})) == no_error);
        readers.open();
        CHECK(value_of(first) == 0);
        CHECK(code_of(writer) == no_error);
        CHECK(value_of(later_read) == 1);
        CHECK(value_of(later_status) == 1);
        CHECK(value_of(later_build) == 1);
    });
}

TEST_CASE("E8 only the head is considered: nothing overtakes a blocked one") {
    under_both_policies({4}, [](const Config& config) {
        std::atomic<int> started{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto first = actor.status([gate](const int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        auto second = actor.status([&started](const int&) { started.fetch_add(1); });
        auto behind = actor.read([&started](const int&) { return started.load(); });
        CHECK(stays([&] { return started.load() == 0 && !behind.ready(); }));
        gate.open();
        CHECK(code_of(first) == no_error);
        CHECK(code_of(second) == no_error);
        CHECK(code_of(behind) == no_error);
    });
}

TEST_CASE("E8 two classes, two FIFOs: a blocked maintenance head holds back no interactive job") {
    under_both_policies({4}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        auto reader = actor.read([gate](const int&) { gate.pass(); });
        REQUIRE(gate.reached_by(1));
        auto blocked = actor.mutate({.job_class = JobClass::maintenance}, [](int&) {});
        CHECK(code_of(actor.read([](const int&) {})) == no_error);
        CHECK_FALSE(blocked.ready());
        gate.open();
        CHECK(code_of(blocked) == no_error);
        CHECK(code_of(reader) == no_error);
    });
}

TEST_CASE("E9 pure_read: read_cap of an actor's reads run at once, never more") {
    under_both_policies({4}, [](const Config& config) {
        Executor executor(with_caps(config, 3, 2, 2));
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        std::vector<Completion<void>> jobs;
        for (int i = 0; i < 5; ++i)
            jobs.push_back(actor.read([gate](const int&) { gate.pass(); }));
        REQUIRE(gate.reached_by(2));
        CHECK(stays([&] { return gate.entered() == 2; }));
        gate.open();
        for (auto& job : jobs)
            CHECK(code_of(job) == no_error);
    });
}

TEST_CASE("E9 serial_status: one of an actor at a time, beside its reads") {
    under_both_policies({4}, [](const Config& config) {
        Executor executor(with_caps(config, 3, 2, 2));
        auto actor = executor.add_actor("a", 0);
        const Gate statuses;
        const Gate reads;
        std::vector<Completion<void>> jobs;
        jobs.push_back(actor.read([reads](const int&) { reads.pass(); }));
        jobs.push_back(actor.status([statuses](const int&) { statuses.pass(); }));
        jobs.push_back(actor.status([statuses](const int&) { statuses.pass(); }));
        REQUIRE(reads.reached_by(1));
        REQUIRE(statuses.reached_by(1));
        CHECK(stays([&] { return statuses.entered() == 1; }));
        statuses.open();
        reads.open();
        for (auto& job : jobs)
            CHECK(code_of(job) == no_error);
    });
}

TEST_CASE("E9 actor_cap: jobs of all lanes together, and other actors are not held back") {
    under_both_policies({5}, [](const Config& config) {
        Executor executor(with_caps(config, 3, 3, 3));
        auto actor = executor.add_actor("a", 0);
        const Gate gate;
        std::vector<Completion<void>> jobs;
        jobs.push_back(actor.status([gate](const int&) { gate.pass(); }));
        jobs.push_back(actor.read([gate](const int&) { gate.pass(); }));
        jobs.push_back(actor.build([gate](const int&) { gate.pass(); }, [](int&) {}));
        jobs.push_back(actor.read([gate](const int&) { gate.pass(); }));
        jobs.push_back(actor.build([gate](const int&) { gate.pass(); }));
        REQUIRE(gate.reached_by(3));
        CHECK(stays([&] { return gate.entered() == 3; }));
        auto other = executor.add_actor("other", 0);
        auto beside = other.read([gate](const int&) { gate.pass(); });
        REQUIRE(gate.reached_by(4));
        gate.open();
        for (auto& job : jobs)
            CHECK(code_of(job) == no_error);
        CHECK(code_of(beside) == no_error);
    });
}

TEST_CASE("E9 heavy_init: permits bound the builds of all actors together") {
    under_both_policies({4}, [](const Config& config) {
        Executor executor(with_caps(config, 3, 3, 2));
        const Gate gate;
        std::vector<Completion<void>> jobs;
        for (int i = 0; i < 4; ++i) {
            auto actor = executor.add_actor("a" + std::to_string(i), 0);
            jobs.push_back(actor.build([gate](const int&) { gate.pass(); }));
        }
        REQUIRE(gate.reached_by(2));
        CHECK(stays([&] { return gate.entered() == 2; }));
        gate.open();
        for (auto& job : jobs)
            CHECK(code_of(job) == no_error);
    });
}

TEST_CASE("E9 a mutation runs beside a build, but beside no reader, status or other mutation") {
    under_both_policies({4}, [](const Config& config) {
        std::atomic<int> started{0};
        Executor executor(with_caps(config, 3, 3, 2));
        auto actor = executor.add_actor("a", 0);
        const Gate build;
        const Gate write;
        auto builder = actor.build([build](const int&) { build.pass(); }, [](int&) {});
        REQUIRE(build.reached_by(1));
        auto writer = actor.mutate([write](int&) { write.pass(); });
        REQUIRE(write.reached_by(1));
        auto read = actor.read([&started](const int&) { started.fetch_add(1); });
        auto second = actor.mutate([&started](int&) { started.fetch_add(1); });
        CHECK(stays([&] { return started.load() == 0; }));
        write.open();
        CHECK(code_of(writer) == no_error);
        CHECK(code_of(read) == no_error);
        CHECK(code_of(second) == no_error);
        build.open();
        CHECK(code_of(builder) == no_error);
    });
}

TEST_CASE("E9 all lanes under load from many threads: no cap is ever exceeded, by counters of our own") {
    under_both_policies({2, 4}, [](const Config& given) {
        const Config config = with_caps(given, 3, 2, 2);
        Executor executor(config);
        const EffectiveConfig& caps = executor.config();
        std::vector<Actor<Observed>> actors;
        for (int i = 0; i < 3; ++i)
            actors.push_back(executor.emplace_actor<Observed>("a" + std::to_string(i), {}));
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&actors, t] {
                std::vector<Completion<void>> jobs;
                for (int i = 0; i < scaled(240); ++i) {
                    Actor<Observed>& actor = actors[static_cast<std::size_t>(i + t) % 3];
                    const JobOptions options{.job_class =
                                                 i % 5 == 0 ? JobClass::maintenance : JobClass::interactive};
                    switch ((i * 7 + t) % 6) {
                        case 0:
                            jobs.push_back(
                                actor.status(options, [](const Observed& o) { o.read(o.statuses); }));
                            break;
                        case 1:
                            jobs.push_back(actor.mutate(options, [](Observed& o) { o.write(); }));
                            break;
                        case 2:
                            jobs.push_back(actor.build(
                                options, [](const Observed& o) { o.build(); },
                                [](Observed& o) { o.write(); }));
                            break;
                        case 3:
                            jobs.push_back(actor.build(options, [](const Observed& o) { o.build(); }));
                            break;
                        default:
                            jobs.push_back(actor.read(options, [](const Observed& o) { o.read(o.reads); }));
                            break;
                    }
                }
                for (auto& job : jobs)
                    static_cast<void>(job.wait_for(patience));
            });
        }
        threads.clear();
        const JobTotals jobs = executor.snapshot().jobs;
        CHECK(jobs.succeeded == static_cast<std::uint64_t>(scaled(240)) * 4);
        for (const ActorEntry& entry : executor.actors()) {
            const Observed& o = *entry.context<Observed>();
            CHECK(o.violations.load() == 0);
            CHECK(o.reads.most() <= static_cast<int>(caps.read_cap));
            CHECK(o.statuses.most() <= 1);
            CHECK(o.writers.most() <= 1);
            CHECK(o.builds.most() <= static_cast<int>(caps.heavy_permits));
            CHECK(o.all.most() <= static_cast<int>(caps.actor_cap));
        }
    });
}
