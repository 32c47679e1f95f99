// Goal: what was submitted first runs first, however the submissions were ordered (E14); cases X08 and X11.
// Method: jobs carry numbers taken where the submissions are ordered, and write what they see into plain fields.
#include <stdexcept>
#include <string>

#include "executor/harness.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Checks that numbers come in order, one class each. Plain fields: the mutating lane excludes.
struct InOrder {
    std::uint64_t next[2] = {0, 0};
    std::uint64_t wrong = 0;
    void take(std::uint64_t number, JobClass job_class = JobClass::interactive) {
        std::uint64_t& expected = next[static_cast<std::size_t>(job_class)];
        if (number != expected)
            ++wrong;
        expected = number + 1;
    }
};

}  // namespace

TEST_CASE("X11a E14 one thread submits numbered mutating jobs; they run in number order") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", InOrder{});
        const auto count = static_cast<std::uint64_t>(scaled(20'000));
        for (std::uint64_t i = 0; i < count; ++i)
            actor.mutate([i](InOrder& order) { order.take(i); }).detach();
        const InOrder end = value_of(actor.mutate([](InOrder& order) { return order; }));
        CHECK(end.next[0] == count);
        CHECK(end.wrong == 0);
    });
}

TEST_CASE("X11b E14 a baton passes between threads, each submitting the next number; they run in order") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        std::atomic<std::uint64_t> baton{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", InOrder{});
        auto noise = executor.add_actor("noise", 0);
        constexpr std::uint64_t threads = 4;
        const auto count = static_cast<std::uint64_t>(scaled(6'000));
        run_together(threads, [&](unsigned self) {
            Random random(self);
            for (;;) {
                const std::uint64_t number = baton.load();
                if (number >= count)
                    break;
                if (number % threads != self) {
                    // Jobs of others in between, so that lanes are unequally full.
                    if (random.one_in(16))
                        noise.post_mutate([](int& n) { ++n; }).value();
                    else
                        std::this_thread::yield();
                    continue;
                }
                actor.mutate([number](InOrder& order) { order.take(number); }).detach();
                baton.store(number + 1);
            }
        });
        const InOrder end = value_of(actor.mutate([](InOrder& order) { return order; }));
        CHECK(end.next[0] == count);
        CHECK(end.wrong == 0);
    });
}

