// The single-threaded parts, each a loop of one operation: for callgrind, which counts their instructions exactly, and for
// nanoseconds of CPU where that is wanted.
//
//     loops NAME COUNT       runs it about COUNT times and prints {"ns_per_op": ..., "ops": how many were measured}
//     loops --list
//
// tools/perf-compare counts only what is inside measured(), by `callgrind --toggle-collect`: not the set-up, not the other
// threads. Exit code 2 if the command line was not understood.

#include "core/scheduler.hpp"
#include "observe/histogram.hpp"
#include "workloads/answer.hpp"

#include <sluice/bounded_pool.hpp>
#include <sluice/executor.hpp>
#include <sluice/turn_gate.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace sluice;

double thread_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace

// Neither inlined nor cloned, and by its C name: callgrind switches its counters on and off at this one.
extern "C" [[gnu::noipa, gnu::used]] void measured(void (*body)(void*, long), void* state, long count) {
    body(state, count);
    asm volatile("" : : : "memory");
}

namespace {

struct Cost {
    double ns = 0;  ///< CPU of this thread
    long ops = 0;
};

template <class Body>
Cost measure_once(long ops, Body& body) {
    const double before = thread_cpu_ns();
    measured([](void* state, long times) { (*static_cast<Body*>(state))(times); }, &body, ops);
    return {thread_cpu_ns() - before, ops};
}

/// Once to warm up, once measured.
template <class Body>
Cost measure(long ops, Body body) {
    body(ops / 4 + 1);
    return measure_once(ops, body);
}

struct NoPermits final : core::HeavyPermits {
    [[nodiscard]] bool try_take() noexcept override {
        return false;
    }
    void give_back() noexcept override {}
};

/// The core alone: bursts of `burst` jobs over as many actors among `registered`, enqueued, decided, ended.
Cost core_jobs(long count, std::size_t registered, std::size_t burst) {
    core::Limits limits;
    limits.pool_size = 8;
    limits.actor_cap = 3;
    limits.read_cap = 3;
    limits.interactive_reserve = 2;
    limits.maintenance_cap = 6;
    limits.deficit_cap = 12;
    NoPermits permits;
    core::Scheduler scheduler(limits, permits);
    std::vector<core::Actor> actors(registered);
    std::vector<core::Job> jobs(burst);
    std::array<core::Run, 64> running{};
    const std::size_t stride = registered / burst;
    const auto whole = static_cast<long>(burst);
    return measure((count + whole - 1) / whole * whole, [&](long times) {
        for (long done = 0; done < times; done += whole) {
            for (std::size_t i = 0; i < burst; ++i) {
                jobs[i].actor = &actors[i * stride];
                jobs[i].lane = Lane::mutating;
                scheduler.enqueue(jobs[i]);
            }
            for (;;) {
                std::size_t runs = 0;
                while (runs < running.size()) {
                    const auto run = scheduler.next_run();
                    if (!run)
                        break;
                    running[runs++] = *run;
                }
                if (runs == 0)
                    break;
                for (std::size_t i = 0; i < runs; ++i)
                    scheduler.run_ended(core::end_of(running[i], 100 * running[i].jobs.count));
            }
        }
    });
}

/// Submitting alone, to 64 actors, in batches of 1,024 between which everything runs. The only worker is held and a Batch
/// keeps submissions from waking anybody, so that nobody else is at work meanwhile.
Cost submissions(long count, bool with_completion) {
    constexpr long batch = 1024;
    Executor executor({.pool_size = 1, .reserve_nodes = 4 * batch});
    std::vector<Actor<long>> actors;
    for (int i = 0; i < 64; ++i)
        actors.push_back(executor.add_actor(std::to_string(i), 0L));
    std::vector<Completion<long>> completions(with_completion ? batch : 0);
    auto body = [&](long times) {
        for (long i = 0; i < times; ++i) {
            const Actor<long>& actor = actors[static_cast<std::size_t>(i) % actors.size()];
            if (with_completion)
                completions[static_cast<std::size_t>(i)] = actor.mutate([](long& value) { return ++value; });
            else if (!actor.post_mutate([](long& value) { ++value; }))
                std::abort();
        }
    };
    perf::Answer go, inside;
    Cost cost;
    for (long done = -batch; done < count; done += batch) {
        // Queued behind a job that holds the only worker.
        (void)actors[0].post_mutate([&](long&) {
            inside.give();
            go.wait_for_next();
        });
        inside.wait_for_next();
        {
            const Batch quiet(executor);
            if (done < 0) {
                body(batch);
            } else {
                const Cost more = measure_once(batch, body);
                cost.ns += more.ns;
                cost.ops += more.ops;
            }
        }
        go.give();
        for (const Actor<long>& actor : actors)
            (void)actor.mutate([](long& value) { return value; }).wait();
    }
    return cost;
}

/// An item of the pool enqueued and cancelled by its handle, while the one worker is held.
Cost pool_pairs(long count) {
    PoolConfig config;
    config.kinds = {{"general", 1, {"control", "user", "cheap", "bulk"}}};
    BoundedPool pool(config);
    perf::Answer go, inside;
    (void)pool.post(pool_lanes::bulk, {}, [&] {
        inside.give();
        go.wait_for_next();
    });
    inside.wait_for_next();
    const Cost cost = measure(count, [&](long times) {
        for (long i = 0; i < times; ++i) {
            auto item = pool.enqueue(pool_lanes::bulk, {.bytes = 16}, [] {});
            if (!item || !item->cancel())
                std::abort();
        }
    });
    go.give();
    return cost;
}

Cost gate_pairs(long count) {
    TurnGate gate({.max_concurrent_turns = 64});
    return measure(count, [&](long times) {
        for (long i = 0; i < times; ++i) {
            TurnTicket ticket = gate.try_admit();
            ticket.release();
        }
    });
}

Cost gate_grants(long count) {
    ManualClock clock;
    TurnGate gate({.max_concurrent_turns = 1, .clock = &clock});
    TurnTicket held = gate.try_admit();
    return measure(count, [&](long times) {
        for (long i = 0; i < times; ++i) {
            (void)gate.submit({.on_admitted = [&](TurnTicket ticket) { held = std::move(ticket); }});
            TurnTicket ending = std::move(held);
            ending.release();
        }
    });
}

Cost histogram(long count) {
    observe::Histogram times;
    std::uint64_t value = 1;
    return measure(count, [&](long records) {
        for (long i = 0; i < records; ++i) {
            value = value * 6364136223846793005U + 1442695040888963407U;
            times.record(value >> 40U);
        }
    });
}

struct Loop {
    std::string_view name;
    Cost (*run)(long count);
};
constexpr std::array loops{
    Loop{"core-hot", [](long n) { return core_jobs(n, 10, 1); }},
    Loop{"core-10", [](long n) { return core_jobs(n, 10, 10); }},
    Loop{"core-64", [](long n) { return core_jobs(n, 64, 64); }},
    Loop{"core-1m", [](long n) { return core_jobs(n, 1'000'000, 64); }},
    Loop{"post", [](long n) { return submissions(n, false); }},
    Loop{"mutate", [](long n) { return submissions(n, true); }},
    Loop{"pool-enqueue-cancel", &pool_pairs},
    Loop{"gate-pair", &gate_pairs},
    Loop{"gate-grant", &gate_grants},
    Loop{"histogram", &histogram},
};

int usage() {
    std::fputs("loops: want NAME COUNT or --list; names are:", stderr);
    for (const Loop& loop : loops)
        std::fprintf(stderr, " %s", loop.name.data());
    std::fputs("\n", stderr);
    return 2;
}

}  // namespace

int main(int arguments, char** words) {
    if (arguments == 2 && std::string_view(words[1]) == "--list") {
        for (const Loop& loop : loops)
            std::puts(loop.name.data());
        return 0;
    }
    if (arguments != 3)
        return usage();
    const auto found = std::ranges::find(loops, std::string_view(words[1]), &Loop::name);
    const std::string_view text(words[2]);
    long count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (found == loops.end() || error != std::errc{} || end != text.data() + text.size() || count < 1)
        return usage();
    const Cost cost = found->run(count);
    std::printf("{\"ns_per_op\": %.4g, \"ops\": %ld}\n", cost.ns / static_cast<double>(cost.ops), cost.ops);
}
