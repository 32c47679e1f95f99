// What a submitter may say about one job beside what it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sluice/lane.hpp>

namespace sluice {

/// Options of one job. All have defaults; designated initialisers read well:
/// `repo.read({.job_class = sluice::JobClass::maintenance, .request_id = "r7"}, fn)`.
///
/// The two names are copied into the job: nothing needs to outlive the call. Together they may have
/// `max_name_bytes`; a job with longer ones is refused with `invalid_argument`.
struct JobOptions {
    /// Interactive work goes ahead of maintenance work (E11).
    JobClass job_class = JobClass::interactive;
    /// The caller's name for this request: in errors, in snapshots, and to look a mutation up by.
    std::string_view request_id = {};
    /// What the job does, for snapshots ("reindex"). Empty: the class and lane are shown.
    std::string_view label = {};
    /// What the job costs its actor in the fairness between actors (E12). At least 1.
    std::uint32_t cost = 1;
};

/// Bytes that request id and label may have together.
inline constexpr std::size_t max_name_bytes = 94;

/// Bytes of closure and result together that need no allocation; larger ones cost one, which
/// Snapshot::oversized counts.
inline constexpr std::size_t inline_payload_bytes = 128;

}  // namespace sluice
