// The seam between the typed interface and the compiled engine: a submission in two calls, with the closure
// constructed in the job's own memory between them.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <utility>

#include <sluice/completion.hpp>
#include <sluice/detail/export.hpp>
#include <sluice/detail/job_handle.hpp>
#include <sluice/detail/payload.hpp>
#include <sluice/job.hpp>
#include <sluice/lane.hpp>

namespace sluice::detail {

class Engine;       // src/executor
struct ActorCell;   // src/executor
struct ThreadSlot;  // src/executor

/// What a submission needs to know of its closure and caller.
struct Request {
    Lane lane;
    const JobOptions* options;
    const JobOps* ops;
    std::size_t size;
    std::size_t alignment;
    bool wants_handle;
};

/// A submission between its two calls: accepted and numbered, its closure not yet there.
class SLUICE_API Draft {
public:
    /// Checks, counts and numbers the job. Afterwards either accepted(), and commit() or abandon() must
    /// follow, or refusal() says why not and the caller's closure is untouched.
    Draft(ActorCell* cell, const Request& request);
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;
    ~Draft();

    [[nodiscard]] bool accepted() const noexcept {
        return node_ != nullptr;
    }
    [[nodiscard]] Error refusal() const;
    [[nodiscard]] void* payload() const noexcept {
        return payload_;
    }
    /// Publishes the job. The handle is empty when none was asked for.
    [[nodiscard]] JobHandle commit() noexcept;

private:
    ActorCell* cell_;
    JobNode* node_ = nullptr;
    void* payload_ = nullptr;
    ThreadSlot* slot_ = nullptr;
    const JobOptions* options_;
    LimitHit limit_ = {};
    ErrorCode code_ = {};
    bool temporary_slot_ = false;
};

/// Submits one job whose payload is constructed from `parts`; refused, the parts are untouched.
template <class Payload, class R, class... Parts>
Completion<R> submit(ActorCell* cell, Lane lane, const JobOptions& options, Parts&&... parts) {
    Draft draft(cell, {lane, &options, &Payload::ops, sizeof(Payload), alignof(Payload), true});
    if (!draft.accepted())
        return Completion<R>(draft.refusal());
    ::new (draft.payload()) Payload(std::forward<Parts>(parts)...);
    return Completion<R>(draft.commit());
}

/// As submit(), without any completion state.
template <class Payload, class... Parts>
Result<void> post(ActorCell* cell, Lane lane, const JobOptions& options, Parts&&... parts) {
    Draft draft(cell, {lane, &options, &Payload::ops, sizeof(Payload), alignof(Payload), false});
    if (!draft.accepted())
        return Result<void>(std::unexpect, draft.refusal());
    ::new (draft.payload()) Payload(std::forward<Parts>(parts)...);
    (void)draft.commit();
    return {};
}

}  // namespace sluice::detail
