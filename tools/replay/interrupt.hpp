// SIGINT and SIGTERM: the first asks the run to end early, the second ends the process at once.
#pragma once

#include <atomic>

namespace sluice::replay {

/// Installs the handlers and tells of the first signal. One at a time in a process.
class Interrupt {
public:
    Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    /// Set by the first signal, for good. Relaxed is enough for readers: nothing else is handed over with it.
    [[nodiscard]] const std::atomic<bool>& flag() const noexcept;
};

}  // namespace sluice::replay
