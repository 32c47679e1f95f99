#pragma once

// A job's memory: what the core links, what the worker runs, what the handle waits on, and what a snapshot reads.
//
// Roles. Submitter: fills the node, then publishes it through the ingress. Role holder: links it (core::Job). Worker:
// runs it and completes it. Handle: waits on `state`, takes the result, lets go. Snapshot: reads a node at any time.
//
// Who owns the plain fields: the submitter until the push, then whoever the queues hand the node to; from `done` on the
// handle. `state` (core/words/job_word.hpp) decides who frees: the later one of `done` and `handle dropped`.
//
// What a snapshot reads (`state`, `who`, `enqueued_at`, `names`) is atomic, and valid if `state` shows the same
// generation and a queued phase before and after: a seqlock whose writer is the node's own life.

#include "core/job.hpp"
#include "core/words/job_word.hpp"
#include "sync/atomic.hpp"
#include "sync/name_pair.hpp"

#include <sluice/detail/continuation.hpp>
#include <sluice/detail/job_handle.hpp>
#include <sluice/detail/payload.hpp>
#include <sluice/error.hpp>
#include <sluice/job.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::detail {

class Engine;
class StopWatch;
struct ActorCell;

static_assert(sync::NamePair::most_bytes == max_name_bytes);

struct alignas(64) JobNode : core::Job {
    // Line 0, with core::Job, whose end the small ones fill: all that admitting and running touch.
    ErrorCode outcome = {};        ///< zero: a value. Written before `done`.
    bool has_names = false;        ///< a byte of its own: the handle reads it while the others change
    bool has_handle : 1 = false;   ///< these three have one owner at a time, as all plain fields
    bool built : 1 = false;        ///< heavy: the build step has run
    bool run_is_long : 1 = false;  ///< of the first job of a run, as run_expected_ns
    sync::atomic<std::uint32_t> state{0};
    const JobOps* ops = nullptr;  ///< null: a number whose job never came to be
    void* payload = nullptr;      ///< `inline_payload`, or a block of its own

    // Line 1, and with it the first bytes of the payload: what else a small job touches.
    sync::atomic<std::uintptr_t> who{0};  ///< ActorCell address | lane | class << 2, for snapshots
    static constexpr std::int64_t started = -1;
    sync::atomic<std::int64_t> enqueued_at{0};  ///< 0: by no turn yet; `started`: a heavy job that has
    std::uint32_t run_expected_ns =
        0;                          ///< what the scheduler expects of the run that this job is the first of
    std::uint32_t inline_used = 0;  ///< bytes of `inline_payload` that closure and result take
    Continuation* continuation =
        nullptr;  ///< the handle's until the word says `continuation`, then who ends the job
    alignas(16) std::array<std::byte, inline_payload_bytes> inline_payload;

    // What a submission writes only if it needs it: as it is in a node that is not in use, or constant.
    Engine* engine = nullptr;             ///< written once, by the first submission
    Error error;                          ///< set when `outcome` is, else empty
    StopWatch* watch = nullptr;           ///< of a job with a std::stop_token, until it starts or ends
    core::JobTimer timer;                 ///< of a job with a deadline
    std::size_t payload_bytes = 0;        ///< of a block of its own, else 0
    std::uint32_t payload_alignment = 0;  ///< the same

    // The last: touched only by jobs that have names.
    sync::NamePair names;  ///< request id and label
};

inline core::JobTimer& timer_of(core::Job& job) noexcept {
    return static_cast<JobNode&>(job).timer;
}
// Both compilers define offsetof for such a class (it has no virtual base), and warn that the standard does not ask them to.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
inline core::Job& job_of(core::JobTimer& timer) noexcept {
    return *reinterpret_cast<JobNode*>(reinterpret_cast<std::byte*>(&timer) - offsetof(JobNode, timer));
}
static_assert(offsetof(JobNode, who) == 64, "all that admitting and running touch is in line 0");
static_assert(offsetof(JobNode, inline_payload) <= 96, "a closure of 32 bytes needs no third line");
#pragma GCC diagnostic pop

static_assert(sizeof(JobNode) == 384, "six lines");

}  // namespace sluice::detail
