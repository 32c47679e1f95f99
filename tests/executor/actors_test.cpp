// Goal: actors are registered, listed and removed as E3 to E7 say, whatever their jobs are doing.
// Method: contexts that count their lives; jobs held at gates while actors come and go.
#include <array>
#include <set>
#include <stdexcept>
#include <string>

#include "executor/harness.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

struct Context {
    explicit Context(Tracked::Counts& counts, int initial = 0) : life(counts), value(initial) {}
    Tracked life;
    int value;
};

struct Other {
    std::string text;
};

}  // namespace

TEST_CASE("E3 registering an id that exists keeps its context and state, and says so") {
    under_both_policies({1, 2}, [](const Config& config) {
        Tracked::Counts counts;
        Executor executor(config);
        auto first = executor.emplace_actor<Context>("a", {}, counts, 7);
        CHECK(first.inserted);
        CHECK(code_of(first.mutate([](Context& c) { c.value = 8; })) == no_error);

        auto second = executor.add_actor("a", Context(counts, 99));
        CHECK_FALSE(second.inserted);
        CHECK(value_of(second.read([](const Context& c) { return c.value; })) == 8);
        CHECK(counts.alive.load() == 1);
        CHECK(second.id() == "a");
        CHECK(executor.snapshot().actors == 1);

        // With another type it is refused, and nothing changes.
        try {
            static_cast<void>(executor.add_actor("a", Other{}));
            FAIL("another type was accepted");
        } catch (const Exception& refused) {
            CHECK(refused.error() == ErrorCode::context_type_mismatch);
            CHECK(refused.error().actor() == "a");
        }
        CHECK(executor.find_actor<Other>("a").error() == ErrorCode::context_type_mismatch);
        CHECK(value_of(first.read([](const Context& c) { return c.value; })) == 8);
    });
}

TEST_CASE("E3 of many threads that register one id, one inserts, and all get the same actor") {
    under_both_policies({2}, [](const Config& config) {
        Tracked::Counts counts;
        {
            Executor executor(config);
            for (int round = 0; round < 20; ++round) {
                const std::string id = "actor" + std::to_string(round);
                std::atomic<int> inserted{0};
                std::vector<std::jthread> threads;
                for (int i = 0; i < 4; ++i) {
                    threads.emplace_back([&] {
                        auto added = executor.add_actor(id, Context(counts));
                        inserted.fetch_add(added.inserted ? 1 : 0);
                        added.mutate([](Context& c) { ++c.value; }).detach();
                    });
                }
                threads.clear();
                CHECK(inserted.load() == 1);
                auto actor = *executor.find_actor<Context>(id);
                CHECK(value_of(actor.mutate([](Context& c) { return c.value; })) == 4);
            }
            CHECK(counts.alive.load() == 20);
        }
        CHECK(counts.alive.load() == 0);
    });
}

TEST_CASE("E3 a context whose constructor throws leaves no actor behind") {
    Executor executor;
    struct Throwing {
        explicit Throwing(bool now) {
            if (now)
                throw std::runtime_error("no context");
        }
    };
    CHECK_THROWS_AS(static_cast<void>(executor.emplace_actor<Throwing>("a", {}, true)), std::runtime_error);
    CHECK(executor.find_actor<Throwing>("a").error() == ErrorCode::actor_not_registered);
    CHECK(executor.emplace_actor<Throwing>("a", {}, false).inserted);
}

TEST_CASE("E12 E34 a weight out of its range is refused, naming it") {
    Executor executor;
    for (const std::uint32_t weight : {0U, 1001U}) {
        try {
            static_cast<void>(executor.add_actor("a", 0, {.weight = weight}));
            FAIL("accepted");
        } catch (const Exception& refused) {
            CHECK(refused.error() == ErrorCode::invalid_argument);
            CHECK(refused.error().limit().name == "weight");
            CHECK(refused.error().message().find("weight") != std::string_view::npos);
        }
    }
    CHECK(executor.actors().empty());
}

