// Goal: what belongs to the user is destroyed where it can do no harm (E5), and may itself use the executor (E21).
// Method: objects whose destructors look where they are: whether this thread is inside a submission, and whether the
// scheduler's role is held under this thread's name. Then destructors that submit, register and remove.
#include <pthread.h>

#include <array>
#include <stdexcept>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

thread_local bool submitting = false;
std::atomic<int> in_submission{0};
std::atomic<int> in_role{0};
std::atomic<int> looked{0};

std::string own_thread_name() {
    std::array<char, 64> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    return name.data();
}

/// Looks where it is destroyed.
class Witness {
public:
    explicit Witness(const Executor& executor) : executor_(&executor) {}
    Witness(Witness&& other) noexcept : executor_(std::exchange(other.executor_, nullptr)) {}
    Witness& operator=(Witness&&) = delete;
    ~Witness() {
        if (executor_ == nullptr)
            return;
        looked.fetch_add(1);
        if (submitting)
            in_submission.fetch_add(1);
        const TurnSnapshot turn = executor_->snapshot().turn;
        if (turn.held && turn.holder == own_thread_name())
            in_role.fetch_add(1);
    }

private:
    const Executor* executor_;
};

struct Context {
    Witness witness;
    int value = 0;
};

template <class Submit>
auto submitted(Submit submit) {
    submitting = true;
    auto result = submit();
    submitting = false;
    return result;
}

}  // namespace

TEST_CASE("E5 no destructor of a context, closure or result runs under the role or inside a submission") {
    under_both_policies({1, 2, 4}, [](Config config) {
        config.thread_name_prefix = "e5";
        config.max_queued = 64;
        looked.store(0);
        {
            Executor executor(config);
            for (int round = 0; round < scaled(120); ++round) {
                const std::string id = "a" + std::to_string(round % 5);
                auto actor = executor.emplace_actor<Context>(id, {}, Witness(executor));
                for (int i = 0; i < 12; ++i) {
                    auto closure = [closure = Witness(executor), &executor, round](Context& c) {
                        if (++c.value > 20 && round % 10 == 0)
                            throw Witness(executor);
                        return Witness(executor);
                    };
                    auto completion = submitted([&] { return actor.mutate(std::move(closure)); });
                    if (i % 3 == 0)
                        completion.detach();
                    if (i % 3 == 1)
                        static_cast<void>(completion.wait());
                }
                auto posted = [closure = Witness(executor)](const Context&) {};
                static_cast<void>(submitted([&] { return actor.post_read(std::move(posted)); }));
                if (round % 3 == 0)
                    executor.remove_actor(id);
            }
        }
        CHECK(looked.load() > scaled(120) * 10);
        CHECK(in_submission.load() == 0);
        CHECK(in_role.load() == 0);
    });
}

TEST_CASE("E5 a refused submission leaves its closure as it was, and the caller destroys it") {
    under_both_policies({1}, [](Config config) {
        config.max_queued = 1;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        AllWorkersHeld held(executor);
        CHECK(actor.post_read([](const int&) {}));
        auto unique = std::make_unique<int>(5);
        auto closure = [kept = std::move(unique)](const int&) { return *kept; };
        auto refused = actor.read(std::move(closure));
        CHECK(code_of(refused) == ErrorCode::queue_full);
        held.release();
        CHECK(eventually([&] { return executor.snapshot().jobs.queued == 0; }));
        // That it is still there is the promise. NOLINTNEXTLINE(bugprone-use-after-move)
        CHECK(value_of(actor.read(std::move(closure))) == 5);
    });
}

TEST_CASE("E5 a closure is destroyed before its job completes: what it held is free when a waiter wakes") {
    under_both_policies({1, 2}, [](const Config& config) {
        Tracked::Counts counts;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        for (int i = 0; i < scaled(400); ++i) {
            CHECK(code_of(actor.mutate([held = Tracked(counts)](int&) {})) == no_error);
            CHECK(counts.alive.load() == 0);
            CHECK(code_of(actor.build([held = Tracked(counts)](const int&) { return 1; },
                                      [held = Tracked(counts)](int& n, int more) { n += more; })) ==
                  no_error);
            CHECK(counts.alive.load() == 0);
            CHECK(code_of(actor.read([held = Tracked(counts)](const int&) {
                      throw std::runtime_error("no");
                  })) == ErrorCode::job_threw);
            CHECK(counts.alive.load() == 0);
        }
    });
}

TEST_CASE("E16 a closure that cannot be constructed ends its submission, and costs no place") {
    struct CopyThrows {
        CopyThrows() = default;
        CopyThrows(const CopyThrows&) {
            throw std::runtime_error("no copy");
        }
        void operator()(const int&) const {}
    };
    under_both_policies({2}, [](Config config) {
        config.max_queued = 3;
        config.max_queued_per_actor = 2;
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        const CopyThrows job;
        for (int i = 0; i < 50; ++i) {
            // The places of earlier ones come back with the next turn.
            CHECK(eventually([&] { return executor.snapshot().jobs.queued == 0; }));
            CHECK_THROWS_AS(actor.read(job).detach(), std::runtime_error);
        }
        CHECK(eventually([&] { return executor.snapshot().jobs.abandoned == 50; }));
        AllWorkersHeld held(executor);
        CHECK(actor.post_read([](const int&) {}));
        CHECK(actor.post_read([](const int&) {}));
        CHECK(actor.post_read([](const int&) {}).error().limit().name == "max_queued_per_actor");
        held.release();
        const Snapshot snapshot = executor.snapshot();
        CHECK(snapshot.jobs.accepted ==
              snapshot.jobs.queued + snapshot.jobs.running + snapshot.jobs.completed());
    });
}

