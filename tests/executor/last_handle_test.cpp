// Goal: the last handle to an executor may go at any moment and on any thread (E22); cases X01 and X02.
// Method: destruction right after a result, from jobs, closures, results, contexts and other executors, with handles that
// outlive it, and at the end of the program.
#include <functional>
#include <memory_resource>
#include <optional>
#include <string>

#include "executor/harness.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// What a worker keeps to its end: the last handle to its own executor, given up when the gate is open.
struct KeptByThread {
    std::optional<Gate> let_go;
    std::shared_ptr<Executor> executor;
    KeptByThread() = default;
    KeptByThread(const KeptByThread&) = delete;
    KeptByThread& operator=(const KeptByThread&) = delete;
    ~KeptByThread() {
        if (let_go)
            let_go->pass();
    }
};
thread_local KeptByThread kept_by_thread;

}  // namespace

TEST_CASE("X01 submit, wait for the result, destroy the executor at once; many rounds") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        for (int round = 0; round < scaled(120); ++round) {
            std::optional<Executor> executor(std::in_place, config);
            auto actor = executor->add_actor("a", round);
            CHECK(value_of(actor.mutate([](int& n) { return ++n; })) == round + 1);
            executor.reset();
            CHECK(code_of(actor.read([](const int&) {})) == ErrorCode::shut_down);
        }
    });
}

TEST_CASE("X01 the result is waited for on another thread, which lets go while the executor ends") {
    under_both_policies({2}, [](const Config& config) {
        for (int round = 0; round < scaled(120); ++round) {
            std::jthread waiter;
            {
                Executor executor(config);
                auto actor = executor.add_actor("a", std::string("value"));
                auto job = actor.mutate([](std::string& s) { return s; });
                waiter = std::jthread([job = std::move(job)]() mutable {
                    const auto result = job.wait_for(patience);
                    if (!result && !(result.error() == ErrorCode::shut_down))
                        std::abort();  // neither value nor shut_down: a job was lost
                });
                auto dropped = actor.mutate([](std::string& s) { return s; });
            }
        }
    });
}

TEST_CASE("X02 E22 a job drops the last handle to its executor: no self-join, the threads end") {
    under_both_policies({1, 2, 4}, [](Config config) {
        for (int round = 0; round < scaled(40); ++round) {
            const auto threads = ThreadCounts::watch(config);
            Tracked::Counts contexts;
            auto executor = std::make_shared<Executor>(config);
            auto actor = executor->emplace_actor<Tracked>("a", {}, contexts);
            auto other = executor->add_actor("other", 0);
            const Gate gate;
            std::vector<Completion<void>> jobs;
            jobs.push_back(other.mutate([](int&) {}));
            jobs.push_back(actor.mutate([gate, last = executor](Tracked&) mutable {
                gate.pass();
                last.reset();  // the last one: the rest of this job runs on
                std::this_thread::sleep_for(100us);
            }));
            for (int i = 0; i < 10; ++i)
                jobs.push_back(actor.mutate([](Tracked&) {}));
            executor.reset();
            gate.open();
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                const ErrorCode code = code_of(jobs[i]);
                CHECK((code == no_error || (i != 1 && code == ErrorCode::shut_down)));
            }
            CHECK(threads->all_left());
            CHECK(eventually([&] { return contexts.alive.load() == 0; }));
        }
    });
}

TEST_CASE("E22 the last handle goes in a destructor of a closure, result or context, or elsewhere") {
    under_both_policies({1, 2, 4}, [](Config config) {
        for (int round = 0; round < scaled(24); ++round) {
            for (const int from : {0, 1, 2, 3}) {
                INFO("from " << from);
                const auto threads = ThreadCounts::watch(config);
                auto executor = std::make_shared<Executor>(config);
                auto actor = executor->add_actor("a", 0);
                const Gate gate;
                auto queued_in = executor->add_actor("queued", 0);
                if (from == 0) {
                    actor.mutate([gate, last = executor](int&) { gate.pass(); }).detach();
                } else if (from == 1) {
                    actor
                        .mutate([gate, last = executor](int&) mutable {
                            gate.pass();
                            return std::move(last);
                        })
                        .detach();
                } else if (from == 2) {
                    static_cast<void>(executor->add_actor("holds", executor));
                    executor->remove_actor("holds");
                } else {
                    Executor other(config);
                    auto remote = other.add_actor("remote", 0);
                    auto job = remote.mutate([last = std::move(executor)](int&) mutable { last.reset(); });
                    CHECK(code_of(job) == no_error);
                }
                auto queued = queued_in.mutate([](int&) {});
                executor.reset();
                gate.open();
                const ErrorCode code = code_of(queued);
                CHECK((code == no_error || code == ErrorCode::shut_down));
                CHECK(threads->all_left());
                CHECK(code_of(queued_in.read([](const int&) {})) == ErrorCode::shut_down);
            }
        }
    });
}