TEST_CASE("E4 removal fails what is queued at once, and lets what runs finish against the old context") {
    under_both_policies({1, 2, 4}, [](const Config& config) {
        Tracked::Counts old_counts;
        Tracked::Counts new_counts;
        std::atomic<int> ran{0};
        Executor executor(config);
        auto old = executor.emplace_actor<Context>("a", {}, old_counts, 1);
        const Gate gate;
        auto running = old.mutate([gate](Context& c) {
            gate.pass();
            return c.value;
        });
        REQUIRE(gate.reached_by(1));

        std::vector<Completion<void>> queued;
        const auto count = [&ran](const Context&) { ran.fetch_add(1); };
        for (const JobClass c : {JobClass::interactive, JobClass::maintenance}) {
            const JobOptions options{.job_class = c, .request_id = "queued"};
            queued.push_back(old.read(options, count));
            queued.push_back(old.status(options, count));
            queued.push_back(old.mutate(options, [&ran](Context&) { ran.fetch_add(1); }));
            queued.push_back(old.build(options, count));
            queued.push_back(old.build(options, count, [](Context&) {}));
        }
        CHECK(executor.remove_actor("a"));
        CHECK_FALSE(executor.remove_actor("a"));
        for (auto& job : queued) {  // they end while the worker of the removed actor is still inside its job
            const auto result = result_of(job);
            REQUIRE_FALSE(result);
            CHECK(result.error() == ErrorCode::actor_removed);
            CHECK(result.error().actor() == "a");
            CHECK(result.error().request_id() == "queued");
        }
        CHECK_FALSE(running.ready());
        CHECK_FALSE(old.registered());
        CHECK(old_counts.destroyed.load() == 0);

        // A new generation under the same id: the old one's jobs and handles have nothing to do with it.
        auto fresh = executor.emplace_actor<Context>("a", {}, new_counts, 2);
        CHECK(fresh.inserted);
        CHECK(code_of(old.read(count)) == ErrorCode::actor_not_registered);
        CHECK(executor.actor_snapshot("a")->accepted == 0);
        gate.open();
        CHECK(value_of(running) == 1);
        CHECK(value_of(fresh.mutate([](Context& c) { return c.value; })) == 2);
        CHECK(eventually([&] { return old_counts.destroyed.load() == 1; }));
        CHECK(eventually([&] { return executor.actor_snapshot("a")->completed == 1; }));
        CHECK(executor.actor_snapshot("a")->accepted == 1);
        CHECK(new_counts.destroyed.load() == 0);
        CHECK(ran.load() == 0);
        const Snapshot snapshot = executor.snapshot();
        CHECK(snapshot.jobs.actor_removed == 10);
        CHECK(snapshot.interactive.jobs.actor_removed == 5);
        CHECK(snapshot.refused.actor_not_registered == 1);
    });
}

TEST_CASE("E4 many generations of one id, with jobs in flight in each") {
    under_both_policies({2, 4}, [](const Config& config) {
        Tracked::Counts counts;
        std::atomic<int> ran{0};
        int ended = 0;
        int removed = 0;
        {
            Executor executor(config);
            for (int round = 0; round < scaled(400); ++round) {
                auto actor = executor.emplace_actor<Context>("a", {}, counts, round);
                REQUIRE(actor.inserted);
                std::vector<Completion<int>> jobs;
                for (int i = 0; i < 8; ++i) {
                    jobs.push_back(actor.mutate([&ran](Context& c) {
                        ran.fetch_add(1);
                        return c.value;
                    }));
                }
                if (round % 3 == 0)
                    CHECK(value_of(jobs[2]) == round);
                CHECK(executor.remove_actor("a"));
                for (auto& job : jobs) {
                    if (!job.valid())
                        continue;
                    const auto result = result_of(job);
                    if (result) {
                        ++ended;
                        CHECK(*result == round);
                    } else {
                        ++removed;
                        CHECK(result.error() == ErrorCode::actor_removed);
                    }
                }
                if (round % 3 == 0)
                    ++ended;
            }
            CHECK(ended + removed == scaled(400) * 8);
            CHECK(ran.load() == ended);
            CHECK(eventually([&] { return counts.alive.load() == 0; }));
            CHECK(executor.snapshot().actors == 0);
        }
    });
}

