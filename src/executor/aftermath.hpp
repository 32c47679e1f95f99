#pragma once

// Collected by the role holder during a turn, and seen to after it (aftermath.cpp).

#include "core/job.hpp"
#include "executor/actor_cell.hpp"

#include <cstdint>

namespace sluice::detail {

struct Aftermath {
    core::JobChain jobs;                 ///< Job::fail says why; `ops` null: a number without a job
    ActorCell* released = nullptr;       ///< linked by ActorCell::link
    ActorCell* last_released = nullptr;  ///< of that list
    std::uint32_t cells = 0;

    [[nodiscard]] bool any() const noexcept {
        return count() != 0;
    }
    [[nodiscard]] std::uint32_t count() const noexcept {
        return jobs.count + cells;
    }
    void append(core::Job* list) noexcept {
        while (list != nullptr) {
            core::Job* next = list->next;
            jobs.append(*list);
            list = next;
        }
    }
    void release(ActorCell& cell) noexcept {
        cell.link = released;
        released = &cell;
        if (last_released == nullptr)
            last_released = &cell;
        ++cells;
    }
};

}  // namespace sluice::detail
