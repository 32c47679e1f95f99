// What the machine allows: the parts that every executor is made of, alone. Beside these, "fast" has a meaning.
//
//     limits                 all of them
//     limits NAME...         only these, e.g.  limits pingpong  (tools/perf's probe of how far apart the two CPUs are)
//
// Prints one line of JSON: nanoseconds by name. Exit code 2 for an unknown name or fewer than two CPUs. Two threads are pinned to
// CPU 0 and CPU 1. Each figure is the lower quartile of many short stretches: what disturbs only ever adds.

#include "sync/moodycamel.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void pin(std::size_t cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
        std::perror("limits: pinning");
        std::exit(2);
    }
}

double elapsed_ns(Clock::time_point since) {
    return std::chrono::duration<double, std::nano>(Clock::now() - since).count();
}

double lower_quartile(std::vector<double> values) {
    const auto at = static_cast<std::ptrdiff_t>(values.size() / 4);
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
}

/// One thread, `body` many times.
template <class Body>
double alone(Body&& body) {
    constexpr int stretches = 100, times = 1'000;
    std::vector<double> each;
    for (int s = 0; s < stretches; ++s) {
        const auto begin = Clock::now();
        for (int i = 0; i < times; ++i)
            body();
        each.push_back(elapsed_ns(begin) / times);
    }
    return lower_quartile(std::move(each));
}

/// Runs `other` on CPU 1 (or `other_cpu`) and `mine` on CPU 0, stretch by stretch, and times mine.
template <class Mine, class Other>
double together(int stretches, int times, std::size_t other_cpu, Mine&& mine, Other&& other) {
    std::jthread second([&] {
        pin(other_cpu);
        for (int s = 0; s < stretches; ++s)
            other(times);
    });
    pin(0);
    std::vector<double> each;
    for (int s = 0; s < stretches; ++s) {
        const auto begin = Clock::now();
        mine(times);
        each.push_back(elapsed_ns(begin) / times);
    }
    return lower_quartile(std::move(each));
}

/// A line that two threads hand to each other; they wait for it busily, or in the kernel.
struct alignas(64) Line {
    std::atomic<int> turn{0};

