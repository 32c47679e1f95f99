// Goal:   a thread that is suspended at any instruction of a call holds up nobody else: while it stands, others submit, cancel, are
//         admitted and look, their jobs run, and all of it in bounded time (E14, E29, P8, P11, T13). Where one thread owns a
//         decision (a worker that holds the scheduler's role), the calls of others return, and what waits for the decision
//         goes on when that thread does.
// Method: a signal stops one thread at a seeded moment of a call (suspend.hpp). Others then do a number of
//         operations of every kind. All is warmed up: steady state takes no memory, so nobody stands inside an
//         allocator with its locks. SLUICE_TEST_SECONDS makes it longer; 6 without it.
//
// Not under ThreadSanitizer, which holds a signal back until the thread is in a call that it knows: it would stand nowhere else.
#include "pool/harness.hpp"
#include "progress/suspend.hpp"
#include "support/sanitizers.hpp"
#include "support/stress.hpp"

#include <sluice/turn_gate.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

using namespace sluice;
using namespace sluice::test;

namespace {

/// What others do must be done in this time while one stands. Far above what it takes, so that it fails for one reason only.
constexpr auto bound = 10s;
constexpr int operations = 10;

std::chrono::nanoseconds time_each(int cases) {
    const char* const given = std::getenv("SLUICE_TEST_SECONDS");
    const double seconds = given != nullptr ? std::strtod(given, nullptr) : 6.0;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds / cases));
}

/// All three parts, warm.
class World {
public:
    explicit World(SchedulerPolicy policy)
        : executor({.pool_size = 2, .policy = policy, .spin = SpinPolicy::park, .reserve_nodes = 2048}),
          actor(executor.add_actor("others", 0)),
          victims(executor.add_actor("victim", 0)),
          pool([] {
              PoolConfig config = small_pool(2, 64);
              config.spin = SpinPolicy::park;
              return config;
          }()),
          gate({.max_concurrent_turns = 4, .clock = &clock}) {}

    Executor executor;
    Actor<int> actor;
    Actor<int> victims;
    BoundedPool pool;
    ManualClock clock;
    TurnGate gate;
};

/// Waits for a condition without sleeping in the library.
template <class Condition>
[[nodiscard]] bool soon(Condition condition) {
    const auto deadline = steady_clock::now() + bound;
    while (!condition()) {
        if (steady_clock::now() > deadline)
            return false;
        std::this_thread::yield();
    }
    return true;
}

/// Who makes a call: the victim, who may be stopped in it, or one of the others.
struct Caller {
    Suspender* suspender = nullptr;
    Random random{1};

