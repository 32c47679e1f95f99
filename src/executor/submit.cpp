// The submitter's side: number a job, put it into the thread's own lane, make sure that somebody looks.

#include "core/words/batch_word.hpp"
#include "executor/engine.hpp"
#include "executor/stop_watch.hpp"
#include "platform/clock.hpp"

#include <sluice/detail/submission.hpp>

#include <chrono>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace sluice::detail {

namespace batch_word = core::batch_word;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

namespace {

Refusal refusal_of(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::queue_full:
            return Refusal::queue_full;
        case ErrorCode::actor_not_registered:
            return Refusal::actor_not_registered;
        case ErrorCode::actor_fatal:
            return Refusal::actor_fatal;
        case ErrorCode::shut_down:
            return Refusal::shut_down;
        default:
            return Refusal::other;
    }
}

/// What a snapshot reads of a job's actor, lane and class in one word.
std::uintptr_t observed(const ActorCell& cell, Lane lane, JobClass job_class) noexcept {
    return reinterpret_cast<std::uintptr_t>(&cell) | static_cast<std::uintptr_t>(lane) |
           static_cast<std::uintptr_t>(job_class) << 2U;
}

/// Steady time as the platform's clock counts it; `never` for what it cannot say.
std::int64_t nanoseconds_of(std::chrono::steady_clock::time_point time) noexcept {
    using std::chrono::nanoseconds;
    static_assert(std::is_same_v<std::chrono::steady_clock::duration, nanoseconds>);
    return time.time_since_epoch().count();
}

/// The first option that is outside its range; unnamed: none is.
LimitHit wrong_argument(const JobOptions& options) noexcept {
    const std::size_t names = options.request_id.size() + options.label.size();
    if (names > max_name_bytes)
        return {"the size of request_id and label together", max_name_bytes, names, "0..94"};
    if (options.cost == 0 || options.cost > core::max_job_cost)
        return {"cost", core::max_job_cost, options.cost, "1..65536"};
    if (static_cast<unsigned>(options.job_class) >= job_class_count) {
        return {"job_class", job_class_count - 1, static_cast<std::uint64_t>(options.job_class),
                "interactive or maintenance"};
    }
    return {};
}
static_assert(max_name_bytes == 94 && core::max_job_cost == 65'536, "as the ranges above say");

/// Takes one place under the actor's own limit (E23), or leaves in `queued` the count that met it. **Progress**: lock-free.
bool take_place(ActorCell& cell, std::uint64_t limit, std::uint32_t& queued) noexcept {
    queued = cell.queued.load(memory_order_relaxed);  // a count; the CAS keeps it exact
    do {
        if (queued >= limit)
            return false;
    } while (!cell.queued.compare_exchange_weak(queued, queued + 1, memory_order_relaxed));
    return true;
}

}  // namespace

