#pragma once

// Lists of actors, linked through the ClassQueue of one class: joining, leaving and concatenating are O(1).

#include "core/actor_state.hpp"

namespace sluice::core {

/// A doubly linked list of actors. An actor's class is in one list at a time (Place says in which).
class ActorList {
public:
    explicit ActorList(JobClass links) noexcept : links_(links) {}

    [[nodiscard]] bool empty() const noexcept {
        return first_ == nullptr;
    }
    [[nodiscard]] Actor* front() const noexcept {
        return first_;
    }
    [[nodiscard]] Actor* after(const Actor& actor) const noexcept {
        return actor.queue(links_).next;
    }
    [[nodiscard]] bool is_end(const Actor& actor) const noexcept {
        return first_ == &actor || last_ == &actor;
    }

    void push_back(Actor& actor) noexcept {
        ClassQueue& entry = actor.queue(links_);
        entry.previous = last_;
        entry.next = nullptr;
        (last_ == nullptr ? first_ : last_->queue(links_).next) = &actor;
        last_ = &actor;
    }

    void push_front(Actor& actor) noexcept {
        ClassQueue& entry = actor.queue(links_);
        entry.next = first_;
        entry.previous = nullptr;
        (first_ == nullptr ? last_ : first_->queue(links_).previous) = &actor;
        first_ = &actor;
    }

    /// `actor` must be in this list, or in one that shares its inner links: see FairRing::remove.
    void remove(Actor& actor) noexcept {
        ClassQueue& entry = actor.queue(links_);
        if (entry.previous != nullptr)
            entry.previous->queue(links_).next = entry.next;
        if (entry.next != nullptr)
            entry.next->queue(links_).previous = entry.previous;
        if (first_ == &actor)
            first_ = entry.next;
        if (last_ == &actor)
            last_ = entry.previous;
        entry.next = entry.previous = nullptr;
    }

    /// Moves everything of `other` behind what is here.
    void splice_back(ActorList& other) noexcept {
        if (other.first_ == nullptr)
            return;
        if (last_ == nullptr) {
            first_ = other.first_;
        } else {
            last_->queue(links_).next = other.first_;
            other.first_->queue(links_).previous = last_;
        }
        last_ = other.last_;
        other.first_ = other.last_ = nullptr;
    }

private:
    Actor* first_ = nullptr;
    Actor* last_ = nullptr;
    JobClass links_;
};

/// The ready ring of one class, cut where the round ends: `now` holds who is still to be visited in this round, `later`
/// who was visited already or came after the round began. Invariant: everyone in the ring has queued work.
class FairRing {
public:
    explicit FairRing(JobClass links) noexcept : now_(links), later_(links) {}

    void begin_round() noexcept {
        now_.splice_back(later_);
    }

    [[nodiscard]] Actor* next_in_round() const noexcept {
        return now_.front();
    }
    [[nodiscard]] std::uint32_t size() const noexcept {
        return size_;
    }

    /// A newcomer, or one whose visit is over: visited in the next round.
    void join(Actor& actor) noexcept {
        later_.push_back(actor);
        ++size_;
    }

    /// One whose visit is not over, because its deficit still covers its head: visited next.
    void join_front(Actor& actor) noexcept {
        now_.push_front(actor);
        ++size_;
    }

    /// Those whose visit in this round is over (or who came during it).
    template <typename Visit>
    void for_each_visited(Visit visit) {
        for (Actor* actor = later_.front(); actor != nullptr; actor = later_.after(*actor))
            visit(*actor);
    }

    /// Which half the actor is in need not be known: only the half that it heads or ends has its ends moved, and inner
    /// links do not tell halves apart.
    void remove(Actor& actor) noexcept {
        (later_.is_end(actor) ? later_ : now_).remove(actor);
        --size_;
    }

private:
    ActorList now_;
    ActorList later_;
    std::uint32_t size_ = 0;
};

}  // namespace sluice::core
