// Continuations one after the other, however deep they cause each other.

#include <sluice/detail/continuation.hpp>

#include <utility>

namespace sluice::detail {

namespace {

/// The continuations that wait until this thread has left the one it is inside, or holds no more; oldest first. This
/// thread only.
struct Line {
    Continuation* first = nullptr;
    Continuation* last = nullptr;
    bool inside = false;
};
constinit thread_local Line line;  // trivially destructible: usable also while a thread's other objects go

}  // namespace

ContinuationsHeld::ContinuationsHeld() noexcept : outermost_(!std::exchange(line.inside, true)) {}

ContinuationsHeld::~ContinuationsHeld() {
    if (!outermost_)
        return;
    while (line.first != nullptr) {
        Continuation& oldest = *std::exchange(line.first, line.first->next);
        if (line.first == nullptr)
            line.last = nullptr;
        oldest.run(oldest);
    }
    line.inside = false;
}

void run_continuation(Continuation& continuation) noexcept {
    if (line.inside) {
        continuation.next = nullptr;
        (line.last == nullptr ? line.first : line.last->next) = &continuation;
        line.last = &continuation;
        return;
    }
    const ContinuationsHeld held;
    continuation.run(continuation);
}

bool inside_continuation() noexcept {
    return line.inside;
}

}  // namespace sluice::detail
