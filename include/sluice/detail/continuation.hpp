// What runs when something that was waited for has ended: the common end of callbacks, coroutines and futures.
#pragma once

#include <exception>

#include <sluice/detail/export.hpp>

namespace sluice::detail {

/// Embedded in whatever waits. Whoever ends the awaited thing calls `run` once; it may destroy the continuation.
struct Continuation {
    void (*run)(Continuation& self) noexcept = nullptr;
    Continuation* next = nullptr;  ///< while it stands in a thread's line, see run_continuation()
};

/// Runs `continuation` on this thread: at once, or, when this thread is inside one already, as soon as that one has
/// returned. So a chain of any length needs one frame of stack. **Progress**: wait-free but for what is run.
/// **Memory**: none.
SLUICE_API void run_continuation(Continuation& continuation) noexcept;

/// While one lives, continuations that this thread is to run wait in line; the end of the outermost runs them. For who
/// ends several things one after the other: a continuation may wait for any of them.
class SLUICE_API ContinuationsHeld {
public:
    ContinuationsHeld() noexcept;
    ContinuationsHeld(const ContinuationsHeld&) = delete;
    ContinuationsHeld& operator=(const ContinuationsHeld&) = delete;
    ~ContinuationsHeld();

private:
    bool outermost_;
};

/// Whether this thread is inside a continuation, or holds them.
[[nodiscard]] SLUICE_API bool inside_continuation() noexcept;

/// A callable of one pointer's size that runs a continuation: what is given to a user's executor.
struct RunContinuation {
    Continuation* continuation;
    void operator()() const noexcept {
        run_continuation(*continuation);
    }
};

}  // namespace sluice::detail
