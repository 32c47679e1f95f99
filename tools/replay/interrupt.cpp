#include "interrupt.hpp"

#include <csignal>
#include <cstddef>
#include <string_view>

#include <unistd.h>

#include "exit_code.hpp"

namespace sluice::replay {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may use it");

void tell(std::string_view message) noexcept {
    [[maybe_unused]] const auto ignored = write(STDERR_FILENO, message.data(), message.size());
}

extern "C" void on_signal(int) {
    if (!interrupted.exchange(true, std::memory_order_relaxed)) {
        tell("\ninterrupted: the report follows; once more to leave at once\n");
        return;
    }
    tell("\n");
    _exit(static_cast<int>(ExitCode::interrupted));
}

}  // namespace

Interrupt::Interrupt() {
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

const std::atomic<bool>& Interrupt::flag() const noexcept {
    return interrupted;
}

}  // namespace sluice::replay
