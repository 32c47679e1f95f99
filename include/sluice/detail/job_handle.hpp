// The untyped half of Completion: what waiting, taking and dropping need to know of a job.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <ratio>
#include <utility>

#include <sluice/detail/continuation.hpp>
#include <sluice/detail/export.hpp>
#include <sluice/error.hpp>

namespace sluice::detail {

struct JobNode;  // defined in src/executor; a stable address while a handle exists

/// How a wait ended; all but `done` leave the handle as it was.
enum class WaitStatus : std::uint8_t { done, timed_out, would_deadlock, no_state, forked };

/// Owns the submitter's claim on a job's memory. Compiled, the same for every result type.
class SLUICE_API JobHandle {
public:
    static constexpr std::int64_t forever = -1;

    /// A duration as the nanoseconds that wait() takes: rounded up. What is negative, and what is not a number, is no time
    /// at all; 100 years and more are `forever`. In floating point, which no duration overflows.
    template <class Rep, class Period>
    [[nodiscard]] static std::int64_t nanoseconds(std::chrono::duration<Rep, Period> patience) {
        constexpr long double longest = 100.0L * 365 * 24 * 3600 * 1'000'000'000;
        const long double wanted = std::chrono::duration<long double, std::nano>(patience).count();
        if (!(wanted > 0))
            return 0;
        return wanted < longest ? static_cast<std::int64_t>(std::ceil(wanted)) : forever;
    }

    JobHandle() noexcept = default;
    explicit JobHandle(JobNode* node) noexcept : node_(node) {}
    JobHandle(JobHandle&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    JobHandle& operator=(JobHandle&& other) noexcept {
        if (this != &other) {
            drop();
            node_ = std::exchange(other.node_, nullptr);
        }
        return *this;
    }
    ~JobHandle() {
        drop();
    }

    [[nodiscard]] bool valid() const noexcept {
        return node_ != nullptr;
    }
    [[nodiscard]] bool done() const noexcept;
    [[nodiscard]] WaitStatus wait(std::int64_t patience_ns) noexcept;
    /// Why a wait was in vain. None: it was not, for the job has ended since.
    [[nodiscard]] std::optional<Error> wait_error(WaitStatus status) const;

    /// Has `continuation` run when the job ends, on the thread that ends it. False: it has ended already, and nothing
    /// will run. At most one at a time, and no wait meanwhile.
    [[nodiscard]] bool attach(Continuation& continuation) noexcept;
    /// Takes it back. False: the job has ended, so it has run or is about to.
    bool take_back_continuation() noexcept;
    /// Memory for what the continuation is part of: what closure and result leave of the node, else a block of the
    /// executor's memory. Null: there is none.
    [[nodiscard]] void* allocate_callback(std::size_t size, std::size_t alignment) noexcept;
    void free_callback(void* memory, std::size_t size, std::size_t alignment) noexcept;
    void count_callback_that_threw() noexcept;

    // The rest is for a job that is done.
    [[nodiscard]] bool failed() const noexcept;
    [[nodiscard]] Error error() const noexcept;
    /// What a job is said to have ended with whose result threw `thrown` when it was moved out.
    [[nodiscard]] Error error_of_move(std::exception_ptr thrown) const;
    [[nodiscard]] void* result() const noexcept;

private:
    void drop() noexcept {
        if (node_ != nullptr)
            release(std::exchange(node_, nullptr));
    }
    static void release(JobNode* node) noexcept;

    JobNode* node_ = nullptr;
};

/// Whether this thread is one of some executor's, inside a job or not.
[[nodiscard]] SLUICE_API bool on_executor_thread() noexcept;

}  // namespace sluice::detail
