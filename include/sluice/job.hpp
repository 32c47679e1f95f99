// What a submitter may say about one job beside what it does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>

#include <sluice/lane.hpp>

namespace sluice {

/// Options of one job. All have defaults; designated initialisers read well:
/// `repo.read({.job_class = sluice::JobClass::maintenance, .request_id = "r7"}, fn)`.
///
/// The two names are copied into the job: nothing needs to outlive the call. Together they may have
/// `max_name_bytes`. A job with longer ones, with what is no class, or with a cost outside its range is refused with
/// `invalid_argument`.
struct JobOptions {
    /// Interactive work goes ahead of maintenance work (E11).
    JobClass job_class = JobClass::interactive;
    /// The caller's name for this request: in errors, in snapshots, and to look a mutation up by.
    std::string_view request_id = {};
    /// What the job does, for snapshots ("reindex"). Empty: the class and lane are shown.
    std::string_view label = {};
    /// Still queued at this time, the job ends with `deadline_exceeded` and does not run (E24); once started it finishes.
    /// The default is never.
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
    /// A stop that is requested while the job is queued ends it with `cancelled` at once (E25). A job that has started
    /// finishes, and may look at the token itself. Costs a second node while the job is queued.
    std::stop_token stop = {};
    /// What the job costs its actor in the fairness between actors (E12). Range 1..65536.
    std::uint32_t cost = 1;
};

/// Bytes that request id and label may have together.
inline constexpr std::size_t max_name_bytes = 94;

/// Bytes of closure and result together that need no allocation; larger ones cost one, which
/// Snapshot::oversized counts.
inline constexpr std::size_t inline_payload_bytes = 128;

}  // namespace sluice
