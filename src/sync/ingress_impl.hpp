#pragma once

// The inside of sync/ingress.hpp, whose comment says the roles and words. In a header of its own so that a
// test can compile the same code with other rules; the library includes it once, in ingress.cpp.

#include <cassert>
#include <new>

#include "core/ingress_order.hpp"
#include "core/job.hpp"
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

template <typename Rules>
class BasicIngress<Rules>::Lane : public core::StagedLane<Lane, core::Job, 32> {
public:
    using Queue = moodycamel::ConcurrentQueue<core::Job*, IngressTraits>;

    explicit Lane(Queue& inside) : queue(inside), token(inside) {}

    Queue& queue;
    moodycamel::ProducerToken token;
    Lane* older = nullptr;                                // immutable once the lane is in the list
    std::uint64_t taken = 0;                              // the consumer's: jobs taken out of the queue
    atomic<std::uint64_t> emitted{0};                     // the consumer's, as is all of StagedLane
    alignas(cache_line) atomic<std::uint64_t> pushed{0};  // the submitter's
};

template <typename Rules>
struct BasicIngress<Rules>::Inside {
    using Lane = BasicIngress::Lane;
    using Queue = Lane::Queue;

    Inside(std::pmr::memory_resource& resource, std::uint64_t first)
        : memory(resource), queue(0), first_number(first), order(first) {}

    // What IngressOrder asks for.
    [[nodiscard]] Lane* first() noexcept {
        // Acquire: partner of add_lane's CAS. A lane whose job happened before a job that was seen is in the
        // list that this load sees.
        return newest.load(memory_order_acquire);
    }
    [[nodiscard]] static Lane* after(Lane& lane) noexcept {
        return lane.older;
    }
    [[nodiscard]] static std::size_t take(Lane& lane, core::Job** out, std::size_t max) noexcept {
        // Acquire: partner of the store in announce(); the jobs that it announces are in the queue and in
        // memory. Nothing stronger is needed for the order: a job that happened before a job that was taken
        // was announced before it, so coherence shows it here.
        const std::uint64_t announced = lane.pushed.load(memory_order_acquire) - lane.taken;
        if (announced == 0) {
            return 0;
        }
        const std::size_t wanted = announced < max ? static_cast<std::size_t>(announced) : max;
        const std::size_t got = lane.queue.try_dequeue_bulk_from_producer(lane.token, out, wanted);
        assert(got == wanted);
        lane.taken += got;
        return got;
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
    alignas(cache_line) atomic<Lane*> newest{nullptr};
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
    // The tokens go before the queue that they point into.
    for (Lane* lane = inside_->newest.load(memory_order_relaxed); lane != nullptr;) {
        Lane* const older = lane->older;
        allocator.delete_object(lane);
        lane = older;
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
    lane->older = inside_->newest.load(memory_order_relaxed);
    // Release for the loads of `newest`, and sequentially consistent for the one in pending(), as announce()
    // is and for the same reason: who misses a new lane misses its jobs. Relaxed on failure: only the value
    // is used.
    while (!inside_->newest.compare_exchange_weak(lane->older, lane, memory_order_seq_cst,
                                                  memory_order_relaxed)) {}
    inside_->lanes.fetch_add(1, memory_order_relaxed);
    return lane;
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
    // Sequentially consistent: partner of add_lane's CAS.
    for (const Lane* lane = inside_->newest.load(memory_order_seq_cst); lane != nullptr; lane = lane->older) {
        // Sequentially consistent: partner of announce(), where the losing interleaving is told. `emitted`
        // relaxed: see Inside::emitted.
        if (lane->pushed.load(memory_order_seq_cst) != lane->emitted.load(memory_order_relaxed)) {
            return true;
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
