// What an observer sees, without waiting for anybody.
//
// The record of what is admitted is read whole, and with it everything but what runs: accepted, queued, cancelled,
// discarded, thrown. Of what was taken and did not throw the workers say how much has run; they are asked after the
// record, and their sum is cut at what the record says was taken, for they may have gone on. So the totals balance (P16),
// no count ever goes down, and never more run than there are workers.

#include "pool/pool.hpp"

#include <algorithm>

namespace sluice::detail {

using sync::memory_order_acquire;
using sync::memory_order_relaxed;

PoolSnapshot Pool::snapshot() {
    PoolSnapshot result;
    const core::PoolRecord record = read_record();
    PoolTotals& totals = result.items;
    totals.queued = record.queued_total(limits_);
    totals.thrown = record.thrown();
    totals.cancelled = record.cancelled();
    totals.discarded = record.discarded();
    result.queued_bytes = record.bytes();
    for (std::uint32_t k = 0; k < limits_.kinds; ++k) {
        std::uint64_t ran = 0;
        for (const auto& worker : workers_) {
            if (worker->kind() == k)
                ran += worker->ran.load(memory_order_acquire);  // pairs with the release in PoolWorker::run()
        }
        // Modulo 2^32, as the record counts: negative if the workers have gone on.
        const auto ahead =
            static_cast<std::int32_t>(record.taken(limits_, k) - static_cast<std::uint32_t>(ran));
        WorkerKindSnapshot kind;
        kind.name = config_.kinds[k].name;
        kind.workers = config_.kinds[k].workers;
        kind.running = static_cast<std::uint64_t>(std::max(ahead, 0));
        if (kinds_[k] != nullptr) {
            kind.parked = kinds_[k]->lookout.parked();
            result.wakeups += kinds_[k]->lookout.wakes();
        }
        totals.running += kind.running;
        totals.ran += ran - static_cast<std::uint64_t>(-std::min<std::int64_t>(ahead, 0));
        result.kinds.push_back(std::move(kind));
    }
    totals.accepted =
        totals.queued + totals.running + totals.ran + totals.thrown + totals.cancelled + totals.discarded;
    result.refused.other = other_refusals_.load(memory_order_relaxed);  // a count
    const std::int64_t now = clock_.now();
    auto all = items();
    for (std::uint32_t i = 0; i < limits_.lanes; ++i) {
        Lane& lane = *lanes_[i];
        PoolLaneSnapshot seen;
        seen.name = config_.lanes[i].name;
        seen.queued = record.queued(i);
        seen.waiting = record.waiting(i);
        seen.limit = limits_.lane[i];
        const auto count = [&](Verdict verdict) {
            return lane.refused[static_cast<std::size_t>(verdict)].load(memory_order_relaxed);  // counts
        };
        seen.refused = {count(Verdict::total),
                        count(Verdict::lane),
                        count(Verdict::bytes),
                        count(Verdict::never_fits),
                        count(Verdict::waiters),
                        count(Verdict::closed),
                        0};
        result.refused.total += seen.refused.total;
        result.refused.lane += seen.refused.lane;
        result.refused.bytes += seen.refused.bytes;
        result.refused.never_fits += seen.refused.never_fits;
        result.refused.waiters += seen.refused.waiters;
        result.refused.shut_down += seen.refused.shut_down;
        if (seen.queued != 0) {
            const auto oldest = lane.queue.peek(all);
            // relaxed: a time. Admitted and not reachable yet, or gone meanwhile: as old as now.
            const std::int64_t since = oldest ? slots_[*oldest].enqueued_at.load(memory_order_relaxed) : now;
            seen.oldest_age = std::chrono::nanoseconds(std::max<std::int64_t>(0, now - since));
        }
        result.compactions += lane.queue.epoch();
        result.lanes.push_back(std::move(seen));
    }
    result.oversized = oversized_.load(memory_order_relaxed);              // a count
    result.callbacks_threw = callbacks_threw_.load(memory_order_relaxed);  // a count
    result.slots = slots_.size();
    return result;
}

}  // namespace sluice::detail
