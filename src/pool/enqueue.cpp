// From the caller to the lane: admitted, filled, queued, called for.

#include "pool/pool.hpp"

#include <functional>
#include <string>
#include <utility>

namespace sluice::detail {

using sync::memory_order_relaxed;
using sync::memory_order_release;

namespace {

/// Never 0, which stands for no id.
std::uint64_t hash_of(std::string_view id) noexcept {
    return id.empty() ? 0 : std::hash<std::string_view>{}(id) | 1U;
}

}  // namespace

// What no state of the pool would admit.
bool Pool::out_of_range(const ItemRequest& request, Error& refusal) {
    const ItemMeta& meta = *request.meta;
    const bool lane = request.lane.index >= limits_.lanes;
    if (!lane && meta.call_id.size() + meta.group_id.size() <= max_name_bytes)
        return false;
    other_refusals_.fetch_add(1, memory_order_relaxed);  // a count
    refusal =
        Error({.code = ErrorCode::invalid_argument,
               .request_id = meta.call_id,
               .message = lane ? "the pool has no such lane" : "call_id and group_id are too long together",
               .limit = lane ? LimitHit{"lanes", limits_.lanes, request.lane.index}
                             : LimitHit{"max_name_bytes", max_name_bytes,
                                        meta.call_id.size() + meta.group_id.size()}});
    return true;
}

PoolSlot* Pool::admit(const ItemRequest& request, Error& refusal) {
    if (out_of_range(request, refusal))
        return nullptr;
    const ItemMeta& meta = *request.meta;
    // A job of the pool that waited for room would be missing where room is made.
    const bool may_wait = request.patience_ns != 0;
    const bool waits = may_wait && !on_own_thread();
    if (waits)
        inside_line_.fetch_add(1);
    core::PoolRecord record;
    std::uint32_t scratch = sync::Ledger::nil;
    PoolSlot* slot = nullptr;
    Verdict verdict = Verdict::closed;
    // A slot is taken only when the item fits (or has to wait), for its scratch record; refusing costs two loads and a copy.
    bool had_scratch = ledger_.change(
        records(), record_words_, record, scratch,
        [&](core::PoolRecord& r) {
            verdict = r.admit(limits_, request.lane.index, meta.bytes);
            return verdict == Verdict::admitted;
        },
        [&] {
            slot = take_slot(request);
            return slot == nullptr ? sync::Ledger::nil : slot->scratch;
        });
    if (slot != nullptr)
        slot->scratch = scratch;
    if (had_scratch && waits && verdict >= Verdict::total) {
        if (slot == nullptr)
            slot = take_slot(request);
        had_scratch = slot != nullptr;
        if (had_scratch) {
            verdict = wait_for_room(*slot, request);
            record = read_record();
        }
    }
    if (had_scratch && verdict == Verdict::admitted) {
        fill(*slot, request);  // as above. NOLINT(clang-analyzer-core.NonNullParamChecker)
    } else {
        if (slot != nullptr) {
            free_payload(*slot);
            slots_.give(*std::exchange(slot, nullptr));
        }
        if (!had_scratch) {
            other_refusals_.fetch_add(1, memory_order_relaxed);  // a count
            refusal = Error({.code = ErrorCode::out_of_memory, .request_id = meta.call_id});
        } else if (may_wait && !waits && verdict >= Verdict::total) {
            other_refusals_.fetch_add(1, memory_order_relaxed);  // a count
            refusal = Error({.code = ErrorCode::would_deadlock,
                             .request_id = meta.call_id,
                             .message = "a job of the pool cannot wait for room in it"});
        } else {
            refusal = refusal_of(request, verdict, record);
        }
    }
    if (waits)
        inside_line_.fetch_sub(1);  // the last touch of a refused one, which may outlive the pool
    return slot;
}

PoolSlot* Pool::take_slot(const ItemRequest& request) noexcept {
    PoolSlot* slot = slots_.take();
    if (slot == nullptr)
        return nullptr;
    slot->payload = slot->inline_payload.data();
    slot->payload_bytes = 0;
    if (request.size <= inline_payload_bytes && request.alignment <= 16)
        return slot;
    try {
        slot->payload = resource_->allocate(request.size, request.alignment);
    } catch (...) {
        slots_.give(*slot);
        return nullptr;
    }
    slot->payload_bytes = request.size;
    slot->payload_alignment = static_cast<std::uint32_t>(request.alignment);
    oversized_.fetch_add(1, memory_order_relaxed);  // a count
    return slot;
}

void Pool::fill(PoolSlot& slot, const ItemRequest& request) noexcept {
    const ItemMeta& meta = *request.meta;
    // relaxed throughout: the release in commit() publishes it. The seat goes before the word can say `queued`.
    slot.seat.store(sync::LaneQueue::no_seat, memory_order_relaxed);
    slot.word.store(core::drafted({slot.word.load(memory_order_relaxed)}).bits, memory_order_relaxed);
    slot.ops = request.ops;
    slot.bytes = meta.bytes;
    slot.lane = request.lane.index;
    slot.call.store(hash_of(meta.call_id), memory_order_relaxed);
    slot.group.store(hash_of(meta.group_id), memory_order_relaxed);
    slot.has_names = !meta.call_id.empty() || !meta.group_id.empty();
    if (slot.has_names)
        slot.names.set(meta.call_id, meta.group_id);
}

// The item is queued, then reachable, then called for: announced before anybody is asked, as sync/lookout.hpp wants it.
void Pool::commit(PoolSlot& slot) noexcept {
    const std::uint32_t lane = slot.lane;
    slot.enqueued_at.store(clock_.now(), memory_order_relaxed);  // as in fill()
    const core::ItemWord word{slot.word.load(memory_order_relaxed)};
    // release: partner of PoolSlot::load() and leave_queue(); whoever finds it queued finds it whole.
    slot.word.store(core::moved_to(word, Phase::queued).bits, memory_order_release);
    auto all = items();
    lanes_[lane]->queue.push(slot.index, all);
    // Dekker with discard_all(): reachable, then this look; there it is announced, then the lanes are looked through.
    if (discarding_.load()) {
        const core::ItemWord seen = slot.load();
        if (seen.queued() && slot.leave_queue(seen, Phase::discarded))
            withdraw(slot, Phase::discarded);
        return;
    }
    call_for(lane);
}

// The closure could not be constructed: what its constructor threw is on its way to the caller.
void Pool::abandon(PoolSlot& slot) noexcept {
    core::PoolRecord record;
    change(slot, record, [&](core::PoolRecord& r) { r.discard(slot.lane, slot.bytes); });
    free_payload(slot);
    free_slot(slot);
    left_queue(record);
    ended();
}

Error Pool::refusal_of(const ItemRequest& request, Verdict verdict, const core::PoolRecord& record) {
    const std::uint32_t lane = request.lane.index;
    lanes_[lane]->refused[static_cast<std::size_t>(verdict)].fetch_add(1, memory_order_relaxed);  // a count
    const std::string& name = config_.lanes[lane].name;
    Error::Parts parts{.code = ErrorCode::queue_full, .request_id = request.meta->call_id};
    switch (verdict) {
        case Verdict::closed:
            parts.code = ErrorCode::shut_down;
            parts.message = "the pool is shut down";
            break;
        case Verdict::never_fits:
            parts.code = ErrorCode::never_fits;
            parts.message = "the item's bytes exceed the whole budget for queued bytes";
            parts.limit = {"bytes", limits_.bytes, request.meta->bytes};
            break;
        case Verdict::total:
            parts.message = "too many items are queued";
            parts.limit = {"total", limits_.total, record.queued_total(limits_)};
            break;
        case Verdict::lane:
            parts.message = "too many items are queued in lane '" + name + "'";
            parts.limit = {"lane", limits_.lane[lane], record.queued(lane)};
            break;
        case Verdict::bytes:
            parts.message = "too many bytes are queued";
            parts.limit = {"bytes", limits_.bytes, record.bytes()};
            break;
        case Verdict::waiters:
            parts.message = "others wait for room in lane '" + name + "' and came first";
            parts.limit = {"waiting", 0, record.waiting(lane)};
            break;
        case Verdict::admitted:
            break;
    }
    return Error(std::move(parts));
}

}  // namespace sluice::detail