Engine::Refused Engine::draft(ActorCell& cell, const Request& request, ThreadSlot& slot,
                              JobNode*& node) noexcept {
    if (forked())
        return {ErrorCode::forked, {}};
    const JobOptions& options = *request.options;
    if (const LimitHit wrong = wrong_argument(options); !wrong.name.empty())
        return {ErrorCode::invalid_argument, wrong};
    if (options.stop.stop_requested())
        return {ErrorCode::cancelled, {}};
    const std::int64_t deadline = nanoseconds_of(options.deadline);
    if (deadline != core::Deadlines::never && deadline <= platform::now_ns())
        return {ErrorCode::deadline_exceeded, {}};
    // acquire: pairs with the releases of removal and make_fatal(); who saw a job fail sees its actor fatal (E17).
    switch (cell.phase.load(memory_order_acquire)) {
        case ActorPhase::alive:
            break;
        case ActorPhase::fatal:
            return {ErrorCode::actor_fatal, {}};
        case ActorPhase::removed:
            return {closed() ? ErrorCode::shut_down : ErrorCode::actor_not_registered, {}};
    }

    // From here to the number only pointers are handled: the nodes themselves may be gone already if the executor is being
    // destroyed on another thread. An accepted number keeps everything alive until its job has ended. And all that may be
    // missing is there before the number: what follows it cannot fail.
    DraftParts parts;
    if (const Refused missing = gather(request, slot, parts); missing.code != ErrorCode{})
        return missing;
    const std::uint64_t actor_limit = config_.max_queued_per_actor;
    std::uint32_t queued = 0;
    if (actor_limit != EffectiveConfig::no_limit && !take_place(cell, actor_limit, queued)) {
        give_up(parts, request, slot);
        return {ErrorCode::queue_full, {"max_queued_per_actor", actor_limit, queued}};
    }
    const auto answer = admission_.take([this] { return jobs_that_left_the_queue(); });
    if (answer.verdict != Admission::Verdict::accepted) {
        if (actor_limit != EffectiveConfig::no_limit)
            cell.queued.fetch_sub(1, memory_order_relaxed);  // a count
        give_up(parts, request, slot);
        if (answer.verdict == Admission::Verdict::closed)
            return {ErrorCode::shut_down, {}};
        return {ErrorCode::queue_full, {"max_queued", admission_.limit(), answer.number}};
    }
    if (request.lane == Lane::heavy_init)
        cell.heavy_queued.fetch_add(1);
    bump(slot.accepted[index_of(options.job_class)]);

    JobNode* fresh = parts.node;
    const bool timed = deadline != core::Deadlines::never;
    const bool inside = parts.block == nullptr;
    // relaxed: the node is ours alone. Its word changes for observers only.
    fresh->state.store(core::job_word::draft(fresh->state.load(memory_order_relaxed)), memory_order_relaxed);
    if (fresh->number == 0)
        fresh->engine = this;
    fresh->actor = &cell;
    fresh->number = answer.number;
    // The bits of one word, and then those of the other, with no look at them in between.
    fresh->cost = options.cost & 0xF'FFFF;
    fresh->timed = timed;
    fresh->withdrawable = timed || parts.carrier != nullptr;
    fresh->lane = request.lane;
    fresh->job_class = options.job_class;
    fresh->step = request.lane == Lane::heavy_init ? core::Step::build : core::Step::whole;
    fresh->queued = false;
    fresh->fail = core::FailReason::none;
    fresh->ops = request.ops;
    fresh->outcome = {};
    fresh->has_handle = request.wants_handle;
    fresh->built = false;
    fresh->payload = inside ? fresh->inline_payload.data() : parts.block;
    fresh->inline_used = inside ? static_cast<std::uint32_t>(request.size) : 0;
    if (timed)
        fresh->timer.deadline = deadline;
    if (parts.carrier != nullptr)
        fresh->watch = make_stop_watch(*fresh, *parts.carrier);
    // release: pairs with the acquires in see() (snapshot.cpp). An observer that reads one of these finds at its second look that
    // `state` is another life's.
    fresh->who.store(observed(cell, request.lane, options.job_class), memory_order_release);
    fresh->enqueued_at.store(0, memory_order_release);  // as above: not drained yet
    if (fresh->has_names || !options.request_id.empty() || !options.label.empty()) {
        fresh->names.set(options.request_id, options.label);
        fresh->has_names = !options.request_id.empty() || !options.label.empty();
    }
    if (!inside) {
        fresh->payload_bytes = request.size;
        fresh->payload_alignment = static_cast<std::uint32_t>(request.alignment);
        bump(slot.oversized);
    }
    node = fresh;
    return {};
}

Engine::Refused Engine::gather(const Request& request, ThreadSlot& slot, DraftParts& parts) noexcept {
    parts.node = pool_.take(slot.nodes);
    if (parts.node == nullptr)
        return no_node();
    if (request.options->stop.stop_possible()) {
        parts.carrier = pool_.take(slot.nodes);
        if (parts.carrier == nullptr) {
            give_up(parts, request, slot);
            return no_node();
        }
    }
    if (request.size > inline_payload_bytes || request.alignment > alignof(std::max_align_t)) {
        parts.block = allocate_payload(request.size, request.alignment);
        if (parts.block == nullptr) {
            give_up(parts, request, slot);
            return {closed() ? ErrorCode::shut_down : ErrorCode::out_of_memory, {}};
        }
    }
    return {};
}

void Engine::give_up(const DraftParts& parts, const Request& request, ThreadSlot& slot) noexcept {
    if (parts.block != nullptr)
        free_block(parts.block, request.size, request.alignment);
    if (parts.carrier != nullptr)
        pool_.give(slot.nodes, parts.carrier);
    pool_.give(slot.nodes, parts.node);
}

Engine::Refused Engine::no_node() const noexcept {
    if (closed())
        return {ErrorCode::shut_down, {}};
    if (!config_.fixed_capacity)
        return {ErrorCode::out_of_memory, {}};
    const std::uint64_t nodes = pool_.allocated();  // each of them is in use, or in another thread's cache
    return {ErrorCode::queue_full, {"fixed_capacity", nodes, nodes}};
}

void Engine::count_refusal(ErrorCode code) noexcept {
    bool temporary = false;
    ThreadSlot* slot = SlotLease(*this, temporary).get();
    if (slot != nullptr)
        bump(slot->refused[static_cast<std::size_t>(refusal_of(code))]);
    if (temporary)
        SlotLease::give_up(slot);
}

void* Engine::allocate_payload(std::size_t size, std::size_t alignment) noexcept {
    try {
        return resource_->allocate(size, alignment);
    } catch (...) {
        return nullptr;
    }
}

void Engine::publish(JobNode& node, ThreadSlot& slot) noexcept {
    // release: pairs with the acquires of observers, for whom the node is a queued job from here on. The job's own way
    // is published by the ingress.
    if (!node.withdrawable || node.watch == nullptr) {
        node.state.store(core::job_word::queue(node.state.load(memory_order_relaxed)), memory_order_release);
    } else {
        node.state.fetch_add(core::job_word::queued_step,
                             memory_order_release);  // a requester may write, too
    }
    if (!sync::Ingress::push(*slot.lane, node))
        add_stray(node);
    if (batch_word::open(slot.batches.load(memory_order_relaxed)) != 0) {  // usually this thread's own
        slot.batch_wants_wake.store(true);  // seq_cst: before the second look, see thread_slot.hpp
        if (batch_word::open(slot.batches.load()) != 0)
            return;
    }
    make_somebody_look();
}

