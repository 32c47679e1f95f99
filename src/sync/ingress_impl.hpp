#pragma once

// The inside of sync/ingress.hpp, whose comment says the roles and words. In a header of its own so that a
// test can compile the same code with other rules; the library includes it once, in ingress.cpp.

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <new>

#include "core/ingress_order.hpp"
#include "core/job.hpp"
#include "platform/cpu.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"
#include "sync/ingress.hpp"
#include "sync/moodycamel.hpp"

namespace sluice::sync {

// NOLINTBEGIN(readability-identifier-naming): the names are the queue's
struct IngressTraits : moodycamel::ConcurrentQueueDefaultTraits {
    // 64 pointers are what a worker claims at most, and beyond 32 the queue counts the empty slots of a block
    // in one word.
    static constexpr std::size_t BLOCK_SIZE = 64;
    // No producer without a token.
    static constexpr std::size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;
};
// NOLINTEND(readability-identifier-naming)

// What the submission of a small job writes, see executor/job_node.hpp. Who has smaller ones loses nothing.
inline constexpr std::size_t lines_of_a_job = 2;

template <typename Rules>
class BasicIngress<Rules>::Lane : public core::StagedLane<Lane, core::Job, 64> {
public:
    using Queue = moodycamel::ConcurrentQueue<core::Job*, IngressTraits>;

    explicit Lane(Queue& inside) : queue(inside), token(inside) {}

    // The consumer's, as is all of StagedLane.
    std::uint64_t taken = 0;  // jobs taken out of the queue
    atomic<std::uint64_t> emitted{0};

    // The submitter's, on a line that the consumer only reads; and what is constant.
    alignas(cache_line) atomic<std::uint64_t> pushed{0};
    Queue& queue;
    moodycamel::ProducerToken token;
    Group* group = nullptr;  // as place: immutable once the lane is in it
    unsigned place = 0;      // which bit of the group
    atomic<bool> in_use{true};
};

// 64 lanes, and one word that says which of them have to be looked at. A list of groups only grows; lanes that nobody uses
// and that are empty cost one bit.
template <typename Rules>
struct BasicIngress<Rules>::Group {
    atomic<std::uint64_t> active{0};
    std::array<atomic<Lane*>, 64> lanes{};  // written before its bit is set
    atomic<Group*> next{nullptr};
};

template <typename Rules>
struct BasicIngress<Rules>::Inside {
    using Group = BasicIngress::Group;
    using Lane = BasicIngress::Lane;
    using Queue = Lane::Queue;

    Inside(std::pmr::memory_resource& resource, std::uint64_t first)
        : memory(resource), queue(0), first_number(first), order(first) {}

    // What IngressOrder asks for.
    [[nodiscard]] Lane* first() noexcept {
        return from(&groups, ~std::uint64_t{0});
    }
    [[nodiscard]] static Lane* after(Lane& lane) noexcept {
        return from(lane.group, ~std::uint64_t{1} << lane.place);
    }
    // The first active lane from here on.
    [[nodiscard]] static Lane* from(Group* group, std::uint64_t mask) noexcept {
        // Acquire: partner of activate(). A lane whose job happened before a job that was seen is active in the
        // word that this load sees.
        for (; group != nullptr; group = group->next.load(memory_order_acquire), mask = ~std::uint64_t{0}) {
            const std::uint64_t lanes = group->active.load(memory_order_acquire) & mask;
            if (lanes != 0) {
                // Relaxed: published with the bit.
                return group->lanes[static_cast<unsigned>(std::countr_zero(lanes))].load(
                    memory_order_relaxed);
            }
        }
        return nullptr;
    }
    static void activate(Lane& lane) noexcept {
        // Release for the loads in from(), and sequentially consistent for the one in pending(), as announce() is
        // and for the same reason: who misses a new lane misses its jobs. And for retire(), see there.
        lane.group->active.fetch_or(std::uint64_t{1} << lane.place, memory_order_seq_cst);
    }
    // The lane is empty, and nobody used it a moment ago. Sequentially consistent, as in reuse_lane(): if the flag that it
    // sets first is not seen here, its activate() comes after the bit is cleared here.
    static void retire(Lane& lane) noexcept {
        lane.group->active.fetch_and(~(std::uint64_t{1} << lane.place), memory_order_seq_cst);
        if (Rules::ask_before_retiring && lane.in_use.load(memory_order_seq_cst)) {
            activate(lane);  // the consumer looks again before it stops being a looker
        }
    }
    [[nodiscard]] static std::size_t take(Lane& lane, core::Job** out, std::size_t max) noexcept {
        // Acquire: partner of the store in announce(); the jobs that it announces are in the queue and in
        // memory. Nothing stronger is needed for the order: a job that happened before a job that was taken
        // was announced before it, so coherence shows it here.
        const std::uint64_t announced = lane.pushed.load(memory_order_acquire) - lane.taken;
        if (announced == 0) {
            // Acquire: partner of leave_lane(). Who left announced before, so this second look sees all there was.
            if (!lane.in_use.load(memory_order_acquire) &&
                lane.pushed.load(memory_order_relaxed) == lane.taken) {
                Rules::rest();
                retire(lane);
            }
            return 0;
        }
        const std::size_t wanted = announced < max ? static_cast<std::size_t>(announced) : max;
        const std::size_t got = lane.queue.try_dequeue_bulk_from_producer(lane.token, out, wanted);
        assert(got == wanted);
        lane.taken += got;
        return got;
    }
    // All of it was written last by its submitter, and all of it will be used: by the turn, then by the run.
    static void expect(const core::Job& job) noexcept {
        const auto* line = reinterpret_cast<const std::byte*>(&job);
        for (std::size_t i = 0; i < lines_of_a_job; ++i) {
            platform::prefetch_for_write(line + i * cache_line);
        }
    }
    static void emitted(Lane& lane) noexcept {
        // Relaxed: a count for pending(). A reader that sees an old value looks once too often; one that sees
        // the new value and goes to sleep leaves the job to the consumer, who has it. Only the consumer
        // writes, so load and store need not be one step.
        lane.emitted.store(lane.emitted.load(memory_order_relaxed) + 1, memory_order_relaxed);
    }