TEST_CASE("E22 E16 handles, completions and listings outlive their executor") {
    under_both_policies({2}, [](const Config& config) {
        Tracked::Counts counts;
        for (int round = 0; round < 20; ++round) {
            std::optional<Executor> executor(std::in_place, config);
            auto actor = executor->emplace_actor<Tracked>("a", {}, counts);
            auto done = actor.read([](const Tracked&) { return std::string("result"); });
            auto failed = actor.read([](const Tracked&) -> int { throw 1; });
            CHECK(eventually([&] { return done.ready() && failed.ready(); }));
            std::vector<ActorEntry> entries = executor->actors();
            executor.reset();
            CHECK(value_of(done) == "result");
            CHECK(result_of(failed).error().actor() == "a");
            CHECK(counts.alive.load() == 1);  // the listing keeps it
            CHECK(entries[0].id() == "a");
            CHECK(entries[0].context<Tracked>() != nullptr);
            const Actor<Tracked> copy = actor;
            entries.clear();
            CHECK(counts.alive.load() == 0);
            CHECK(copy.id() == "a");
            CHECK(copy.post_read([](const Tracked&) {}).error() == ErrorCode::shut_down);
        }
    });
}

TEST_CASE("E22 an executor can be moved, and moved over one that still has work") {
    under_both_policies({1, 2}, [](const Config& config) {
        Executor first(config);
        auto actor = first.add_actor("a", 1);
        Executor second(config);
        auto lost = second.add_actor("b", 2);
        AllWorkersHeld held(second);
        auto queued = lost.mutate([](int&) {});
        std::jthread release([&held] { held.release(); });
        second = std::move(first);
        release.join();
        CHECK(code_of(queued) != ErrorCode::timed_out);
        CHECK(code_of(lost.read([](const int&) {})) == ErrorCode::shut_down);
        CHECK(value_of(actor.read([](const int& n) { return n; })) == 1);
        CHECK(second.find_actor<int>("a").has_value());
    });
}

TEST_CASE("X01 E22 threads that never submitted drop the last handles while the executor ends") {
    under_both_policies({2}, [](const Config& config) {
        for (int round = 0; round < scaled(200); ++round) {
            Tracked::Counts counts;
            std::vector<std::jthread> threads;
            std::atomic<int> go{0};
            {
                Executor executor(config);
                for (int i = 0; i < 3; ++i) {
                    auto actor = executor.emplace_actor<Tracked>("a" + std::to_string(i), {}, counts);
                    auto job = actor.read([](const Tracked&) { return std::string(100, 'r'); });
                    auto posted = actor.mutate([&counts](Tracked&) { return Tracked(counts); });
                    if (i == 1)
                        executor.remove_actor("a1");
                    threads.emplace_back([&go, actor = std::optional<Actor<Tracked>>(std::move(actor)),
                                          job = std::move(job), posted = std::move(posted)]() mutable {
                        go.fetch_add(1);
                        while (go.load() < 4) {}
                        actor.reset();
                        job.detach();
                        posted.detach();
                    });
                }
                while (go.load() < 3)
                    std::this_thread::yield();
                go.fetch_add(1);
            }
            threads.clear();
            CHECK(eventually([&] { return counts.alive.load() == 0; }));
        }
    });
}

namespace {

// Ends after main, when this thread's thread-local objects have gone. Its context's destructor still submits.
struct AtExit {
    std::optional<Executor> executor;
    std::optional<Actor<int>> other;
    std::shared_ptr<std::atomic<int>> refused = std::make_shared<std::atomic<int>>(0);
    ~AtExit() {
        if (!executor)
            return;
        executor.reset();
        if (refused->load() != 1)
            std::abort();
    }
};
AtExit at_exit;

}  // namespace

