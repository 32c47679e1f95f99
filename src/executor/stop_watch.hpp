#pragma once

// A job's std::stop_token (E25): a stop that is requested while the job is queued ends it without running.
//
// Roles. Requester: the thread that calls request_stop(), inside the token's callback. Starter: who is about to run the
// job, or to end it for another reason. Role holder: takes the requests, and takes the jobs out of their queues.
//
// Encoding. Two bits of the job's word (core/words/job_word.hpp): `stopped`, set by the requester, and `started`, set by
// the starter, each by one read-modify-write that shows whether the other came first. If `started` did, the job runs, and
// it may read the token itself. If `stopped` did, nobody runs it; it is over when both of these have happened, in either
// order, and the second of the two (arrive) ends it:
//     its request was taken by the role holder (until then the requests refer to it)
//     it left the core: withdrawn by the request, failed for another reason, or met by a worker
//
// Memory. A watch lies in the payload of a second node of the pool, so that a token costs no allocation.

#include "sync/atomic.hpp"

#include <cstdint>
#include <new>
#include <stop_token>
#include <utility>

namespace sluice::detail {

class Engine;
struct JobNode;

class StopWatch {
public:
    StopWatch(JobNode& job, JobNode& carrier) noexcept : job_(job), carrier_(carrier) {}
    StopWatch(const StopWatch&) = delete;
    StopWatch& operator=(const StopWatch&) = delete;
    /// Waits for a requester that is inside the callback; it is about to leave.
    ~StopWatch() {
        if (watching_)
            callback().~Callback();
    }

    /// Submitter, before the job is published. If a stop was requested already the request is made right here.
    void watch(std::stop_token token) noexcept {
        ::new (static_cast<void*>(&storage_)) Callback(std::move(token), Request{this});
        watching_ = true;
    }

    [[nodiscard]] JobNode& job() const noexcept {
        return job_;
    }
    [[nodiscard]] JobNode& carrier() const noexcept {
        return carrier_;
    }
    /// True for the second of the two that must have happened.
    [[nodiscard]] bool arrive() noexcept {
        // acq_rel: each of the two sees what the other did before.
        return arrived_.exchange(true, sync::memory_order_acq_rel);
    }
    /// Role holder: whether the request was taken and the job has not left the core.
    [[nodiscard]] bool request_was_taken() const noexcept {
        return arrived_.load(sync::memory_order_relaxed);  // the role holder's own store, or an earlier one's
    }

    StopWatch* next = nullptr;  ///< in the stack of requests

private:
    struct Request {
        StopWatch* watch;
        void operator()() const noexcept {
            watch->request();
        }
    };
    using Callback = std::stop_callback<Request>;

    void request() noexcept;
    [[nodiscard]] Callback& callback() noexcept {
        return *std::launder(reinterpret_cast<Callback*>(&storage_));
    }

    JobNode& job_;
    JobNode& carrier_;
    sync::atomic<bool> arrived_{false};
    bool watching_ = false;
    alignas(Callback) std::byte storage_[sizeof(Callback)];
};

}  // namespace sluice::detail
