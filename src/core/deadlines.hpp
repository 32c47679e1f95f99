#pragma once

// Which jobs have a deadline, in a hierarchical timing wheel: adding and removing cost a few instructions, whatever the
// number of jobs. Pure: time comes in as an argument. Owned by whoever holds the scheduler's role.
//
// A tick is 2^16 ns. Level 0 has a slot for each of the 64 ticks of the current block, level 1 one for each block of the
// current block of blocks, and so on: a deadline stands in the level of the highest 6-bit digit in which its tick differs
// from the current one, in the slot of that digit. When the current tick enters a slot of a higher level, what is in it is
// spread over the lower ones. What is too far away for the top level stands in its last slot, and is spread again.
// Within the current tick's slot deadlines are compared exactly.
//
// Invariants. No deadline stands in a slot before the current tick's. A bit of `occupied_` may be set for an empty slot
// (removing does not clear it), never the other way round. `due_` is no later than the earliest deadline in the current
// tick's slot.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "core/job.hpp"
#include "core/limits.hpp"

namespace sluice::core {

class Deadlines {
public:
    static constexpr Nanos never = std::numeric_limits<Nanos>::max();

    Deadlines() noexcept {
        for (auto& level : slots_)
            for (JobTimer& head : level)
                head.next = head.previous = &head;
    }
    Deadlines(const Deadlines&) = delete;
    Deadlines& operator=(const Deadlines&) = delete;

    [[nodiscard]] std::uint64_t size() const noexcept {
        return size_;
    }

    /// O(1). The deadline is set already.
    void add(JobTimer& timer) noexcept {
        ++size_;
        place(timer);
    }

    /// O(1).
    void remove(JobTimer& timer) noexcept {
        --size_;
        unlink(timer);
    }

    /// A time by which expire() should be called: never later than the earliest deadline. `never`: there is none.
    [[nodiscard]] Nanos next_call() const noexcept {
        if (size_ == 0)
            return never;
        if (due_ != never)
            return due_;
        for (unsigned level = 0; level < levels; ++level) {
            if (const std::uint64_t later = later_slots(level); later != 0)
                return start_of(level, static_cast<unsigned>(std::countr_zero(later)));
        }
        return never;
    }

    /// Calls `end(timer)` for deadlines that have passed, at most `most` of them; `end` removes the timer. True: there
    /// may be more. O(1) for each, amortised; a deadline is spread at most once a level.
    template <class End>
    bool expire(Nanos now, std::uint32_t most, End&& end) {
        for (;;) {
            if (due_ <= now && !expire_current(now, most, end))
                return true;
            const std::uint64_t target = tick_of(now);
            if (target <= tick_ || !advance(target))
                return false;
        }
    }

private:
    static constexpr unsigned tick_bits = 16;
    static constexpr unsigned digit_bits = 6;
    static constexpr unsigned levels = 6;  // 2^(16+36) ns: 52 days
    static constexpr unsigned slots = 1U << digit_bits;

    [[nodiscard]] static constexpr std::uint64_t tick_of(Nanos time) noexcept {
        return static_cast<std::uint64_t>(time < 0 ? 0 : time) >> tick_bits;
    }
    [[nodiscard]] static constexpr unsigned digit(std::uint64_t tick, unsigned level) noexcept {
        return static_cast<unsigned>(tick >> (level * digit_bits)) & (slots - 1);
    }
    /// Slots of a level that come after the current one and may have something in them.
    [[nodiscard]] std::uint64_t later_slots(unsigned level) const noexcept {
        const unsigned here = digit(tick_, level);
        return here == slots - 1 ? 0 : occupied_[level] & ~std::uint64_t{0} << (here + 1);
    }
    [[nodiscard]] std::uint64_t first_tick(unsigned level, unsigned slot) const noexcept {
        const unsigned shift = level * digit_bits;
        const std::uint64_t above = tick_ >> (shift + digit_bits) << (shift + digit_bits);
        return above | std::uint64_t{slot} << shift;
    }
    [[nodiscard]] Nanos start_of(unsigned level, unsigned slot) const noexcept {
        return static_cast<Nanos>(first_tick(level, slot) << tick_bits);
    }

    static void unlink(JobTimer& timer) noexcept {
        timer.previous->next = timer.next;
        timer.next->previous = timer.previous;
    }

    void place(JobTimer& timer) noexcept {
        constexpr std::uint64_t farthest = (std::uint64_t{1} << (levels * digit_bits)) - 1;
        std::uint64_t tick = std::max(tick_of(timer.deadline), tick_);
        if ((tick ^ tick_) > farthest)
            tick = tick_ | farthest;
        const std::uint64_t difference = tick ^ tick_;
        const unsigned level =
            difference == 0 ? 0 : (63U - static_cast<unsigned>(std::countl_zero(difference))) / digit_bits;
        if (difference == 0)
            due_ = std::min(due_, timer.deadline);
        const unsigned slot = digit(tick, level);
        occupied_[level] |= std::uint64_t{1} << slot;
        JobTimer& head = slots_[level][slot];
        timer.next = &head;
        timer.previous = head.previous;
        head.previous->next = &timer;
        head.previous = &timer;
    }

    /// Those of the current tick's slot. False: `most` was reached first.
    template <class End>
    bool expire_current(Nanos now, std::uint32_t& most, End& end) {
        JobTimer& head = slots_[0][digit(tick_, 0)];
        Nanos due = never;
        for (JobTimer* timer = head.next; timer != &head;) {
            JobTimer& current = *timer;
            timer = timer->next;
            if (current.deadline > now) {
                due = std::min(due, current.deadline);
            } else if (most-- == 0) {
                most = 0;
                return false;
            } else {
                end(current);
            }
        }
        due_ = due;
        return true;
    }

    /// To the next slot with something in it, or to `target`. False: there, and nothing is in the slot.
    bool advance(std::uint64_t target) noexcept {
        for (unsigned level = 0; level < levels; ++level) {
            const std::uint64_t later = later_slots(level);
            if (later == 0)
                continue;
            const auto slot = static_cast<unsigned>(std::countr_zero(later));
            const std::uint64_t tick = first_tick(level, slot);
            if (tick > target)
                break;  // all higher levels are later still
            enter(tick);
            spread(level, slot);
            return true;
        }
        enter(target);
        return due_ != never;
    }

    /// Takes the current tick on; what is left in its slot was too far away for the wheel.
    void enter(std::uint64_t tick) noexcept {
        const unsigned left = digit(tick_, 0);
        tick_ = tick;
        due_ = never;
        spread(0, left);
    }

    /// Places anew what stands in a slot.
    void spread(unsigned level, unsigned slot) noexcept {
        JobTimer& head = slots_[level][slot];
        occupied_[level] &= ~(std::uint64_t{1} << slot);
        if (head.next == &head)
            return;
        JobTimer* timer = head.next;
        head.previous->next = nullptr;
        head.next = head.previous = &head;
        while (timer != nullptr) {
            JobTimer& current = *timer;
            timer = timer->next;
            place(current);
        }
    }

    std::array<std::array<JobTimer, slots>, levels> slots_;  ///< Heads of circular lists.
    std::array<std::uint64_t, levels> occupied_{};
    std::uint64_t tick_ = 0;
    Nanos due_ = never;
    std::uint64_t size_ = 0;
};

}  // namespace sluice::core