TEST_CASE(
    "E22 a thread-local object of a worker drops the last handle, when that worker or all have left: no "
    "self-join") {
    for (const bool all_have_left : {true, false}) {
        under_both_policies({1, 2}, [all_have_left](Config config) {
            for (int round = 0; round < scaled(20); ++round) {
                const Gate leave;   // holds those threads that do not drop the handle
                const Gate let_go;  // holds the thread-local object
                const auto threads = ThreadCounts::watch(config);
                if (!all_have_left) {
                    config.on_thread_stop = [threads, leave](std::string_view) {
                        if (kept_by_thread.executor == nullptr)
                            leave.pass();
                        threads->stopped.fetch_add(1);
                    };
                }
                Tracked::Counts contexts;
                auto executor = std::make_shared<Executor>(config);
                executor->add_actor("tracked", Tracked(contexts));
                CHECK(code_of(executor->add_actor("a", 0).read([let_go, executor](const int&) {
                          kept_by_thread.let_go.emplace(let_go);
                          kept_by_thread.executor = executor;
                      })) == no_error);
                CHECK(executor->shutdown(Shutdown::drain));
                if (all_have_left)
                    CHECK(executor->wait_shut_down_for(patience));
                CHECK(let_go.reached_by(1));
                executor.reset();
                CHECK(contexts.alive.load() == 1);
                let_go.open();
                if (!all_have_left)
                    CHECK(stays([&] { return contexts.alive.load() == 1; }));  // until the last has left
                leave.open();
                CHECK(eventually([&] { return contexts.alive.load() == 0; }));
                CHECK(threads->all_left());
            }
        });
    }
}

/// Lets its executor be ended by another thread while it is asked for a large block.
class EndingResource final : public std::pmr::memory_resource {
public:
    std::function<void()> at_large_block;

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (bytes >= 1'000 && bytes < 2'000 && at_large_block)
            std::jthread(std::exchange(at_large_block, nullptr)).join();
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }
};

TEST_CASE(
    "E22 E25 an executor ends while a submission is inside, its node and its token taken: shut_down, and no "
    "more") {
    under_both_policies({1, 2}, [](Config config) {
        EndingResource resource;
        config.memory = &resource;
        std::optional<Executor> executor(std::in_place, config);
        auto actor = executor->add_actor("a", 0);
        CHECK(code_of(actor.read([](const int&) {})) == no_error);
        std::stop_source stop;
        resource.at_large_block = [&executor] { executor.reset(); };
        CHECK(code_of(actor.read({.stop = stop.get_token()}, [bulk = std::array<char, 1'200>{}](const int&) {
                  return bulk[0];
              })) == ErrorCode::shut_down);
        CHECK_FALSE(executor.has_value());
    });
}

TEST_CASE("E22 E21 an executor that ends after main, with a context that submits from its destructor") {
    at_exit.executor.emplace();
    at_exit.other.emplace(at_exit.executor->add_actor("other", 0));
    auto last_words = [refused = at_exit.refused] {
        auto job = at_exit.other->mutate([](int&) {});
        if (const Error error = job.wait().error(); error.code() == ErrorCode::shut_down) {
            const std::string told = error.code().message() + std::string(error.message());
            refused->fetch_add(told.empty() ? 0 : 1);
        }
    };
    auto actor = at_exit.executor->emplace_actor<AtEnd<decltype(last_words)>>("a", {}, last_words);
    CHECK(code_of(actor.read([](const auto&) {})) == no_error);
}

TEST_CASE("E22 a thread that first meets an executor after its end keeps nothing of it") {
    for (int round = 0; round < scaled(300); ++round) {
        Actor<int> handle;
        std::jthread([&] {
            Executor gone;
            handle = gone.add_actor("a", 0);
        }).join();
        std::jthread([&] {
            CHECK(code_of(handle.mutate([](int&) {})) == ErrorCode::shut_down);
            handle = {};  // with it goes the engine, whose address the next one may have
            Executor next;
            auto actor = next.add_actor("a", 7);
            CHECK(value_of(actor.read([](const int& n) { return n; })) == 7);
        }).join();
    }
}

TEST_CASE("E22 a handle is dropped by a thread that never met its executor, just as that comes to its end") {
    under_both_policies({1}, [](const Config& config) {
        Random random(1);
        INFO("seed " << seed());
        for (int round = 0; round < scaled(400); ++round) {
            auto executor = std::make_unique<Executor>(config);
            auto completion = executor->add_actor("a", 0).mutate([](int&) {});
            REQUIRE(eventually([&] { return completion.ready(); }));
            std::atomic<bool> go{false};
            const std::uint64_t late = random.below(3000);
            std::jthread dropper([&, job = std::move(completion)]() mutable {
                go.wait(false);
                for (std::atomic<std::uint64_t> spent{0}; spent.load() < late; spent.fetch_add(1)) {}
                job.detach();
            });
            go = true;
            go.notify_one();
            executor.reset();
        }
    });
}