    template <class Call>
    auto within(Call call) {
        if (suspender == nullptr)
            return call();
        // Calls that wake somebody up are rare among the others and take some microseconds: so they are aimed at.
        if (random.one_in(2))
            suspender->arm(random.below(3'000));
        return suspender->within(call);
    }
};

/// A kind of call: what the victim does over and over, and what others do while it stands. False: it was not done in time.
struct Kind {
    std::string_view name;
    std::function<bool(World&, Caller&)> once;
};

bool submit(const Actor<int>& actor, Caller& caller) {
    auto done = std::make_shared<std::atomic<bool>>(false);
    const auto posted =
        caller.within([&] { return actor.post_read([done](const int&) { done->store(true); }); });
    return posted && soon([&] { return done->load(); });
}

bool stop(const Actor<int>& actor, Caller& caller) {
    std::stop_source source;
    auto completion = actor.mutate({.stop = source.get_token()}, [](int&) {});
    static_cast<void>(caller.within([&] { return source.request_stop(); }));
    return soon([&] { return completion.ready(); });
}

bool enqueue(World& world, Caller& caller) {
    auto done = std::make_shared<std::atomic<bool>>(false);
    const auto posted =
        caller.within([&] { return world.pool.post(only, {}, [done] { done->store(true); }); });
    return posted && soon([&] { return done->load(); });
}

bool cancel(World& world, Caller& caller) {
    auto item = world.pool.enqueue(only, {}, [] {});
    if (!item)
        return false;
    static_cast<void>(caller.within([&] { return item->cancel(); }));
    return soon([&] { return item->state() > ItemState::running; });
}

bool admit(World& world, Caller& caller) {
    TurnTicket ticket = caller.within([&] { return world.gate.try_admit(); });
    static_cast<void>(caller.within([&] { return ticket.release(); }));
    return true;
}

/// With all turns taken by this thread and others, it waits, and leaves or is admitted.
bool queue_for_a_turn(World& world, Caller& caller) {
    std::array<TurnTicket, 4> taken;
    for (TurnTicket& ticket : taken)
        ticket = world.gate.try_admit();
    Submitted submitted =
        caller.within([&] { return world.gate.submit({.on_admitted = [](TurnTicket) {}}); });
    if (const auto* queued = std::get_if<Queued>(&submitted))
        static_cast<void>(caller.within([&] { return world.gate.leave(queued->place); }));
    for (TurnTicket& ticket : taken)
        static_cast<void>(caller.within([&] { return ticket.release(); }));
    return true;
}

bool look(World& world, Caller& caller) {
    static_cast<void>(caller.within([&] { return world.executor.snapshot(); }));
    static_cast<void>(caller.within([&] { return world.gate.snapshot(); }));
    static_cast<void>(caller.within([&] { return world.pool.snapshot(); }));
    return true;
}

const std::array<Kind, 7> kinds{{
    {"submit", [](World& world, Caller& caller) { return submit(world.victims, caller); }},
    {"stop", [](World& world, Caller& caller) { return stop(world.victims, caller); }},
    {"enqueue", enqueue},
    {"cancel", cancel},
    {"admit", admit},
    {"queue for a turn", queue_for_a_turn},
    {"snapshot", look},
}};

/// What others do, each on its own actor; the first that did not get done, or none.
std::string_view others_go_on(World& world) {
    Caller caller;
    for (int i = 0; i < operations; ++i) {
        if (!submit(world.actor, caller))
            return "submit";
        if (!stop(world.actor, caller))
            return "stop";
        if (!enqueue(world, caller))
            return "enqueue";
        if (!cancel(world, caller))
            return "cancel";
        if (!admit(world, caller) || !queue_for_a_turn(world, caller) || !look(world, caller))
            return "a call that returns";
    }
    return {};
}

}  // namespace

TEST_CASE("E14 E29 P8 P11 T13 progress: one stands inside a call, the others go on, and their jobs run") {
    if (under_thread_sanitizer)
        return;
    int stood_in_all = 0;
    for (const Kind& kind : kinds) {
        for (const SchedulerPolicy policy : {SchedulerPolicy::lent, SchedulerPolicy::dedicated}) {
            INFO(kind.name << ", policy " << to_string(policy) << ", seed " << seed());
            World world(policy);
            REQUIRE(others_go_on(world).empty());  // warm
            std::atomic<bool> over{false};
            std::atomic<std::uint64_t> lost{0};
            std::jthread victim([&] {
                Suspender suspender;
                Caller caller{&suspender, Random(2 + static_cast<std::uint64_t>(policy))};
                while (!over.load()) {
                    suspender.arm(
                        caller.random.below(100'000));  // calls that are short are many in this time
                    for (int i = 0; i < 16; ++i)
                        lost.fetch_add(kind.once(world, caller) ? 0 : 1);
                    if (caller.random.one_in(4))
                        std::this_thread::sleep_for(12ms);  // all others fall asleep, home too
                }
            });
            int stood = 0;
            std::set<std::uint64_t> instructions;
            std::string_view held_up;
            const auto end = steady_clock::now() + time_each(static_cast<int>(2 * kinds.size()));
            // A kind of short calls may be missed in a short run: a signal takes longer to come than they do.
            while (steady_clock::now() < end && held_up.empty()) {
                if (!Suspender::suspend(std::max<std::chrono::nanoseconds>(end - steady_clock::now(), 10ms)))
                    break;
                ++stood;
                instructions.insert(Suspender::instruction());
                held_up = others_go_on(world);
                Suspender::resume();
            }
            over.store(true);
            victim.join();
            CHECK_MESSAGE(held_up.empty(), "held up: " << held_up << ", by one that stood at instruction "
                                                       << Suspender::instruction());
            CHECK(lost.load() == 0);
            stood_in_all += stood;
            MESSAGE(kind.name << ", " << to_string(policy) << ": stood " << stood << " times, at "
                              << instructions.size() << " instructions");
        }
    }
    CHECK(stood_in_all > 0);
}

// In a job, at the end of a run, in a turn of the scheduler, on its way to sleep. It may hold the role, or have claimed what others wait for: their
// calls return all the same, and when it goes on all is done.
TEST_CASE("E14 E29 E32 progress: a worker stands anywhere; calls return, and all is done once it goes on") {
    if (under_thread_sanitizer)
        return;
    for (const SchedulerPolicy policy : {SchedulerPolicy::lent, SchedulerPolicy::dedicated}) {
        INFO("policy " << to_string(policy) << ", seed " << seed());
        std::optional<Suspender> suspender;
        std::atomic<bool> has_timer{false};
        Config config;
        config.pool_size = 2;
        config.policy = policy;
        config.reserve_nodes = 2048;
        config.on_thread_start = [&](std::string_view name) {
            if (!name.ends_with("-w0"))
                return;
            suspender.emplace();
            has_timer.store(true);
        };
        Executor executor(config);
        auto actor = executor.add_actor("a", 0);
        REQUIRE(eventually([&] { return has_timer.load(); }));
        Random random(3);
        std::uint64_t rounds = 0;
        std::uint64_t done_meanwhile = 0;
        std::uint64_t held = 0;
        const auto end = steady_clock::now() + time_each(2);
        while (steady_clock::now() < end || rounds == 0) {
            std::atomic<int> ran{0};
            const auto post = [&](int jobs) {
                for (int i = 0; i < jobs; ++i)
                    CHECK(actor.post_read([&](const int&) { ran.fetch_add(1); }));
            };
            suspender->stop_anywhere_after(random.below(300'000));
            post(100);
            if (!Suspender::suspend(100ms)) {  // it slept, and the signal came at its sleep's end
                REQUIRE(soon([&] { return ran.load() == 100; }));
                continue;
            }
            ++rounds;
            const auto stands_since = steady_clock::now();
            post(100);
            std::stop_source source;
            auto stopped = actor.mutate({.stop = source.get_token()}, [](int&) {});
            source.request_stop();
            const Snapshot seen = executor.snapshot();
            CHECK(seen.jobs.accepted == seen.jobs.queued + seen.jobs.running + seen.jobs.completed());
            CHECK(steady_clock::now() - stands_since < bound);
            held += seen.turn.held && seen.turn.holder == "sluice-w0" ? 1U : 0U;
            // What may take longer than any scheduling of ours, if the one that stands holds the decision.
            const auto some_time = steady_clock::now() + 20ms;
            while (ran.load() != 200 && steady_clock::now() < some_time)
                std::this_thread::yield();
            done_meanwhile += ran.load() == 200 ? 1U : 0U;
            Suspender::resume();
            REQUIRE(soon([&] { return ran.load() == 200 && stopped.ready(); }));
        }
        MESSAGE(to_string(policy) << ": stood " << rounds << " times; all was done meanwhile in "
                                  << done_meanwhile << ", it held the role in " << held);
    }
}
