#pragma once

// For tests that offer a part ten times as much as it can do: how much to offer, and what whoever is in a hurry waited.

#include <sluice/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stop_token>
#include <thread>
#include <vector>

namespace sluice::test {

/// How long a case of overload lasts: its share of SLUICE_TEST_SECONDS, which is 3 unless it is given; 300 are five minutes.
[[nodiscard]] inline std::chrono::nanoseconds overload_time(int cases) {
    const char* const given = std::getenv("SLUICE_TEST_SECONDS");
    const double seconds = given != nullptr ? std::strtod(given, nullptr) : 3.0;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds / cases));
}

/// Lets ten submissions be made for each job that has ended, and some to begin with. So the factor is ten on any machine,
/// whatever the jobs take there. Any thread asks, and tells.
class TenTimes {
public:
    static constexpr std::uint64_t factor = 10;
    static constexpr std::uint64_t to_begin_with = 2'000;

    /// Whether one more may be submitted now; if so it is counted.
    [[nodiscard]] bool one_more() {
        const std::uint64_t most = to_begin_with + factor * ended_.load();
        std::uint64_t submitted = submitted_.load();
        while (submitted < most) {
            if (submitted_.compare_exchange_weak(submitted, submitted + 1))
                return true;
        }
        return false;
    }
    void ended() {
        ended_.fetch_add(1);
    }
    [[nodiscard]] std::uint64_t submitted() const {
        return submitted_.load();
    }

private:
    std::atomic<std::uint64_t> submitted_{0};
    std::atomic<std::uint64_t> ended_{0};
};

/// A count beside the part's own: up after something was let in, down when it begins, so never above what there is but for those
/// that are just beginning.
class HighWater {
public:
    void up() {
        const std::int64_t now = now_.fetch_add(1) + 1;
        for (std::int64_t seen = highest_.load(); seen < now && !highest_.compare_exchange_weak(seen, now);) {
        }
    }
    void down() {
        now_.fetch_sub(1);
    }
    [[nodiscard]] std::int64_t highest() const {
        return highest_.load();
    }

private:
    std::atomic<std::int64_t> now_{0};
    std::atomic<std::int64_t> highest_{0};
};

/// A flood of jobs that sleep: what became of its submissions, and what is queued of it.
class Flooding {
public:
    explicit Flooding(std::chrono::milliseconds work) : work_(work) {}

    /// A submitter, until it is stopped. `post(job)` submits one; `is_right(error)` says whether a refusal is what it is to be.
    template <class Post, class IsRight>
    void submit(const std::stop_token& stop, Post post, IsRight is_right) {
        while (!stop.stop_requested()) {
            if (!load.one_more()) {
                std::this_thread::sleep_for(std::chrono::microseconds(500));
                continue;
            }
            const Result<void> posted = post([this] {
                queued.down();
                std::this_thread::sleep_for(work_);
                ran.fetch_add(1);
                load.ended();
            });
            if (posted) {
                queued.up();
                accepted.fetch_add(1);
            } else {
                refused.fetch_add(1);
                wrong.fetch_add(is_right(posted.error()) ? 0 : 1);
            }
        }
    }

    TenTimes load;
    HighWater queued;
    std::atomic<std::uint64_t> accepted{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> ran{0};
    std::atomic<std::uint64_t> wrong{0};

private:
    const std::chrono::milliseconds work_;
};

/// Time as a machine passes it that may be busy with something else: each step is a sleep as long as a job's, which is late when
/// those are late. So a bound on steps is the part's, and not the machine's.
template <class Condition>
[[nodiscard]] bool within_steps(int most, std::chrono::milliseconds step, Condition condition) {
    for (int i = 0; i < most && !condition(); ++i)
        std::this_thread::sleep_for(step);
    return condition();
}

/// Times of one kind, of one thread.
class Latencies {
public:
    template <class RoundTrip>
    void measure(RoundTrip&& round_trip) {
        const auto begin = std::chrono::steady_clock::now();
        round_trip();
        times_.push_back(std::chrono::steady_clock::now() - begin);
    }
    [[nodiscard]] std::size_t count() const {
        return times_.size();
    }
    /// The time that so many of a hundred did not exceed.
    [[nodiscard]] std::chrono::microseconds percentile(std::size_t percent) {
        std::ranges::sort(times_);
        return times_.empty() ? std::chrono::microseconds{0}
                              : std::chrono::duration_cast<std::chrono::microseconds>(
                                    times_[(times_.size() - 1) * percent / 100]);
    }

private:
    std::vector<std::chrono::nanoseconds> times_;
};

/// What a round trip takes, at the median, on the part that was flooded and on one that never was.
struct Recovery {
    std::chrono::microseconds flooded{};
    std::chrono::microseconds fresh{};
    [[nodiscard]] bool as_quick() const {
        return flooded <= 3 * fresh + std::chrono::microseconds(100);
    }
};

/// By turns, so that both have the same machine, and again a few times, for it may be busy with something else during one of them.
template <class OnFlooded, class OnFresh>
[[nodiscard]] Recovery compare_round_trips(OnFlooded on_flooded, OnFresh on_fresh) {
    Recovery recovery;
    for (int i = 0; i < 10; ++i) {
        Latencies flooded;
        Latencies fresh;
        for (int trip = 0; trip < 100; ++trip) {
            on_flooded(flooded);
            on_fresh(fresh);
        }
        recovery = {flooded.percentile(50), fresh.percentile(50)};
        if (recovery.as_quick())
            break;
    }
    return recovery;
}

}  // namespace sluice::test