TEST_CASE("E14 each class keeps its own order, and a job may continue what a thread began") {
    under_both_policies({2, 4}, [](const Config& config) {
        Executor executor(config);
        auto actor = executor.add_actor("a", InOrder{});
        auto relay = executor.add_actor("relay", 0);
        const auto count = static_cast<std::uint64_t>(scaled(3'000));
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto job_class = i % 3 == 0 ? JobClass::maintenance : JobClass::interactive;
            const std::uint64_t number = i % 3 == 0 ? i / 3 : i - i / 3 - 1;
            const auto submit = [actor, job_class, number] {
                actor
                    .post_mutate({.job_class = job_class},
                                 [job_class, number](InOrder& order) { order.take(number, job_class); })
                    .value();
            };
            // Some are submitted by a worker, ordered by the completion of its job.
            if (i % 16 == 5)
                CHECK(code_of(relay.mutate([submit](int&) { submit(); })) == no_error);
            else
                submit();
        }
        CHECK(eventually([&] { return executor.actor_snapshot("a")->completed == count; }));
        const InOrder end = value_of(actor.mutate([](InOrder& order) { return order; }));
        CHECK(end.next[0] == count - (count + 2) / 3);
        CHECK(end.next[1] == (count + 2) / 3);
        CHECK(end.wrong == 0);
    });
}

TEST_CASE("E14 E16 submissions whose closures throw leave the order of the others as it is") {
    struct CopyThrows {
        CopyThrows() = default;
        CopyThrows(const CopyThrows&) {
            throw std::runtime_error("no copy");
        }
        void operator()(InOrder&) const {}
    };
    under_both_policies({1, 2}, [](const Config& config) {
        std::atomic<std::uint64_t> baton{0};
        Executor executor(config);
        auto actor = executor.add_actor("a", InOrder{});
        const auto count = static_cast<std::uint64_t>(scaled(2'000));
        run_together(3, [&](unsigned self) {
            const CopyThrows broken;
            Random random(40 + self);
            while (baton.load() < count) {
                if (random.one_in(3)) {  // takes a number, and no job comes
                    try {
                        actor.mutate(broken).detach();
                    } catch (const std::runtime_error&) {
                        std::this_thread::yield();
                    }
                }
                const std::uint64_t number = baton.load();
                if (number % 3 != self || number >= count) {
                    std::this_thread::yield();
                    continue;
                }
                actor.mutate([number](InOrder& order) { order.take(number); }).detach();
                baton.store(number + 1);
            }
        });
        const InOrder end = value_of(actor.mutate([](InOrder& order) { return order; }));
        CHECK(end.next[0] == count);
        CHECK(end.wrong == 0);
        CHECK(eventually([&] { return executor.snapshot().jobs.queued == 0; }));
        CHECK(executor.snapshot().jobs.abandoned > 0);
    });
}

TEST_CASE(
    "X08 E8 reads without pause from eight threads, and one mutation: before it the old, after it the new") {
    struct State {
        int version = 0;
        mutable std::atomic<int> reading{0};
        std::atomic<int> beside_writer{0};
    };
    under_both_policies({2, 4}, [](const Config& config) {
        std::atomic<int> wrong{0};
        Executor executor(config);
        for (int round = 0; round < scaled(40); ++round) {
            const std::string id = "a" + std::to_string(round);
            auto actor = executor.emplace_actor<State>(id, {});
            std::atomic<int> stage{0};  // 0: before the mutation, 1: being submitted, 2: submitted
            std::atomic<int> finished{0};
            std::vector<std::jthread> threads;
            for (int t = 0; t < 8; ++t) {
                threads.emplace_back([&] {
                    std::vector<Completion<void>> reads;
                    for (int i = 0, after = 0; i < 20'000 && after < 20; ++i) {
                        const int before = stage.load();
                        // Submitted before the mutation's submission began (checked afterwards), it must see the old.
                        auto read = std::make_shared<std::atomic<int>>(0);
                        reads.push_back(actor.read([&wrong, before, read](const State& state) {
                            state.reading.fetch_add(1);
                            if (before == 2 && state.version != 1)
                                wrong.fetch_add(1);
                            read->store(state.version + 1);
                            state.reading.fetch_sub(1);
                        }));
                        if (stage.load() == 0 &&
                            i % 2 == 0) {  // its submission has returned, the mutation has not begun
                            static_cast<void>(reads.back().wait_for(patience));
                            // It may run only before the mutation, whenever it ran.
                            if (read->load() != 1)
                                wrong.fetch_add(1);
                            reads.pop_back();
                        }
                        after += before == 2 ? 1 : 0;
                        if (reads.size() > 8) {
                            static_cast<void>(reads.front().wait_for(patience));
                            reads.erase(reads.begin());
                        }
                    }
                    for (auto& read : reads)
                        static_cast<void>(read.wait_for(patience));
                    finished.fetch_add(1);
                });
            }
            std::this_thread::sleep_for(std::chrono::microseconds(200 * (round % 5)));
            stage.store(1);
            auto writer = actor.mutate([](State& state) {
                if (state.reading.load() != 0)
                    state.beside_writer.fetch_add(1);
                state.version = 1;
            });
            stage.store(2);
            CHECK(code_of(writer) == no_error);
            threads.clear();
            CHECK(finished.load() == 8);
            CHECK(value_of(actor.read([](const State& s) { return s.beside_writer.load(); })) == 0);
            executor.remove_actor(id);
        }
        CHECK(wrong.load() == 0);
    });
}
