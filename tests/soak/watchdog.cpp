#include "watchdog.hpp"

#include <cstdio>
#include <cstdlib>

namespace sluice::soak {

Watchdog::Watchdog(std::chrono::seconds patience)
    : patience_(patience), thread_([this](const std::stop_token& stop) { look(stop); }) {}

void Watchdog::watch(const Episode& episode, const Plan& plan) {
    const std::lock_guard lock(mutex_);
    episode_ = &episode;
    plan_ = &plan;
    since_ = std::chrono::steady_clock::now();
    changed_.notify_one();
}

void Watchdog::rest() {
    const std::lock_guard lock(mutex_);
    episode_ = nullptr;
}

void Watchdog::look(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        changed_.wait_for(lock, stop, std::chrono::milliseconds(200), [] { return false; });
        if (episode_ != nullptr && std::chrono::steady_clock::now() - since_ > patience_)
            give_up();
    }
}

// Parts that are in the middle of their end may have gone while they are asked; then the lines before are what there is.
void Watchdog::give_up() const {
    std::printf("\nhung for more than %lld s: %s", static_cast<long long>(patience_.count()),
                describe(*plan_).c_str());
    std::fflush(stdout);
    std::printf("%s", episode_->state().c_str());
    std::fflush(stdout);
    std::abort();
}

}  // namespace sluice::soak