TEST_CASE("E21 a context's destructor submits, registers, removes and reads snapshots") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        std::atomic<int> ran{0};
        std::atomic<int> submitted_ok{0};
        std::atomic<int> destroyed{0};  // its last deed: a job that it submitted may end long before
        {
            Executor executor(config);
            auto other = executor.add_actor("other", 0);
            int expected = 0;
            for (int round = 0; round < scaled(60); ++round) {
                const std::string child = "child" + std::to_string(round);
                auto in_destructor = [&executor, &ran, &submitted_ok, &destroyed, other, child] {
                    other.mutate([&ran](int& n) { n = ran.fetch_add(1) + 1; }).detach();
                    if (other.post_read([&ran](const int&) { ran.fetch_add(1); }))
                        submitted_ok.fetch_add(1);
                    static_cast<void>(executor.add_actor(child, 1));
                    executor.remove_actor(child);
                    static_cast<void>(executor.snapshot());
                    destroyed.fetch_add(1);
                };
                static_cast<void>(
                    executor.emplace_actor<AtEnd<decltype(in_destructor)>>("a", {}, in_destructor));
                CHECK(executor.remove_actor("a"));
                expected += 2;
                if (round % 4 == 0)
                    CHECK(eventually([&] { return ran.load() == expected; }));
            }
            CHECK(eventually([&] { return ran.load() == expected && destroyed.load() == scaled(60); }));
            CHECK(submitted_ok.load() == scaled(60));
        }
    });
}

TEST_CASE("E21 destructors of closures and results submit") {
    under_both_policies({1, 2}, [](const Config& config) {
        std::atomic<int> ran{0};
        Executor executor(config);
        auto other = executor.add_actor("other", 0);
        auto actor = executor.add_actor("a", 0);
        auto submit = [&ran, other] { other.mutate([&ran](int&) { ran.fetch_add(1); }).detach(); };
        for (int i = 0; i < 50; ++i) {
            actor.mutate([end = AtEnd(submit), submit](int&) { return AtEnd(submit); })
                .detach();  // closure and result
            auto taken = result_of(actor.read([submit](const int&) { return AtEnd(submit); }));
            CHECK(taken.has_value());
        }
        CHECK(eventually([&] { return ran.load() == 150; }));
    });
}

TEST_CASE("E21 E22 at the end a context's destructor removes other actors, whose contexts go too") {
    under_both_policies({1, 2}, [](const Config& config) {
        for (int round = 0; round < 10; ++round) {
            Tracked::Counts counts;
            std::atomic<int> refused{0};
            {
                Executor executor(config);
                for (int i = 0; i < 8; ++i) {
                    static_cast<void>(
                        executor.emplace_actor<Tracked>("child" + std::to_string(i), {}, counts));
                    auto parent = [&executor, &refused, i] {
                        executor.remove_actor("child" + std::to_string(i));
                        executor.remove_actor("child" + std::to_string((i + 1) % 8));
                        auto found = executor.find_actor<Tracked>("child" + std::to_string((i + 2) % 8));
                        if (found && code_of(found->read([](const Tracked&) {})) == ErrorCode::shut_down)
                            refused.fetch_add(1);
                    };
                    static_cast<void>(executor.emplace_actor<AtEnd<decltype(parent)>>(
                        "parent" + std::to_string(i), {}, parent));
                }
            }
            CHECK(counts.alive.load() == 0);
            CHECK(counts.destroyed.load() == 8);
        }
    });
}

TEST_CASE("E13 E4 twenty thousand actors come and go; their contexts with them") {
    under_both_policies({2}, [](const Config& config) {
        Tracked::Counts counts;
        const int count = scaled(20'000);
        {
            Executor executor(config);
            for (int i = 0; i < count; ++i)
                static_cast<void>(executor.emplace_actor<Tracked>("a" + std::to_string(i), {}, counts));
            CHECK(executor.snapshot().actors == static_cast<std::uint64_t>(count));
            CHECK(executor.actors().size() == static_cast<std::size_t>(count));
            for (int i = 0; i < count; i += 2)
                CHECK(executor.remove_actor("a" + std::to_string(i)));
            CHECK(eventually([&] { return counts.alive.load() == count / 2; }));
            for (int i = 1; i < count; i += 1000)
                CHECK(executor.find_actor<Tracked>("a" + std::to_string(i)).has_value());
        }
        CHECK(counts.alive.load() == 0);
        CHECK(counts.destroyed.load() == count);
    });
}
