// Goal: the library's threads are named, pinned and announced as E32 and the configuration say.
// Method: jobs and hooks ask the system where they are.
#include <pthread.h>
#include <sched.h>

#include <array>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

std::string own_name() {
    std::array<char, 64> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    return name.data();
}

// Standard C++ has no names for threads: the portable build tells hooks the name, and the system nothing.
#ifdef SLUICE_PLATFORM_PORTABLE
constexpr bool names_are_set = false;
#else
constexpr bool names_are_set = true;
#endif

std::set<int> own_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    std::set<int> cpus;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &set))
            cpus.insert(static_cast<int>(cpu));
    }
    return cpus;
}

struct Log {
    std::mutex mutex;
    std::multiset<std::string> started;
    std::multiset<std::string> stopped;
    std::set<std::pair<std::string, std::thread::id>> start_threads;
    std::set<std::pair<std::string, std::thread::id>> stop_threads;
    std::set<std::set<int>> cpus;
    bool names_differ = false;
};

}  // namespace

TEST_CASE("E32 threads have names, hooks run first and last on each of them, once") {
    under_both_policies({1, 3}, [](Config config) {
        Log log;
        config.thread_name_prefix = "named";
        config.on_thread_start = [&log](std::string_view name) {
            const std::scoped_lock lock(log.mutex);
            log.started.emplace(name);
            log.start_threads.emplace(name, std::this_thread::get_id());
            log.names_differ |= own_name() != name;
        };
        config.on_thread_stop = [&log](std::string_view name) {
            const std::scoped_lock lock(log.mutex);
            log.stopped.emplace(name);
            log.stop_threads.emplace(name, std::this_thread::get_id());
            log.names_differ |= own_name() != name;
        };
        std::multiset<std::string> expected{"named-sched"};
        for (std::int64_t i = 0; i < *config.pool_size; ++i)
            expected.insert("named-w" + std::to_string(i));
        {
            Executor executor(config);
            auto actor = executor.add_actor("a", 0);
            const std::string name = value_of(actor.mutate([](int&) { return own_name(); }));
            if (names_are_set) {
                CHECK(name.starts_with("named-w"));
                CHECK(expected.contains(name));
            }
            AllWorkersHeld held(executor);  // all of them have started
            held.release();
            CHECK(eventually([&] {
                const std::scoped_lock lock(log.mutex);
                return log.started.size() == expected.size();
            }));
            const std::scoped_lock lock(log.mutex);
            CHECK(log.stopped.empty());
        }
        CHECK(log.started == expected);
        CHECK(log.stopped == expected);
        CHECK(log.start_threads == log.stop_threads);
        if (names_are_set)
            CHECK_FALSE(log.names_differ);
    });
}

TEST_CASE(
    "E20 E32 a start hook submits and waits: its thread is busy like one inside a job, and looks for work "
    "afterwards") {
    under_both_policies({2}, [](Config config) {
        std::atomic<const Actor<int>*> known{nullptr};
        std::atomic<int> answer{0};
        config.spin = SpinPolicy::park;
        config.on_thread_start = [&](std::string_view name) {
            if (!name.ends_with("-w1"))
                return;
            known.wait(nullptr);
            const auto result = known.load()->read([](const int& n) { return n; }).wait_for(patience);
            answer.store(result ? *result : -1);
        };
        Executor executor(config);
        const Actor<int> actor = executor.add_actor("a", 5);
        known.store(&actor);
        known.notify_all();
        CHECK(eventually([&] { return answer.load() != 0; }));
        CHECK(answer.load() == 5);
        // Who looks for work is counted right still: nothing that comes after a pause is left lying.
        for (int i = 0; i < 5; ++i) {
            std::this_thread::sleep_for(a_while / 3);
            CHECK(value_of(actor.read([](const int& n) { return n; })) == 5);
        }
        AllWorkersHeld held(executor);
        held.release();
    });
}

TEST_CASE("E20 E32 start hooks of all workers wait: the wait that would leave none is refused") {
    under_both_policies({1, 2}, [](Config config) {
        std::atomic<const Actor<int>*> known{nullptr};
        std::atomic<int> refused{0};
        std::atomic<int> answered{0};
        config.on_thread_start = [&](std::string_view name) {
            if (name.ends_with("-sched"))
                return;
            known.wait(nullptr);
            const auto result = known.load()->read([](const int& n) { return n; }).wait_for(patience);
            if (result)
                answered.fetch_add(1);
            else if (result.error() == ErrorCode::would_deadlock)
                refused.fetch_add(1);
        };
        Executor executor(config);
        const Actor<int> actor = executor.add_actor("a", 5);
        known.store(&actor);
        known.notify_all();
        CHECK(eventually([&] { return refused.load() + answered.load() == *config.pool_size; }));
        CHECK(refused.load() >= 1);
        CHECK(value_of(actor.read([](const int& n) { return n; })) == 5);
    });
}

