#pragma once

// One worker of the pool, and what the workers of one kind share.

#include "core/spin_history.hpp"
#include "pool/slot.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/lookout.hpp"

#include <cstdint>
#include <thread>

namespace sluice::detail {

class Pool;

/// Workers that run the same lanes. They look out together: one of them that looks covers all lanes of the kind.
struct PoolKind {
    PoolKind(std::uint32_t lane_mask, std::uint32_t workers) : lanes(lane_mask), lookout(workers) {}

    const std::uint32_t lanes;  ///< bit i: runs lane i
    bool may_spin = true;  ///< no other kind runs all that this one runs, and more; constant after the start
    sync::Lookout lookout;
    alignas(sync::cache_line) sync::atomic<bool> spinning{false};  ///< at most one of them does
};

class alignas(sync::cache_line) PoolWorker {
public:
    PoolWorker(Pool& pool, std::uint32_t index, std::uint32_t kind, std::uint32_t member) noexcept
        : pool_(pool), index_(index), kind_(kind), member_(member) {}

    void main() noexcept;
    [[nodiscard]] std::uint32_t index() const noexcept {
        return index_;
    }
    [[nodiscard]] std::uint32_t kind() const noexcept {
        return kind_;
    }

    std::thread thread;
    // Written by this worker only.
    alignas(sync::cache_line) sync::atomic<std::uint64_t> ran{0};  ///< items, before their words say so
    sync::atomic<std::uint64_t> settled{0};  ///< items that ended here either way, after their words say so

private:
    void run(PoolSlot& slot) noexcept;
    void stop_looking() noexcept;
    void idle() noexcept;
    [[nodiscard]] bool spin_for_work() noexcept;
    [[nodiscard]] bool work_is_there() noexcept;

    Pool& pool_;
    const std::uint32_t index_;
    const std::uint32_t kind_;
    const std::uint32_t member_;  ///< among those of its kind
    bool looking_ = false;
    core::SpinHistory spins_;
};

}  // namespace sluice::detail
