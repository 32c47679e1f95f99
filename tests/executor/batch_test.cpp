// Goal: a Batch holds back wake-ups of its thread's submissions while it lives, and no longer: wherever and whenever it is
// destroyed, no wake-up is lost and no other thread's submissions are held back (E26, E16).
// Method: workers that park at once and are given time to. What is not woken for does not run: a lost wake-up is a job that
// does not end.
#include <memory>
#include <optional>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// An executor whose threads sleep, one that counts what ran.
class Sleeper {
public:
    explicit Sleeper(Config config) {
        config.spin = SpinPolicy::park;
        executor.emplace(config);
        actor = executor->add_actor("a", 0);
        fall_asleep();
    }
    /// Nothing says that a thread sleeps; after a job, a while is much more than it takes.
    void fall_asleep() {
        CHECK(code_of(actor.read([](const int&) {})) == no_error);
        std::this_thread::sleep_for(a_while);
    }
    void submit() {
        CHECK(actor.post_read([this](const int&) { ran.fetch_add(1); }));
    }
    [[nodiscard]] bool all_run(int jobs) {
        return eventually([&] { return ran.load() == jobs; });
    }

    std::atomic<int> ran{0};
    std::optional<Executor> executor;
    Actor<int> actor;
};

// Made before the library's own thread-local objects, so destroyed after them.
thread_local std::unique_ptr<Batch> held_to_the_end;

}  // namespace

TEST_CASE("E26 batches nest: only the end of the outermost wakes") {
    under_both_policies({1, 2}, [](const Config& config) {
        Sleeper sleeper(config);
        {
            const Batch outer(*sleeper.executor);
            {
                const Batch inner(*sleeper.executor);
                sleeper.submit();
            }
            sleeper.submit();
        }
        CHECK(sleeper.all_run(2));
    });
}

TEST_CASE("E26 E16 a batch that is destroyed on another thread wakes there, and its maker is as before") {
    under_both_policies({1, 2}, [](const Config& config) {
        Sleeper sleeper(config);
        auto batch = std::make_unique<Batch>(*sleeper.executor);
        sleeper.submit();
        std::jthread([&] { batch.reset(); }).join();
        CHECK(sleeper.all_run(1));
        sleeper.fall_asleep();
        sleeper.submit();  // no batch is open here any more
        CHECK(sleeper.all_run(2));
        // The other thread may have one of its own: that one goes on holding back, and ends as ever.
        sleeper.fall_asleep();
        batch = std::make_unique<Batch>(*sleeper.executor);
        sleeper.submit();
        std::jthread([&] {
            const Batch own(*sleeper.executor);
            sleeper.submit();
            batch.reset();
            sleeper.submit();
        }).join();
        CHECK(sleeper.all_run(5));
    });
}

TEST_CASE(
    "E26 E16 a batch that outlives its thread: the thread's end wakes, and who comes after it is not held "
    "back") {
    under_both_policies({1, 2}, [](const Config& config) {
        Sleeper sleeper(config);
        std::unique_ptr<Batch> batch;
        std::jthread([&] {
            batch = std::make_unique<Batch>(*sleeper.executor);
            sleeper.submit();
        }).join();
        CHECK(sleeper.all_run(1));
        sleeper.fall_asleep();
        // The next thread gets the place of the one that ended.
        std::jthread([&] { sleeper.submit(); }).join();
        CHECK(sleeper.all_run(2));
        sleeper.fall_asleep();
        std::jthread([&] {
            const Batch own(*sleeper.executor);
            batch.reset();  // of an earlier owner: this one's stays open, and ends as ever
            sleeper.submit();
        }).join();
        CHECK(sleeper.all_run(3));
        sleeper.fall_asleep();
        sleeper.submit();
        CHECK(sleeper.all_run(4));
    });
}

TEST_CASE("E26 E16 a batch that is destroyed after its thread's other objects of the library") {
    under_both_policies({1, 2}, [](const Config& config) {
        Sleeper sleeper(config);
        std::jthread([&] {
            static_cast<void>(held_to_the_end.get());  // constructed here, before this thread first submits
            held_to_the_end = std::make_unique<Batch>(*sleeper.executor);
            sleeper.submit();
        }).join();
        CHECK(sleeper.all_run(1));
        for (int i = 0; i < 2; ++i) {
            sleeper.fall_asleep();
            std::jthread([&] { sleeper.submit(); }).join();
            CHECK(sleeper.all_run(2 + i));
        }
    });
}

TEST_CASE("E26 E16 batches that are made here and destroyed there, while their maker goes on submitting") {
    under_both_policies({2}, [](const Config& config) {
        Sleeper sleeper(config);
        const int rounds = scaled(400);
        for (int i = 0; i < rounds; ++i) {
            auto batch = std::make_unique<Batch>(*sleeper.executor);
            std::jthread elsewhere([mine = std::move(batch)]() mutable { mine.reset(); });
            for (int j = 0; j < 3; ++j)
                sleeper.submit();
            elsewhere.join();
            REQUIRE(sleeper.all_run(3 * (i + 1)));
        }
    });
}