TEST_CASE("E4 E21 a job removes its own actor and registers it anew") {
    under_both_policies({1, 2}, [](const Config& config) {
        Tracked::Counts counts;
        Executor executor(config);
        Actor<Context> actor = executor.emplace_actor<Context>("a", {}, counts, 0);
        for (int round = 0; round < 50; ++round) {
            actor = value_of(actor.mutate([&executor, &counts, round](Context& c) -> Actor<Context> {
                if (c.value != round || !executor.remove_actor("a"))
                    return {};
                return executor.emplace_actor<Context>("a", {}, counts, round + 1);
            }));
            REQUIRE(actor.registered());
        }
        CHECK(eventually([&] { return counts.alive.load() == 1; }));
    });
}

TEST_CASE("E6 the listing answers while every worker is stuck, and keeps contexts alive") {
    under_both_policies({1, 2}, [](const Config& config) {
        Tracked::Counts counts;
        Executor executor(config);
        AllWorkersHeld held(executor);
        for (int i = 0; i < 50; ++i)
            static_cast<void>(executor.emplace_actor<Context>("a" + std::to_string(i), {}, counts, i));
        static_cast<void>(executor.add_actor("text", Other{"hello"}));

        std::vector<ActorEntry> entries = executor.actors();
        CHECK(entries.size() == 51 + executor.config().pool_size);
        std::set<std::string> ids;
        for (const ActorEntry& entry : entries) {
            ids.insert(std::string(entry.id()));
            if (entry.id() == "text") {
                REQUIRE(entry.context<Other>() != nullptr);
                CHECK(entry.context<Other>()->text == "hello");
                CHECK(entry.context<Context>() == nullptr);
            } else if (entry.id().starts_with("a")) {
                REQUIRE(entry.context<Context>() != nullptr);
                CHECK("a" + std::to_string(entry.context<Context>()->value) == entry.id());
            }
        }
        CHECK(ids.size() == entries.size());

        for (int i = 0; i < 50; ++i)
            CHECK(executor.remove_actor("a" + std::to_string(i)));
        CHECK(executor.actors().size() == 1 + executor.config().pool_size);
        held.release();
        CHECK(stays([&] { return counts.alive.load() == 50; }));
        for (const ActorEntry& entry : entries) {
            if (const auto* context = entry.context<Context>(); context != nullptr)
                CHECK("a" + std::to_string(context->value) == entry.id());
        }
        std::vector<ActorEntry> copies(entries.begin(), entries.end());
        entries.clear();
        CHECK(stays([&] { return counts.alive.load() == 50; }));
        copies.clear();
        CHECK(counts.alive.load() == 0);
    });
}

TEST_CASE(
    "E4 E6 a removed actor's context goes with its last listing: on the thread that drops it, else on the "
    "executor's") {
    under_both_policies({1, 2}, [](const Config& config) {
        std::atomic<int> here{0};
        std::atomic<int> elsewhere{0};
        const auto mine = std::this_thread::get_id();
        auto tell = [&, mine] { (std::this_thread::get_id() == mine ? here : elsewhere).fetch_add(1); };
        Executor executor(config);
        executor.add_actor("listed", AtEnd(tell));
        executor.add_actor("not listed", AtEnd(tell));
        std::vector<ActorEntry> entries = executor.actors();
        std::erase_if(entries, [](const ActorEntry& entry) { return entry.id() != "listed"; });
        CHECK(executor.remove_actor("not listed"));
        CHECK(eventually([&] { return elsewhere.load() == 1; }));
        CHECK(executor.remove_actor("listed"));
        // The executor has let go of it once it has served a later removal, too.
        executor.add_actor("later", AtEnd(tell));
        CHECK(executor.remove_actor("later"));
        CHECK(eventually([&] { return elsewhere.load() == 2; }));
        CHECK(stays([&] { return here.load() == 0; }));
        entries.clear();
        CHECK(here.load() == 1);
        CHECK(elsewhere.load() == 2);
    });
}

