// Ends a run that hangs: says which episode it was and what its parts say of themselves, and aborts, so that a debugger or a core
// file has the rest.
#pragma once

#include "episode.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sluice::soak {

class Watchdog {
public:
    explicit Watchdog(std::chrono::seconds patience);

    /// From now on this episode is watched. It and its plan must stay until rest().
    void watch(const Episode& episode, const Plan& plan);
    void rest();

private:
    void look(const std::stop_token& stop);
    [[noreturn]] void give_up() const;

    const std::chrono::seconds patience_;
    std::mutex mutex_;  // under it is all that follows; an episode takes it twice
    std::condition_variable_any changed_;
    const Episode* episode_ = nullptr;
    const Plan* plan_ = nullptr;
    std::chrono::steady_clock::time_point since_;
    std::jthread thread_;  // last: it uses the others
};

}  // namespace sluice::soak
