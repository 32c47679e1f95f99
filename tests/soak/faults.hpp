// What the soak does to the library on purpose, by kind, and how often it did.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::soak {

enum class Fault : std::uint8_t {
    job_throws,
    callback_throws,
    hook_throws,
    slow_job,
    actor_fatal,
    actor_removed,
    actor_registered_again,
    deadline,
    stop,
    stop_of_all,
    item_cancelled,
    call_cancelled,
    group_cancelled,
    queue_cancelled,
    turn_left,
    session_cancelled,
    turns_expired,
    rate_limit,
    clock_jump,
    allocation_fails,
    thread_start_fails,
    early_shutdown,
    owner_dies_in_a_job,
};
inline constexpr std::size_t fault_count = static_cast<std::size_t>(Fault::owner_dies_in_a_job) + 1;

inline constexpr std::array<std::string_view, fault_count> fault_names{
    "job_throws",
    "callback_throws",
    "hook_throws",
    "slow_job",
    "actor_fatal",
    "actor_removed",
    "actor_registered_again",
    "deadline",
    "stop",
    "stop_of_all",
    "item_cancelled",
    "call_cancelled",
    "group_cancelled",
    "queue_cancelled",
    "turn_left",
    "session_cancelled",
    "turns_expired",
    "rate_limit",
    "clock_jump",
    "allocation_fails",
    "thread_start_fails",
    "early_shutdown",
    "owner_dies_in_a_job",
};

/// How often each was done. Any thread counts.
class FaultCounts {
public:
    void count(Fault fault, std::uint64_t times = 1) {
        counts_[static_cast<std::size_t>(fault)].fetch_add(times, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t of(std::size_t fault) const {
        return counts_[fault].load(std::memory_order_relaxed);
    }

private:
    std::array<std::atomic<std::uint64_t>, fault_count> counts_{};
};

}  // namespace sluice::soak