    std::pmr::memory_resource& memory;
    Queue queue;
    const std::uint64_t first_number;
    alignas(cache_line) Group groups;
    atomic<std::size_t> lanes{0};
    atomic<std::uint64_t> voided{0};
    atomic<std::uint64_t> largest_voided{0};
    alignas(cache_line) core::IngressOrder<Inside, Rules> order;  // the consumer's
};

template <typename Rules>
BasicIngress<Rules>::BasicIngress(std::pmr::memory_resource& memory, std::uint64_t first_number)
    : inside_(std::pmr::polymorphic_allocator<>(&memory).new_object<Inside>(memory, first_number)) {}

template <typename Rules>
BasicIngress<Rules>::~BasicIngress() {
    std::pmr::polymorphic_allocator<> allocator(&inside_->memory);
    // The tokens go before the queue that they point into. Relaxed: nobody else is here any more.
    for (Group* group = &inside_->groups; group != nullptr;) {
        for (const auto& lane : group->lanes) {
            if (lane.load(memory_order_relaxed) != nullptr) {
                allocator.delete_object(lane.load(memory_order_relaxed));
            }
        }
        Group* const next = group->next.load(memory_order_relaxed);
        if (group != &inside_->groups) {
            allocator.delete_object(group);
        }
        group = next;
    }
    allocator.delete_object(inside_);
}

template <typename Rules>
auto BasicIngress<Rules>::add_lane() noexcept -> Lane* {
    std::pmr::polymorphic_allocator<> allocator(&inside_->memory);
    Lane* lane = nullptr;
    try {
        lane = allocator.new_object<Lane>(inside_->queue);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
    if (!lane->token.valid()) {
        allocator.delete_object(lane);
        return nullptr;
    }
    const std::size_t index = inside_->lanes.fetch_add(1, memory_order_relaxed);  // a place of its own
    lane->group = group_of(index);
    if (lane->group == nullptr) {
        allocator.delete_object(lane);  // the place stays empty
        return nullptr;
    }
    lane->place = static_cast<unsigned>(index % 64);
    lane->group->lanes[lane->place].store(lane, memory_order_relaxed);  // published with its bit
    Inside::activate(*lane);
    return lane;
}

// The group of a place, made by whoever needs it first. Null: no memory.
template <typename Rules>
auto BasicIngress<Rules>::group_of(std::size_t index) noexcept -> Group* {
    std::pmr::polymorphic_allocator<> allocator(&inside_->memory);
    Group* group = &inside_->groups;
    for (std::size_t skip = index / 64; skip != 0; --skip) {
        Group* next = group->next.load(memory_order_acquire);
        if (next == nullptr) {
            Group* fresh = nullptr;
            try {
                fresh = allocator.new_object<Group>();
            } catch (const std::bad_alloc&) {
                return nullptr;
            }
            // Release: partner of the acquires here and in from(). Acquire on failure: the other's group.
            if (group->next.compare_exchange_strong(next, fresh, memory_order_release,
                                                    memory_order_acquire)) {
                next = fresh;
            } else {
                allocator.delete_object(fresh);
            }
        }
        group = next;
    }
    return group;
}

template <typename Rules>
void BasicIngress<Rules>::leave_lane(Lane& lane) noexcept {
    // Release: partner of the acquire in Inside::take().
    lane.in_use.store(false, memory_order_release);
}

template <typename Rules>
void BasicIngress<Rules>::reuse_lane(Lane& lane) noexcept {
    lane.in_use.store(true, memory_order_seq_cst);  // see Inside::retire()
    Inside::activate(lane);
}

template <typename Rules>
void BasicIngress<Rules>::announce(Lane& lane, std::uint64_t count) noexcept {
    // Sequentially consistent, with the submitter's following look at the lookers, against a worker that
    // takes itself out of the lookers and then calls pending(). Were it a release, the submitter could read
    // `lookers` while this store still waits in its CPU:
    //     submitter: [pushed = 1, not yet visible]  lookers -> 1, somebody looks, no wake-up needed
    //     worker:    lookers = 0                    pushed -> 0, nothing to do, sleeps
    // and the job would wait for ever.
    lane.pushed.store(lane.pushed.load(memory_order_relaxed) + count, memory_order_seq_cst);
}

template <typename Rules>
bool BasicIngress<Rules>::push(Lane& lane, core::Job& job) noexcept {
    if (!put(lane.queue, lane.token, &job)) {
        return false;
    }
    announce(lane, 1);
    return true;
}

template <typename Rules>
bool BasicIngress<Rules>::push_bulk(Lane& lane, core::Job* const* jobs, std::size_t count) noexcept {
    if (count == 0) {
        return true;
    }
    if (!lane.queue.enqueue_bulk(lane.token, jobs, count)) {
        return false;
    }
    announce(lane, count);
    return true;
}

template <typename Rules>
void BasicIngress<Rules>::note_voided(std::uint64_t number) noexcept {
    // Relaxed: published by the count below.
    std::uint64_t largest = inside_->largest_voided.load(memory_order_relaxed);
    while (largest < number && !inside_->largest_voided.compare_exchange_weak(
                                   largest, number, memory_order_relaxed, memory_order_relaxed)) {}
    // Release: partner of the acquire in all_emitted_below(), which then knows a number as large as any that
    // it counts, and what the caller did with the job before.
    inside_->voided.fetch_add(1, memory_order_release);
}

template <typename Rules>
std::size_t BasicIngress<Rules>::drain(core::Job** out, std::size_t max) noexcept {
    return inside_->order.drain(*inside_, out, max);
}

template <typename Rules>
bool BasicIngress<Rules>::pending() const noexcept {
    for (const Group* group = &inside_->groups; group != nullptr;
         group = group->next.load(memory_order_seq_cst)) {
        // Sequentially consistent: partner of activate().
        for (std::uint64_t lanes = group->active.load(memory_order_seq_cst); lanes != 0; lanes &= lanes - 1) {
            const Lane& lane =
                *group->lanes[static_cast<unsigned>(std::countr_zero(lanes))].load(memory_order_relaxed);
            // Sequentially consistent: partner of announce(), where the losing interleaving is told. `emitted`
            // relaxed: see Inside::emitted.
            if (lane.pushed.load(memory_order_seq_cst) != lane.emitted.load(memory_order_relaxed)) {
                return true;
            }
        }
    }
    return false;
}

template <typename Rules>
std::uint64_t BasicIngress<Rules>::next_number() const noexcept {
    return inside_->order.next_number();
}

template <typename Rules>
bool BasicIngress<Rules>::all_emitted_below(std::uint64_t n) const noexcept {
    // Everything that came out is below `end`. If all that was voided is too, the two counts leave out
    // exactly what is missing.
    const std::uint64_t next = inside_->order.next_number();
    const std::uint64_t end = n < next ? next : n;
    // Acquire: partner of note_voided().
    const std::uint64_t voided = inside_->voided.load(memory_order_acquire);
    if (voided != 0 && inside_->largest_voided.load(memory_order_relaxed) >= end) {
        return false;
    }
    return inside_->order.emitted() + voided == end - inside_->first_number;
}

template <typename Rules>
std::size_t BasicIngress<Rules>::lanes() const noexcept {
    return inside_->lanes.load(memory_order_relaxed);
}

}  // namespace sluice::sync
