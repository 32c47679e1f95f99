// W4a, W4b, W5s, a tiny job behind a long one, and what an executor costs that does nothing.
#pragma once

#include "workloads/answer.hpp"
#include "workloads/job.hpp"
#include "workloads/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace perf {

template <class Peer>
void round_trip(Peer& peer, Answer& answer) {
    if constexpr (requires { peer.round_trip(); }) {
        peer.round_trip();
    } else {
        peer.post(0, Access::write, {[](void* waiter) { static_cast<Answer*>(waiter)->give(); }, &answer});
        answer.wait_for_next();
    }
}

/// W4: submit one empty job and wait for it; `pause` before each. CPU is that of all threads, per round trip.
template <class Peer>
Figures round_trips(const Request& request, std::chrono::microseconds pause) {
    constexpr std::size_t most = 1 << 20;
    std::vector<std::int64_t> times;
    times.reserve(most);
    pin_producer(request.placement);
    Peer peer(Shape{request.workers, 1});
    Answer answer;
    for (int i = 0; i < 200; ++i)
        round_trip(peer, answer);
    pin_others(request.placement);
    const Usage before = Usage::now();
    const auto end = Clock::now() + request.length;
    while (Clock::now() < end && times.size() < most) {
        if (pause.count() != 0)
            std::this_thread::sleep_for(pause);
        const std::int64_t begin = now_ns();
        round_trip(peer, answer);
        times.push_back(now_ns() - begin);
    }
    const Usage after = Usage::now();
    Figures figures;
    const auto trips = static_cast<double>(times.size());
    add_percentiles(figures, times);
    add_usage(figures, before, after, trips);
    return figures;
}

/// When a job was to start, and how long after that it did. Written by the producer, then by the job.
struct Start {
    std::int64_t intended_ns = 0;
    std::int64_t late_ns = 0;
    static void note(void* start) {
        auto& mine = *static_cast<Start*>(start);
        mine.late_ns = now_ns() - mine.intended_ns;
        Done::count_one(nullptr);
    }
};

inline void wait_until(std::int64_t at_ns) {
    while (now_ns() < at_ns) {}
}

inline Figures lateness(const std::vector<Start>& starts) {
    std::vector<std::int64_t> times;
    times.reserve(starts.size());
    for (const Start& start : starts)
        times.push_back(start.late_ns);
    Figures figures;
    add_percentiles(figures, times);
    return figures;
}

/// W5s: an open loop. Latency counts from the intended arrival, so a producer that is held up does not hide it. The producer
/// keeps its CPU busy between arrivals; `library_cpu_ns_per_job` leaves it out.
template <class Peer>
Figures open_loop(const Request& request) {
    constexpr double per_second = 50'000;
    constexpr std::size_t actors = 64;
    std::vector<Start> starts(static_cast<std::size_t>(
        std::max(1.0, per_second * std::chrono::duration<double>(request.length).count())));
    std::mt19937_64 random(request.seed);
    std::exponential_distribution<double> gap(per_second / 1e9);
    pin_producer(request.placement);
    Peer peer(Shape{request.workers, actors});
    const std::int64_t jobs_before = Done::jobs();
    constexpr int warming = 4096;
    for (int i = 0; i < warming; ++i)
        peer.post(static_cast<std::size_t>(i) % actors, Access::write, {&Done::count_one, nullptr});
    while (Done::jobs() < jobs_before + warming)
        std::this_thread::yield();
    pin_others(request.placement);
    const Usage before = Usage::now();
    auto arrival = static_cast<double>(before.at_ns) + 1e5;
    for (std::size_t i = 0; i < starts.size(); ++i) {
        arrival += gap(random);
        starts[i].intended_ns = static_cast<std::int64_t>(arrival);
        wait_until(starts[i].intended_ns);
        peer.post(random() % actors, Access::write, {&Start::note, &starts[i]});
    }
    while (Done::jobs() < jobs_before + warming + static_cast<std::int64_t>(starts.size()))
        std::this_thread::yield();
    const Usage after = Usage::now();
    Figures figures = lateness(starts);
    add_usage(figures, before, after, static_cast<double>(starts.size()));
    return figures;
}

/// A job of 3 ms of one actor and, at once behind it, a tiny one of another: when does that start? The producer keeps the one
/// CPU busy meanwhile and the long job the other, so the second worker has to win a CPU from one of them.
template <class Peer>
Figures tiny_behind_long(const Request& request) {
    static const FixedWork work{std::chrono::milliseconds(3)};
    const auto long_job = [](void*) {
        work();
        Done::count_one(nullptr);
    };
    std::vector<Start> starts;
    starts.reserve(static_cast<std::size_t>(request.length / std::chrono::milliseconds(3)) + 2);
    std::mt19937_64 random(request.seed);
    pin_producer(request.placement);
    Peer peer(Shape{request.workers, 2});
    for (int i = 0; i < 200; ++i) {
        peer.post(static_cast<std::size_t>(i) % 2, Access::write, {&Done::count_one, nullptr});
        wait_until(now_ns() + 10'000);
    }
    std::int64_t submitted = Done::jobs();
    const auto end = Clock::now() + request.length;
    while (Clock::now() < end && starts.size() < starts.capacity()) {
        wait_until(now_ns() + static_cast<std::int64_t>(random() % 200'000));
        peer.post(0, Access::write, {long_job, nullptr});
        starts.push_back({.intended_ns = now_ns(), .late_ns = 0});
        peer.post(1, Access::write, {&Start::note, &starts.back()});
        submitted += 2;
        while (Done::jobs() < submitted) {}
    }
    return lateness(starts);
}

/// A second without work, after some.
template <class Peer>
Figures idle(const Request& request) {
    Peer peer(Shape{request.workers, 64});
    for (std::size_t i = 0; i < 10'000; ++i) {
        peer.post(i % 64, Access::write, {&Done::count_one, nullptr});
        if (i % 256 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    while (Done::jobs() < 10'000)
        std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const Usage before = Usage::now();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const Usage after = Usage::now();
    const double seconds = static_cast<double>(after.at_ns - before.at_ns) / 1e9;
    return {{"cpu_ms_per_s", (after.process_cpu_ns - before.process_cpu_ns) / 1e6 / seconds},
            {"switches_per_s", (after.context_switches - before.context_switches) / seconds}};
}

/// Resident bytes for each of 400,000 actors that have nothing to do, an 8-byte context, the driver's handle, and a share of what
/// the executor takes itself (1.2 MB) included.
template <class Peer>
Figures memory_of_actors(const Request& request) {
    constexpr std::size_t actors = 400'000;
    const double before = resident_bytes();
    Peer peer(Shape{request.workers, actors});
    return {{"bytes_per_actor", (resident_bytes() - before) / static_cast<double>(actors)}};
}

}  // namespace perf
