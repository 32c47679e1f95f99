#include "turns/simulation.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <sluice/clock.hpp>
#include <sluice/turn_gate.hpp>

#include "pacer.hpp"
#include "turns/provider.hpp"

namespace sluice::replay {
namespace {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;

// What a refusal of the provider takes.
constexpr nanoseconds refusal_takes = std::chrono::milliseconds(50);

nanoseconds seconds(double s) {
    return nanoseconds(static_cast<std::int64_t>(s * 1e9));
}

TurnGateConfig make_config(const Options& options, sluice::Clock& clock) {
    const TurnOptions& turns = options.turns;
    TurnGateConfig config;
    config.max_concurrent_turns = static_cast<std::int64_t>(turns.max_turns);
    config.max_queue_length = static_cast<std::int64_t>(turns.queue);
    config.max_queue_wait = seconds(turns.max_wait_s);
    config.max_live_sessions = static_cast<std::int64_t>(turns.max_sessions);
    config.start_interval = seconds(turns.start_interval_s);
    config.base_backoff = std::chrono::ceil<std::chrono::milliseconds>(seconds(turns.backoff_s));
    config.max_backoff = std::max(config.max_backoff, config.base_backoff);
    config.backoff_jitter = turns.backoff_jitter;
    config.jitter_seed = options.seed;
    config.order = turns.round_robin ? TurnOrder::round_robin : TurnOrder::fifo;
    config.limit = turns.adaptive == AdaptiveKind::aimd       ? LimitPolicy::aimd
                   : turns.adaptive == AdaptiveKind::gradient ? LimitPolicy::gradient
                                                              : LimitPolicy::fixed;
    config.clock = &clock;
    return config;
}

/// All that happens happens in calls of the clock's timers.
class Simulation {
public:
    Simulation(const LoadedTrace& loaded, const Options& options, Plan plan, TurnReport& report)
        : trace_(loaded.trace),
          options_(options.turns),
          plan_(std::move(plan)),
          report_(report),
          sessions_(trace_.actors.size()),
          provider_(options_.requests_per_minute, options_.tokens_per_minute, largest()),
          gate_(make_config(options, clock_)) {
        for (const PlannedJob& job : plan_.jobs)
            ++sessions_[trace_.rows[job.row].actor].left;
        report_.sessions = static_cast<std::uint64_t>(
            std::ranges::count_if(sessions_, [](const Session& session) { return session.left > 0; }));
        report_.least_limit = gate_.limit();
    }

    void run(const std::atomic<bool>& interrupted) {
        set_arrival();
        while (clock_.timers() > 0 && !interrupted.load(std::memory_order_relaxed))
            clock_.advance_to(clock_.next_due());
        if (clock_.timers() > 0)
            give_up();
        report_.span_ns = static_cast<std::uint64_t>(ended_at_.count());
        gate_.shutdown();
        report_.last = gate_.snapshot();
    }

private:
    struct Session {
        std::uint64_t left = 0;  // turns without an outcome
        bool busy = false;       // one of them is under way
        bool refused = false;
        SessionPermit permit;
        std::deque<std::size_t> held_back;  // arrived while the one before was under way
    };

    [[nodiscard]] std::uint64_t largest() const {
        std::uint64_t most = 1;
        for (const Row& row : trace_.rows)
            most = std::max(most, row.bytes / 4);
        return most;
    }
    [[nodiscard]] const Row& row_of(std::size_t turn) const {
        return trace_.rows[plan_.jobs[turn].row];
    }
    [[nodiscard]] Session& session_of(std::size_t turn) {
        return sessions_[row_of(turn).actor];
    }
    void after(nanoseconds wait, TimerCall call) {
        static_cast<void>(clock_.set_timer(wait, std::move(call)));
    }

    // Arrivals are set one by one, so that the clock holds only what is under way.
    void set_arrival() {
        if (next_ == plan_.jobs.size())
            return;
        const nanoseconds at{static_cast<std::int64_t>(plan_.jobs[next_].arrival_ns)};
        after(at - clock_.now(), [this, turn = next_] {
            ++next_;
            set_arrival();
            arrive(turn);
        });
    }

    void arrive(std::size_t turn) {
        Session& session = session_of(turn);
        if (session.refused) {
            ++report_.without_session;
            return over(turn);
        }
        if (session.busy) {
            session.held_back.push_back(turn);
            return;
        }
        session.busy = true;
        if (session.permit)
            return submit(turn, 1);
        auto permit = gate_.reserve_session();
        if (!permit) {
            session.refused = true;
            ++report_.without_session;
            return over(turn);
        }
        session.permit = *std::move(permit);
        report_.session_start_ns.record(static_cast<std::uint64_t>(session.permit.start_after().count()));
        report_.peak_sessions = std::max(report_.peak_sessions, gate_.snapshot().live_sessions);
        if (session.permit.start_after() > nanoseconds(0))
            return after(session.permit.start_after(), [this, turn] { submit(turn, 1); });
        submit(turn, 1);
    }

