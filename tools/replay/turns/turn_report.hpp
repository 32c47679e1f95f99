// What came of a replay of turns, and how it is written. The same run gives the same bytes: nothing here is of the machine's time.
#pragma once

#include <cstdint>
#include <string>

#include <sluice/turn_snapshot.hpp>

#include "observe/histogram.hpp"
#include "turns/turn_options.hpp"

namespace sluice::replay {

struct TurnReport {
    // What was asked for.
    std::string trace_name;
    std::uint64_t turns = 0;
    std::uint64_t sessions = 0;
    std::uint64_t seed = 1;
    double speed = 1;
    TurnOptions options;

    // What became of each turn: these add up to `turns`.
    std::uint64_t served = 0;
    std::uint64_t rejected = 0;         ///< the queue was full
    std::uint64_t expired = 0;          ///< waited too long
    std::uint64_t failed = 0;           ///< the provider refused all attempts
    std::uint64_t without_session = 0;  ///< no live session was to be had
    std::uint64_t cancelled = 0;        ///< of a session that ended before its turn came
    bool interrupted = false;
    std::uint64_t not_reached = 0;  ///< after an interrupt

    // On the way.
    std::uint64_t admitted_at_once = 0;
    std::uint64_t admitted_from_queue = 0;
    std::uint64_t positions_told = 0;
    std::uint64_t rate_limits = 0;  ///< what the provider refused, each try
    std::uint64_t pauses = 0;       ///< backoffs that began
    std::uint64_t paused_ns = 0;
    std::uint64_t peak_in_flight = 0;
    std::uint64_t peak_waiting = 0;
    std::uint64_t peak_sessions = 0;
    std::uint64_t least_limit = 0;
    observe::Histogram wait_ns;     ///< of served turns: start minus intended arrival, all attempts
    observe::Histogram latency_ns;  ///< end minus intended arrival
    observe::Histogram position;    ///< at queueing
    observe::Histogram session_start_ns;

    // The provider.
    std::uint64_t requests_taken = 0;
    std::uint64_t tokens_taken = 0;
    std::uint64_t span_ns = 0;  ///< from the first arrival to the last end

    TurnGateSnapshot last;

    [[nodiscard]] std::uint64_t accounted() const {
        return served + rejected + expired + failed + without_session + cancelled + not_reached;
    }
    /// Each turn has one outcome, and the gate's own books balance.
    [[nodiscard]] bool sound() const;
    [[nodiscard]] double share_of_requests() const;
    [[nodiscard]] double share_of_tokens() const;
};

[[nodiscard]] std::string turn_report_text(const TurnReport& report);
[[nodiscard]] std::string turn_report_json(const TurnReport& report);

}  // namespace sluice::replay