    void take(int whose) {
        while (turn.load(std::memory_order_acquire) != whose) {}
    }
    void take_asleep(int whose) {
        for (int seen = turn.load(); seen != whose; seen = turn.load())
            syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }
    void give(int whose) {
        turn.store(whose, std::memory_order_release);
    }
    void give_and_wake(int whose) {
        turn.store(whose);
        syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
};

double pingpong() {
    Line line;
    const auto player = [&](int whose) {
        return [&line, whose](int times) {
            for (int i = 0; i < times; ++i) {
                line.take(whose);
                line.give(1 - whose);
            }
        };
    };
    return together(200, 200, 1, player(0), player(1));
}

double futex(std::size_t other_cpu) {
    Line line;
    const auto player = [&](int whose) {
        return [&line, whose](int times) {
            for (int i = 0; i < times; ++i) {
                line.take_asleep(whose);
                line.give_and_wake(1 - whose);
            }
        };
    };
    return together(40, 50, other_cpu, player(0), player(1));
}

double wake_nobody() {
    Line line;
    return alone([&] { syscall(SYS_futex, &line.turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); });
}

double contended_rmw() {
    alignas(64) std::atomic<std::uint64_t> word{0};
    const auto add = [&](int times) {
        for (int i = 0; i < times; ++i)
            word.fetch_add(1);
    };
    return together(50, 20'000, 1, add, add);
}

using Queue = moodycamel::ConcurrentQueue<std::uint64_t>;

/// One producer, one consumer, at most 1,024 between them: nanoseconds an item.
template <class Put, class Take>
double hop(int times, Put&& put, Take&& take) {
    alignas(64) std::atomic<int> taken{0};
    int given = 0;
    return together(
        20, times, 1,
        [&](int count) {
            for (int i = 0; i < count;) {
                while (given - taken.load(std::memory_order_relaxed) > 960) {}
                const int added = put();
                i += added;
                given += added;
            }
            while (taken.load(std::memory_order_relaxed) < given) {}
        },
        [&](int count) {
            for (int i = 0; i < count;) {
                const int got = take();
                i += got;
                if (got != 0)
                    taken.store(taken.load(std::memory_order_relaxed) + got, std::memory_order_relaxed);
            }
        });
}

constexpr int bulk = 64;

double hop_tokens() {
    Queue queue;
    moodycamel::ProducerToken producer(queue);
    moodycamel::ConsumerToken consumer(queue);
    std::uint64_t item = 0;
    return hop(
        6'400, [&] { return queue.enqueue(producer, 1) ? 1 : 0; },
        [&] { return queue.try_dequeue(consumer, item) ? 1 : 0; });
}

// Not inlined: g++ 12 otherwise warns of a write that the queue does not do (-Wstringop-overflow).
[[gnu::noinline]] bool put_bulk(Queue& queue, const moodycamel::ProducerToken& producer,
                                const std::uint64_t* items) {
    return queue.enqueue_bulk(producer, items, bulk);
}

double hop_bulk() {
    Queue queue;
    moodycamel::ProducerToken producer(queue);
    moodycamel::ConsumerToken consumer(queue);
    std::array<std::uint64_t, bulk> in{}, out{};
    return hop(
        64'000, [&] { return put_bulk(queue, producer, in.data()) ? bulk : 0; },
        [&] { return static_cast<int>(queue.try_dequeue_bulk(consumer, out.data(), out.size())); });
}

double hop_plain() {
    Queue queue;
    std::uint64_t item = 0;
    return hop(
        6'400, [&] { return queue.enqueue(1) ? 1 : 0; }, [&] { return queue.try_dequeue(item) ? 1 : 0; });
}

template <class T>
void keep(T& value) {
    asm volatile("" : "+m"(value) : : "memory");
}

double uncontended_rmw() {
    alignas(64) std::atomic<std::uint64_t> word{0};
    return alone([&] { word.fetch_add(1); });
}

double release_store() {
    alignas(64) std::atomic<std::uint64_t> word{0};
    return alone([&] { word.store(1, std::memory_order_release); });
}

double clock_read() {
    return alone([] {
        auto now = Clock::now();
        keep(now);
    });
}

double malloc_free() {
    return alone([] {
        void* block = std::malloc(128);
        keep(block);
        std::free(block);
    });
}

struct Limit {
    std::string_view name;
    double (*measure)();
};
constexpr std::array limits{
    Limit{"pingpong", &pingpong},
    Limit{"uncontended_rmw", &uncontended_rmw},
    Limit{"contended_rmw", &contended_rmw},
    Limit{"release_store", &release_store},
    Limit{"clock_read", &clock_read},
    Limit{"malloc_free_128", &malloc_free},
    Limit{"hop_tokens", &hop_tokens},
    Limit{"hop_bulk_64", &hop_bulk},
    Limit{"hop_plain", &hop_plain},
    Limit{"yield", [] { return alone([] { sched_yield(); }); }},
    Limit{"wake_nobody", &wake_nobody},
    Limit{"futex_round_trip_apart", [] { return futex(1); }},
    Limit{"futex_round_trip_same_cpu", [] { return futex(0); }},
};

}  // namespace

int main(int count, char** words) {
    const std::span wanted(words + 1, static_cast<std::size_t>(count - 1));
    for (const std::string_view name : wanted) {
        if (std::ranges::find(limits, name, &Limit::name) == limits.end()) {
            std::fprintf(stderr, "limits: %s: unknown; there are:", name.data());
            for (const Limit& limit : limits)
                std::fprintf(stderr, " %s", limit.name.data());
            std::fputs("\n", stderr);
            return 2;
        }
    }
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
        std::fputs("limits: needs two CPUs\n", stderr);
        return 2;
    }
    pin(0);
    std::printf("{");
    const char* comma = "";
    for (const Limit& limit : limits) {
        if (!wanted.empty() && std::ranges::find(wanted, limit.name) == wanted.end())
            continue;
        std::printf("%s\"%s\": %.4g", comma, limit.name.data(), limit.measure());
        std::fflush(stdout);
        comma = ", ";
    }
    std::printf("}\n");
}
