// The adaptive limits beside a fixed cap, against a provider whose capacity changes (T17). Simulated time, no threads; the same seed
// gives the same bytes.
//
//     gate-limits [SEED] > limits.csv      a row a second and policy, for a plot; a summary on standard error
//
// Load: turns of 2 s of work arrive at random (exponential gaps, 8 a second on average) for 20 simulated minutes. The provider works on
// `capacity` turns at full speed; with more, all of them share it and take longer; beyond twice its capacity it answers "too many". Capacity
// is 40, 12, 30, 8, 40 for four minutes each. A turn that was refused is submitted again after the gate's pause, as its owner would. Turns
// that find the queue full, or wait there for more than 30 s, are lost.

#include <sluice/clock.hpp>
#include <sluice/turn_gate.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <random>
#include <variant>
#include <vector>

using namespace std::chrono_literals;

namespace {

constexpr auto tick = 10ms;
constexpr auto phase = 240s;
constexpr std::array<int, 5> capacities{40, 12, 30, 8, 40};
constexpr double work_s = 2.0;
constexpr double arrivals_per_second = 8.0;

struct Totals {
    std::uint64_t arrived = 0;
    std::uint64_t done = 0;
    std::uint64_t too_many = 0;
    std::uint64_t lost = 0;
    double latency_s = 0;  // of those that are done, from arrival
    double service_s = 0;  // inside the provider
    std::vector<double> latencies;
};

class Simulation {
public:
    Simulation(const char* name, sluice::LimitPolicy policy, std::uint64_t seed)
        : name_(name),
          random_(seed),
          gate_({.max_concurrent_turns = 40,
                 .max_queue_length = 1'000,
                 .max_queue_wait = 30s,
                 .base_backoff = 500ms,
                 .max_backoff = 4s,
                 .limit = policy,
                 .min_concurrent_turns = 2,
                 .limit_window = 10,
                 .clock = &clock_}) {}

    void run() {
        const auto end = phase * capacities.size();
        double next_arrival_s = gap();
        for (std::chrono::nanoseconds now = 0s; now < end; now += tick) {
            clock_.advance_to(now);
            const double now_s = std::chrono::duration<double>(now).count();
            capacity_ = capacities[static_cast<std::size_t>(now / phase)];
            for (; next_arrival_s <= now_s; next_arrival_s += gap()) {
                ++totals_.arrived;
                submit(next_arrival_s);
            }
            work();
            if (now % 1s == 0s)
                row(now_s);
        }
        gate_.shutdown();
    }

    void summary() {
        std::ranges::sort(totals_.latencies);
        const auto quantile = [&](double q) {
            const std::size_t rank =
                static_cast<std::size_t>(q * static_cast<double>(totals_.latencies.size() - 1));
            return totals_.latencies.empty() ? 0 : totals_.latencies[rank];
        };
        const double done = std::max<double>(1, static_cast<double>(totals_.done));
        std::fprintf(
            stderr,
            "%-9s done %5llu of %llu  lost %4llu  too many %5llu  latency s: mean %6.2f p50 %6.2f p99 %6.2f  "
            "in the provider s: mean %5.2f\n",
            name_, static_cast<unsigned long long>(totals_.done),
            static_cast<unsigned long long>(totals_.arrived), static_cast<unsigned long long>(totals_.lost),
            static_cast<unsigned long long>(totals_.too_many), totals_.latency_s / done, quantile(0.5),
            quantile(0.99), totals_.service_s / done);
    }

private:
    struct Turn {
        sluice::TurnTicket ticket;
        double arrived_s;
        double began_s;
        double left_s;
    };

    double gap() {
        // Not std::exponential_distribution, whose numbers are the library's choice.
        const double u = static_cast<double>(random_() >> 11U) * 0x1p-53;
        return -std::log(1 - u) / arrivals_per_second;
    }
    [[nodiscard]] double now_s() {
        return std::chrono::duration<double>(clock_.now()).count();
    }

    void submit(double arrived_s) {
        auto submitted = gate_.submit({
            .on_admitted = [this,
                            arrived_s](sluice::TurnTicket ticket) { begin(std::move(ticket), arrived_s); },
            .on_expired = [this](const sluice::Error&) { ++totals_.lost; },
        });
        if (auto* ticket = std::get_if<sluice::TurnTicket>(&submitted))
            begin(std::move(*ticket), arrived_s);
        else if (std::holds_alternative<sluice::Error>(submitted))
            ++totals_.lost;
    }
    void begin(sluice::TurnTicket ticket, double arrived_s) {
        if (turns_.size() < static_cast<std::size_t>(2 * capacity_)) {
            turns_.push_back({std::move(ticket), arrived_s, now_s(), work_s});
            return;
        }
        ++totals_.too_many;
        ++too_many_in_row_;
        gate_.note_rate_limit();
        ticket.abandon();
        submit(arrived_s);
    }
    void work() {
        const double share = std::min(
            1.0, static_cast<double>(capacity_) / std::max<double>(1, static_cast<double>(turns_.size())));
        const double step = std::chrono::duration<double>(tick).count() * share;
        std::vector<sluice::TurnTicket> ended;
        for (auto turn = turns_.begin(); turn != turns_.end();) {
            turn->left_s -= step;
            if (turn->left_s > 0) {
                ++turn;
                continue;
            }
            ++totals_.done;
            ++done_in_row_;
            totals_.latency_s += now_s() - turn->arrived_s;
            totals_.service_s += now_s() - turn->began_s;
            totals_.latencies.push_back(now_s() - turn->arrived_s);
            ended.push_back(std::move(turn->ticket));
            turn = turns_.erase(turn);
        }
        for (sluice::TurnTicket& ticket : ended) {
            gate_.note_success();
            ticket.release();
        }
    }
    void row(double now) {
        const auto seen = gate_.snapshot();
        std::printf(
            "%s,%.0f,%d,%llu,%llu,%llu,%llu,%llu\n", name_, now, capacity_,
            static_cast<unsigned long long>(seen.limit), static_cast<unsigned long long>(seen.in_flight),
            static_cast<unsigned long long>(seen.waiting), static_cast<unsigned long long>(done_in_row_),
            static_cast<unsigned long long>(too_many_in_row_));
        done_in_row_ = too_many_in_row_ = 0;
    }

    const char* name_;
    std::mt19937_64 random_;
    sluice::ManualClock clock_;
    std::list<Turn> turns_;
    int capacity_ = capacities[0];
    Totals totals_;
    std::uint64_t done_in_row_ = 0;
    std::uint64_t too_many_in_row_ = 0;
    sluice::TurnGate gate_;  // last, so that it ends first
};

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    std::puts("policy,second,capacity,limit,in_flight,waiting,done,too_many");
    for (const auto& [name, policy] :
         {std::pair{"fixed", sluice::LimitPolicy::fixed}, std::pair{"aimd", sluice::LimitPolicy::aimd},
          std::pair{"gradient", sluice::LimitPolicy::gradient}}) {
        const auto simulation = std::make_unique<Simulation>(name, policy, seed);
        simulation->run();
        simulation->summary();
    }
    return 0;
}
