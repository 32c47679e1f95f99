// W1 to W3: one producer, at most 1,024 jobs outstanding, jobs that count themselves.
#pragma once

#include "workloads/job.hpp"
#include "workloads/measure.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>

namespace perf {

constexpr std::int64_t window = 1024;

/// Which actors take turns: `active` of those that are registered, spread over them.
struct Turns {
    std::size_t registered = 1;
    std::size_t active = 1;

    [[nodiscard]] std::size_t next(std::size_t actor) const {
        const std::size_t step = registered / active;
        return actor + step < step * active ? actor + step : 0;
    }
};

/// Submits for a time, by `submit(actor)`; knows how much room the window has without looking at the counters each time.
template <class Submit>
class Producer {
public:
    Producer(Turns turns, Submit submit)
        : turns_(turns), submit_(submit), submitted_(Done::jobs()), seen_(submitted_) {}

    void run_for(std::chrono::nanoseconds length) {
        const auto end = Clock::now() + length;
        do {
            for (int i = 0; i < 256; ++i)
                one();
        } while (Clock::now() < end);
    }
    void run(std::int64_t jobs) {
        for (; jobs > 0; --jobs)
            one();
    }
    void drain() {
        while (Done::jobs() < submitted_)
            std::this_thread::yield();
        seen_ = submitted_;
    }
    [[nodiscard]] std::int64_t submitted() const {
        return submitted_;
    }

private:
    void one() {
        while (submitted_ - seen_ >= window) {
            seen_ = Done::jobs();
            if (submitted_ - seen_ >= window)
                std::this_thread::yield();
        }
        submit_(actor_);
        ++submitted_;
        actor_ = turns_.next(actor_);
    }

    const Turns turns_;
    Submit submit_;
    std::int64_t submitted_;
    std::int64_t seen_;
    std::size_t actor_ = 0;
};

constexpr std::chrono::milliseconds warm_up{100};

template <class Submit>
Figures drive(const Request& request, Turns turns, Submit submit) {
    Producer producer(turns, submit);
    producer.run_for(warm_up / 4);
    pin_others(request.placement);
    producer.run_for(warm_up);
    producer.drain();
    const std::int64_t first = producer.submitted();
    const Usage before = Usage::now();
    producer.run_for(request.length);
    producer.drain();
    const Usage after = Usage::now();
    const auto jobs = static_cast<double>(producer.submitted() - first);
    Figures figures{{"jobs_per_s", jobs * 1e9 / static_cast<double>(after.at_ns - before.at_ns)}};
    add_usage(figures, before, after, jobs);
    return figures;
}

/// Empty jobs that change their actor.
template <class Peer>
Figures empty_jobs(const Request& request, Turns turns) {
    pin_producer(request.placement);
    Peer peer(Shape{request.workers, turns.registered});
    return drive(request, turns,
                 [&](std::size_t actor) { peer.post(actor, Access::write, {&Done::count_one, nullptr}); });
}

/// W3: 64 actors, nine reads to a write, 1.0 us of work each. `rw` is 1 where reads of one actor may run together.
template <class Peer>
Figures readers_and_writers(const Request& request) {
    static const FixedWork work{std::chrono::microseconds(1)};
    const auto worked = [](void*) {
        work();
        Done::count_one(nullptr);
    };
    // Which of the next jobs write is settled beforehand: drawing costs more than submitting.
    std::array<Access, 4096> kinds{};
    std::mt19937_64 random(request.seed);
    for (Access& kind : kinds)
        kind = random() % 10 == 0 ? Access::write : Access::read;
    std::size_t next = 0;
    pin_producer(request.placement);
    Peer peer(Shape{request.workers, 64});
    Figures figures = drive(request, {64, 64}, [&](std::size_t actor) {
        peer.post(actor, kinds[next++ % kinds.size()], {worked, nullptr});
    });
    figures.emplace_back("rw", Peer::reads_together ? 1.0 : 0.0);
    return figures;
}

}  // namespace perf
