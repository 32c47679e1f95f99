#pragma once

// The order in which waiters are admitted: first come, first served, or round robin between sessions (T4, T16). PURE: whoever
// holds the gate's baton calls it; memory is the caller's, taken once.
//
// Encoding. A waiter is an index. Waiters of one *group* are a chain, oldest first; groups are a ring that is gone round, one
// waiter a group. In round robin a group is a session that waits; first come, first served, all are in one group. A session is
// found by its hash in chains of groups, and by asking the caller whether two waiters are of the same one.
// Invariant: a group in the ring has at least one waiter. A session that comes (back) joins the ring at its end, just before the
// one whose turn it is, so it goes ahead of nobody's first waiter.

#include <cstdint>
#include <span>

namespace sluice::core {

struct LineWaiter {
    std::uint32_t next = 0;
};

struct LineGroup {
    std::uint64_t hash = 0;
    std::uint32_t head = 0;
    std::uint32_t tail = 0;
    std::uint32_t next = 0;    ///< in the ring
    std::uint32_t before = 0;  ///< in the ring
    std::uint32_t chain = 0;   ///< next of the same bucket, or next free group
    std::uint32_t seen = 0;    ///< for_each: the waiter that comes next
    std::uint32_t round = 0;   ///< for_each: the next group that has one
};

class GateLine {
public:
    static constexpr std::uint32_t none = 0xffff'ffff;

    /// `groups`: one for first come, first served, else as many as `waiters`. `buckets`: a power of two, or empty with one group.
    GateLine(std::span<LineWaiter> waiters, std::span<LineGroup> groups,
             std::span<std::uint32_t> buckets) noexcept
        : waiters_(waiters), groups_(groups), buckets_(buckets) {
        for (std::uint32_t i = 0; i < groups_.size(); ++i)
            groups_[i].chain = i + 1 < groups_.size() ? i + 1 : none;
        for (std::uint32_t& bucket : buckets_)
            bucket = none;
    }

    [[nodiscard]] bool empty() const noexcept {
        return turn_ == none;
    }
    [[nodiscard]] bool by_session() const noexcept {
        return !buckets_.empty();
    }
    /// Who is admitted next, or `none`.
    [[nodiscard]] std::uint32_t head() const noexcept {
        return empty() ? none : groups_[turn_].head;
    }

    /// A waiter joins. `same(other)`: whether it is of the same session as that waiter. Cost: constant, but for the hash.
    template <class Same>
    void append(std::uint32_t waiter, std::uint64_t hash, Same&& same) noexcept {
        waiters_[waiter].next = none;
        const std::uint32_t found = find(hash, same);
        if (found != none) {
            waiters_[groups_[found].tail].next = waiter;
            groups_[found].tail = waiter;
            return;
        }
        const std::uint32_t group = free_;
        free_ = groups_[group].chain;
        groups_[group] = {.hash = hash, .head = waiter, .tail = waiter};
        enter_ring(group);
        if (by_session()) {
            groups_[group].chain = bucket_of(hash);
            bucket_of(hash) = group;
        }
    }

    /// The head leaves, and it is the next session's turn.
    void pop() noexcept {
        const std::uint32_t group = turn_;
        LineGroup& mine = groups_[group];
        mine.head = waiters_[mine.head].next;
        turn_ = mine.next;
        if (mine.head == none)
            leave_ring(group);
    }

    /// Takes out all for which `gone(waiter)` says so. Returns how many. Cost: all that wait.
    template <class Gone>
    std::uint32_t remove_if(Gone&& gone) noexcept {
        std::uint32_t removed = 0;
        std::uint32_t left = rings_;
        for (std::uint32_t group = turn_; left > 0; --left) {
            const std::uint32_t following = groups_[group].next;
            removed += remove_from(groups_[group], gone);
            if (groups_[group].head == none)
                leave_ring(group);
            group = following;
        }
        return removed;
    }

    /// Calls `visit(waiter, position)` for all in the order in which they would be admitted, position from 1.
    template <class Visit>
    void for_each(Visit&& visit) noexcept {
        if (empty())
            return;
        // Groups that still have waiters are chained by `round`, beginning with the one whose turn it is.
        std::uint32_t group = turn_;
        do {
            groups_[group].seen = groups_[group].head;
            groups_[group].round = groups_[group].next;
            group = groups_[group].next;
        } while (group != turn_);
        std::uint32_t position = 0;
        std::uint32_t previous = groups_[turn_].before;
        for (std::uint32_t left = rings_; left > 0;) {
            LineGroup& mine = groups_[group];
            const std::uint32_t waiter = mine.seen;
            mine.seen = waiters_[waiter].next;
            visit(waiter, ++position);
            if (mine.seen == none) {
                groups_[previous].round = mine.round;
                --left;
            } else {
                previous = group;
            }
            group = mine.round;
        }
    }

private:
    [[nodiscard]] std::uint32_t& bucket_of(std::uint64_t hash) noexcept {
        return buckets_[hash & (buckets_.size() - 1)];
    }

    template <class Same>
    [[nodiscard]] std::uint32_t find(std::uint64_t hash, Same&& same) noexcept {
        if (!by_session())
            return turn_;  // the only group, or none
        std::uint32_t group = bucket_of(hash);
        while (group != none && (groups_[group].hash != hash || !same(groups_[group].head)))
            group = groups_[group].chain;
        return group;
    }

    void enter_ring(std::uint32_t group) noexcept {
        ++rings_;
        if (turn_ == none) {
            turn_ = group;
            groups_[group].next = groups_[group].before = group;
            return;
        }
        const std::uint32_t last = groups_[turn_].before;
        groups_[group].next = turn_;
        groups_[group].before = last;
        groups_[last].next = groups_[turn_].before = group;
    }

    void leave_ring(std::uint32_t group) noexcept {
        LineGroup& mine = groups_[group];
        --rings_;
        groups_[mine.before].next = mine.next;
        groups_[mine.next].before = mine.before;
        if (turn_ == group)
            turn_ = mine.next == group ? none : mine.next;
        if (rings_ == 0)
            turn_ = none;
        if (by_session()) {
            std::uint32_t* link = &bucket_of(mine.hash);
            while (*link != group)
                link = &groups_[*link].chain;
            *link = mine.chain;
        }
        mine.chain = free_;
        free_ = group;
    }

    template <class Gone>
    [[nodiscard]] std::uint32_t remove_from(LineGroup& group, Gone& gone) noexcept {
        std::uint32_t removed = 0;
        std::uint32_t kept = none;
        for (std::uint32_t waiter = group.head; waiter != none;) {
            const std::uint32_t next = waiters_[waiter].next;
            if (gone(waiter)) {
                (kept == none ? group.head : waiters_[kept].next) = next;
                ++removed;
            } else {
                kept = waiter;
            }
            waiter = next;
        }
        group.tail = kept;
        return removed;
    }

    std::span<LineWaiter> waiters_;
    std::span<LineGroup> groups_;
    std::span<std::uint32_t> buckets_;
    std::uint32_t turn_ = none;  // the group whose turn it is
    std::uint32_t free_ = 0;     // groups that are in no ring
    std::uint32_t rings_ = 0;    // groups in the ring
};

}  // namespace sluice::core