TEST_CASE("E32 E18 what a thread hook throws takes no thread down, and is counted") {
    under_both_policies({2}, [](Config config) {
        config.on_thread_start = [](std::string_view) { throw std::runtime_error("start"); };
        config.on_thread_stop = [](std::string_view) { throw 7; };
        Executor executor(config);
        CHECK(value_of(executor.add_actor("a", 5).read([](const int& n) { return n; })) == 5);
        CHECK(eventually([&] { return executor.snapshot().callbacks_threw == 3; }));
        CHECK(executor.shutdown(Shutdown::drain));
        CHECK(executor.wait_shut_down_for(patience));
        CHECK(executor.snapshot().callbacks_threw == 6);
    });
}

TEST_CASE("E21 E32 what the hooks captured goes with the executor, and its destructors may submit") {
    under_both_policies({1}, [](const Config& config) {
        Executor other(config);
        const Actor<int> elsewhere = other.add_actor("a", 0);
        std::atomic<int> ran{0};
        Tracked::Counts captures;
        for (int i = 0; i < 4; ++i) {
            auto submits = [&] { CHECK(elsewhere.post_mutate([&ran](int&) { ran.fetch_add(1); })); };
            Config hooked = config;
            hooked.on_thread_start =
                [tracked = std::make_shared<Tracked>(captures),
                 last = std::make_shared<AtEnd<decltype(submits)>>(submits)](std::string_view) {};
            Executor executor(hooked);
            hooked = {};
            CHECK(code_of(executor.add_actor("a", 0).read([](const int&) {})) == no_error);
            CHECK(captures.alive.load() == 1);
            executor = Executor(config);  // a lease of this thread on the first one is left behind
            CHECK(captures.alive.load() == 0);
            CHECK(eventually([&] { return ran.load() == i + 1; }));
        }
    });
}

TEST_CASE("E32 an affinity that is asked for holds on every thread of the executor") {
    const std::set<int> allowed = own_cpus();
    REQUIRE_FALSE(allowed.empty());
    under_both_policies({2}, [&](Config config) {
        Log log;
        config.cpus = {*allowed.rbegin()};
        config.on_thread_start = [&log](std::string_view) {
            const std::scoped_lock lock(log.mutex);
            log.cpus.insert(own_cpus());
        };
        auto executor = Executor::create(config);
        if (!executor)
            return;  // a portable build cannot pin, and says so
        auto actor = executor->add_actor("a", 0);
        CHECK(value_of(actor.mutate([](int&) { return own_cpus(); })) == std::set<int>{*allowed.rbegin()});
        *executor = Executor();
        CHECK(log.cpus == std::set<std::set<int>>{{*allowed.rbegin()}});
    });
    CHECK(own_cpus() == allowed);  // the caller's own is left alone
}

TEST_CASE("E32 many executors at once, made and ended by many threads") {
    under_both_policies({1, 2}, [](const Config& config) {
        std::atomic<int> sum{0};
        std::vector<std::jthread> threads;
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([&config, &sum] {
                for (int i = 0; i < scaled(24); ++i) {
                    Executor executor(config);
                    Executor other(config);
                    auto actor = executor.add_actor("a", 1);
                    auto remote = other.add_actor("b", 1);
                    // A job of one executor submits to and waits for the other.
                    auto job = actor.mutate([remote](int& n) {
                        return n + remote.read([](const int& m) { return m; }).wait().value();
                    });
                    const auto result = job.wait_for(patience);
                    sum.fetch_add(result ? *result : 0);
                }
            });
        }
        threads.clear();
        CHECK(sum.load() == 3 * scaled(24) * 2);
    });
}

TEST_CASE("E14 E31 threads that come and go: each submits, ends, and leaves its place to the next") {
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const int count = scaled(300);
        for (int i = 0; i < count; ++i)
            std::jthread([&] { actor.post_mutate([](int& n) { ++n; }).value(); }).join();
        CHECK(value_of(actor.mutate([](int& n) { return n; })) == count);
        CHECK(executor.snapshot().nodes <= 64 * 16);
    });
}

TEST_CASE("E21 a submission from a thread's last moments, after its thread-local objects have gone, works") {
    under_both_policies({2}, [](const Config& config) {
        std::atomic<int> ran{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (int i = 0; i < 50; ++i) {
            std::jthread([&] {
                auto last_words = [&] {
                    if (!actor.post_mutate([&ran](int&) { ran.fetch_add(1); }))
                        ran.fetch_add(1'000'000);
                };
                // Made before the library's own thread-local objects, so destroyed after them.
                thread_local std::optional<AtEnd<decltype(last_words)>> at_end;
                at_end.emplace(last_words);
                if (i % 2 == 0)
                    actor.post_mutate([&ran](int&) { ran.fetch_add(1); }).value();
            }).join();
        }
        CHECK(eventually([&] { return ran.load() == 75; }));
    });
}
