// Continuations one after the other, however deep they cause each other.

#include <sluice/detail/continuation.hpp>

#include <utility>

namespace sluice::detail {

namespace {

/// The continuations that wait for the one that this thread is inside, oldest first. This thread only.
struct Line {
    Continuation* first = nullptr;
    Continuation* last = nullptr;
    bool inside = false;
};
constinit thread_local Line line;  // trivially destructible: usable also while a thread's other objects go

}  // namespace

void run_continuation(Continuation& continuation) noexcept {
    if (line.inside) {
        continuation.next = nullptr;
        (line.last == nullptr ? line.first : line.last->next) = &continuation;
        line.last = &continuation;
        return;
    }
    line.inside = true;
    continuation.run(continuation);
    while (line.first != nullptr) {
        Continuation& oldest = *std::exchange(line.first, line.first->next);
        if (line.first == nullptr)
            line.last = nullptr;
        oldest.run(oldest);
    }
    line.inside = false;
}

bool inside_continuation() noexcept {
    return line.inside;
}

}  // namespace sluice::detail