    void submit(std::size_t turn, std::uint64_t attempt) {
        Submitted submitted = gate_.submit({
            .session = std::string_view(trace_.actors[row_of(turn).actor]).substr(0, 120),
            .on_admitted =
                [this, turn, attempt](TurnTicket ticket) {
                    ++report_.admitted_from_queue;
                    begin(turn, attempt, std::move(ticket));
                },
            .on_expired =
                [this, turn](const Error&) {
                    ++report_.expired;
                    over(turn);
                },
            .on_position_changed = [this](std::size_t) { ++report_.positions_told; },
        });
        if (auto* ticket = std::get_if<TurnTicket>(&submitted)) {
            ++report_.admitted_at_once;
            begin(turn, attempt, std::move(*ticket));
        } else if (const auto* queued = std::get_if<Queued>(&submitted)) {
            report_.position.record(queued->position);
            report_.peak_waiting = std::max(report_.peak_waiting, gate_.snapshot().waiting);
        } else {
            ++report_.rejected;
            over(turn);
        }
    }

    void begin(std::size_t turn, std::uint64_t attempt, TurnTicket ticket) {
        const Row& row = row_of(turn);
        report_.peak_in_flight = std::max(report_.peak_in_flight, gate_.snapshot().in_flight);
        const auto wait = provider_.ask(clock_.now(), row.bytes / 4);
        if (!wait) {
            ++report_.requests_taken;
            report_.tokens_taken += row.bytes / 4;
            report_.wait_ns.record(since_arrival(turn));
            return after(nanoseconds(static_cast<std::int64_t>(plan_.service_ns(row))),
                         [this, turn, held = std::move(ticket)]() mutable { end(turn, held); });
        }
        after(refusal_takes, [this, turn, attempt, retry = *wait, held = std::move(ticket)]() mutable {
            refused(turn, attempt, retry, held);
        });
    }

    void end(std::size_t turn, TurnTicket& ticket) {
        ++report_.served;
        report_.latency_ns.record(since_arrival(turn));
        gate_.note_success();
        ticket.release();
        over(turn);
    }

    void refused(std::size_t turn, std::uint64_t attempt, nanoseconds retry_after, TurnTicket& ticket) {
        ++report_.rate_limits;
        const nanoseconds before = gate_.backoff_remaining();
        gate_.note_rate_limit(retry_after);
        report_.pauses += before == nanoseconds(0) ? 1U : 0U;
        report_.paused_ns += static_cast<std::uint64_t>((gate_.backoff_remaining() - before).count());
        report_.least_limit = std::min<std::uint64_t>(report_.least_limit, gate_.limit());
        ticket.abandon();
        if (attempt < options_.attempts)
            return submit(turn, attempt + 1);
        ++report_.failed;
        over(turn);
    }

    /// The turn has its outcome; its session goes on with the next one.
    void over(std::size_t turn) {
        ended_at_ = clock_.now();
        Session& session = session_of(turn);
        session.busy = false;
        if (--session.left == 0)
            session.permit.release();
        if (session.held_back.empty())
            return;
        // Not from here: this may be a callback of the gate, and a row of refusals would nest.
        const std::size_t next = session.held_back.front();
        session.held_back.pop_front();
        session.busy = true;
        after(nanoseconds(0), [this, next, &session] {
            session.busy = false;
            arrive(next);
        });
    }

    void give_up() {
        report_.interrupted = true;
        for (Session& session : sessions_) {
            report_.not_reached += session.left;
            session.permit.release();
        }
    }

    [[nodiscard]] std::uint64_t since_arrival(std::size_t turn) {
        return static_cast<std::uint64_t>(clock_.now().count()) - plan_.jobs[turn].arrival_ns;
    }

    const Trace& trace_;
    const TurnOptions& options_;
    Plan plan_;
    TurnReport& report_;
    std::vector<Session> sessions_;
    Provider provider_;
    ManualClock clock_;
    std::size_t next_ = 0;
    nanoseconds ended_at_{0};
    TurnGate gate_;
};

}  // namespace

std::expected<TurnReport, Failure> replay_turns(const LoadedTrace& loaded, const Options& options,
                                                const std::atomic<bool>& interrupted) {
    auto plan = make_plan(loaded.trace.rows, {.pace = options.pace,
                                              .workers = static_cast<unsigned>(options.turns.max_turns),
                                              .service_scale = options.service_scale,
                                              .repeat = options.repeat,
                                              .jitter = options.jitter,
                                              .seed = options.seed});
    if (!plan)
        return std::unexpected(Failure{ExitCode::input, std::move(plan).error()});
    TurnReport report;
    report.trace_name = options.trace;
    report.turns = plan->jobs.size();
    report.seed = options.seed;
    report.speed = plan->speed;
    report.options = options.turns;
    try {
        Simulation simulation(loaded, options, *std::move(plan), report);
        simulation.run(interrupted);
    } catch (const Exception& error) {
        return std::unexpected(Failure{ExitCode::usage, error.what()});
    }
    return report;
}

}  // namespace sluice::replay