TEST_CASE("E6 listings, look-ups, registrations and removals at the same time see whole actors only") {
    under_both_policies({2}, [](const Config& config) {
        Tracked::Counts counts;
        {
            std::atomic<bool> over{false};
            std::atomic<int> wrong{0};
            Executor executor(config);
            std::vector<std::jthread> threads;
            for (int t = 0; t < 2; ++t) {
                threads.emplace_back([&, t] {
                    for (int round = 0; !over.load(); ++round) {
                        const int n = round % 40 + 40 * t;
                        auto added = executor.emplace_actor<Context>("a" + std::to_string(n), {}, counts, n);
                        if (round % 3 == 0)
                            added.mutate([](Context&) {}).detach();
                        executor.remove_actor("a" + std::to_string((n * 7) % 80));
                    }
                });
            }
            threads.emplace_back([&] {
                for (int n = 0; !over.load(); n = (n + 1) % 80) {
                    const auto found = executor.find_actor<Context>("a" + std::to_string(n));
                    if (found && found->id() != "a" + std::to_string(n))
                        wrong.fetch_add(1);
                }
            });
            for (int round = 0; round < scaled(200); ++round) {
                std::set<std::string> ids;
                for (const ActorEntry& entry : executor.actors()) {
                    const auto* context = entry.context<Context>();
                    if (context == nullptr || "a" + std::to_string(context->value) != entry.id())
                        wrong.fetch_add(1);
                    // Twice in one listing may be an id only as two generations.
                    ids.insert(std::string(entry.id()));
                }
                if (ids.size() > 80)
                    wrong.fetch_add(1);
            }
            over.store(true);
            threads.clear();
            CHECK(wrong.load() == 0);
        }
        CHECK(counts.alive.load() == 0);
    });
}

TEST_CASE("E7 actors of any context type live in one executor; readers get a const context") {
    struct Pinned {  // neither copied nor moved
        Pinned() = default;
        Pinned(const Pinned&) = delete;
        Pinned& operator=(const Pinned&) = delete;
        std::atomic<int> reads{0};
    };
    struct alignas(128) Aligned {
        std::array<char, 300> bytes{};
    };
    under_both_policies({2}, [](const Config& config) {
        Executor executor(config);
        auto number = executor.add_actor("number", 1);
        auto text = executor.add_actor("text", std::string("t"));
        auto pinned = executor.emplace_actor<Pinned>("pinned", {});
        auto aligned = executor.emplace_actor<Aligned>("aligned", {});
        CHECK(value_of(number.mutate([](int& n) { return ++n; })) == 2);
        CHECK(value_of(text.mutate([](std::string& t) { return t += "!"; })) == "t!");
        CHECK(value_of(aligned.read([](const Aligned& a) {
                  return reinterpret_cast<std::uintptr_t>(&a) % alignof(Aligned);
              })) == 0);

        const auto is_const = [](auto& context) {
            return std::is_const_v<std::remove_reference_t<decltype(context)>>;
        };
        CHECK(value_of(pinned.read(is_const)));
        CHECK(value_of(pinned.status(is_const)));
        CHECK(value_of(pinned.build(is_const)));
        CHECK_FALSE(value_of(pinned.mutate(is_const)));
        CHECK_FALSE(value_of(pinned.build([](const Pinned&) {}, is_const)));

        using Mutator = decltype([](int&) {});
        static_assert(!ReadJob<Mutator, int> && MutateJob<Mutator, int>);
        static_assert(ReadJob<decltype([](const int&) {}), int>);

        // By key, with the type said; a lane that only reads refuses a job that mutates.
        CHECK(value_of(executor.submit<int>("number", Lane::mutating, {}, [](int& n) { return ++n; })) == 3);
        CHECK(value_of(executor.submit<int>("number", Lane::pure_read, {}, [](const int& n) { return n; })) ==
              3);
        CHECK(value_of(
                  executor.submit<int>("number", Lane::heavy_init, {}, [](const int& n) { return n; })) == 3);
        const auto wrong_lane = result_of(executor.submit<int>(
            "number", Lane::serial_status, {.request_id = "r"}, [](int& n) { return ++n; }));
        REQUIRE_FALSE(wrong_lane);
        CHECK(wrong_lane.error() == ErrorCode::lane_mismatch);
        CHECK(wrong_lane.error().actor() == "number");
        CHECK(wrong_lane.error().request_id() == "r");
        CHECK(wrong_lane.error().message().find("serial_status") != std::string_view::npos);
        const auto wrong_type =
            result_of(executor.submit<int>("text", Lane::pure_read, {}, [](const int& n) { return n; }));
        CHECK(wrong_type.error() == ErrorCode::context_type_mismatch);
    });
}
