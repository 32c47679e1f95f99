// One replay through one peer: every job at its intended arrival, whatever became of those before.
#pragma once

#include "replay/peer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "durations.hpp"
#include "options.hpp"
#include "pacer.hpp"
#include "trace/trace.hpp"

namespace perf::replay {

/// The same for all runs of a comparison.
struct Setting {
    const sluice::replay::Trace& trace;
    const sluice::replay::Plan& plan;
    sluice::replay::WorkKind work;
    Lanes lanes;
    unsigned workers;
    std::uint64_t
        patience_ns;  ///< without any job ending, after the last submission, before the run counts as stuck
};

/// What a run has shown. Sent through a pipe as it lies in memory.
struct RunFigures {
    std::size_t ran = 0;
    std::size_t lost = 0;   ///< posted, and did not end
    std::size_t twice = 0;  ///< started more than once
    bool stuck =
        false;  ///< threads of the peer are still there: the process must end without destroying anything
    sluice::replay::Durations start;  ///< from the intended arrival to the start
    sluice::replay::Durations end;    ///< from the intended arrival to the end
    sluice::replay::Durations
        lag;  ///< from the intended arrival to the call that posts: the driver's own lateness
    double cpu_ns_per_job = 0;       ///< of the process: the jobs' work and the submitter's waiting included
    double peer_cpu_ns_per_job = 0;  ///< of it, all threads but the submitter's
    double switches_per_job = 0;     ///< of the process
};

/// **Thread**: posts and waits on the caller's. If `interrupted` is set, the figures mean nothing.
[[nodiscard]] RunFigures replay_once(const Peer& peer, const Setting& setting,
                                     const std::atomic<bool>& interrupted);

}  // namespace perf::replay
