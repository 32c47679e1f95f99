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