// The queue has no memory for one more pointer. The job ends without running, but not here: nothing of the caller's is
// destroyed inside a submission (E5). The role holder fails it.
void Engine::add_stray(JobNode& node) noexcept {
    core::Job* top = strays_.load(memory_order_relaxed);  // only linked to
    do {
        node.next = top;
    } while (!strays_.compare_exchange_weak(
        top, &node));  // seq_cst: published before the caller looks for lookers
}

void Engine::abandon(JobNode& node, ThreadSlot& slot) noexcept {
    node.ops = nullptr;  // the number arrives without a job
    free_stop_watch(node, slot);
    node.withdrawable = false;
    node.has_handle = false;
    publish(node, slot);
}

// Keeps "somebody looks". The push was published by a seq_cst store in Ingress::push; now the looks of others are read.
// A looker that stops being one decrements first and looks at the ingress afterwards. So either it sees the push, or the
// decrement is seen here.
void Engine::make_somebody_look() noexcept {
    if (!workers_take_turns()) {
        home_.look_now();
    } else if (workers_.wake_one() != sync::Wake::woke) {
        home_
            .watch();  // whoever looks may be inside a job, or all are: then nobody can run it, but somebody has to drain it
    }
}

// Keeps "somebody looks" late: what a batch has pushed is looked after when it ends, or its thread does.
Engine::OpenBatch Engine::begin_batch() noexcept {
    retain();  // the engine, and so the slot, stay until end_batch()
    bool temporary = false;
    ThreadSlot* slot = SlotLease(*this, temporary).get();
    if (temporary) {
        SlotLease::give_up(slot);  // a thread in its last moments: its submissions wake as ever
        return {};
    }
    if (slot == nullptr)
        return {};
    // relaxed: this thread's own submissions look at it. Others' closing is read-modify-writes as well.
    return {slot, batch_word::lease(slot->batches.fetch_add(batch_word::one_batch, memory_order_relaxed))};
}

// On any thread, also after the lease that it was opened on has ended.
void Engine::end_batch(const OpenBatch& batch) noexcept {
    if (batch.slot != nullptr && !forked()) {
        std::uint64_t word = batch.slot->batches.load();
        while (!batch.slot->batches.compare_exchange_weak(word, batch_word::closed(word, batch.lease))) {}
        if (batch_word::lease(word) == batch.lease && batch_word::open(word) <= 1)
            wake_for_batches(*batch.slot);  // seq_cst: after the word, see thread_slot.hpp
    }
    release();
}

void Engine::end_batches(ThreadSlot& slot) noexcept {
    std::uint64_t word = slot.batches.load();
    while (batch_word::open(word) != 0 &&
           !slot.batches.compare_exchange_weak(word, batch_word::next_lease(word))) {}
    wake_for_batches(slot);
}

void Engine::wake_for_batches(ThreadSlot& slot) noexcept {
    // The load spares a write to who has nothing to make up for. seq_cst both: see thread_slot.hpp.
    if (slot.batch_wants_wake.load() && slot.batch_wants_wake.exchange(false))
        make_somebody_look();
}

Draft::Draft(ActorCell* cell, const Request& request) : cell_(cell), options_(request.options) {
    if (cell == nullptr) {
        code_ = ErrorCode::actor_not_registered;
        return;
    }
    Engine& engine = *cell->engine;
    const SlotLease lease(engine, temporary_slot_);
    if (lease.get() == nullptr) {
        code_ = engine.closed() ? ErrorCode::shut_down : ErrorCode::out_of_memory;
        return;
    }
    slot_ = lease.get();
    const auto refused = engine.draft(*cell, request, *slot_, node_);
    if (node_ != nullptr) {
        payload_ = node_->payload;
    } else {
        code_ = refused.code;
        limit_ = refused.limit;
        bump(slot_->refused[static_cast<std::size_t>(refusal_of(code_))]);
    }
}

Draft::~Draft() {
    if (node_ != nullptr)
        cell_->engine->abandon(*node_, *slot_);  // the closure's constructor threw
    if (temporary_slot_)
        SlotLease::give_up(slot_);
}

JobHandle Draft::commit() noexcept {
    JobNode* node = std::exchange(node_, nullptr);
    const bool wants_handle = node->has_handle;  // read before the push: afterwards the node may be gone
    if (node->withdrawable && node->watch != nullptr)
        node->watch->watch(options_->stop);
    node->engine->publish(*node, *slot_);
    return JobHandle(wants_handle ? node : nullptr);
}

Error Draft::refusal() const {
    return Error(
        {.code = code_,
         .actor = cell_ == nullptr ? std::string_view{} : std::string_view(cell_->id),
         .request_id = options_->request_id,
         .limit = limit_,
         // Seen with the phase in draft(), and kept while anybody refers to the cell. There is no cell only
         // where there is no actor. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
         .exception = code_ == ErrorCode::actor_fatal ? cell_->cause : nullptr});
}

}  // namespace sluice::detail
