// Registering, finding, listing and removing actors, and the life of their cells (actor_cell.hpp).

#include "executor/engine.hpp"
#include "executor/owned.hpp"

#include <sluice/detail/engine_ref.hpp>

#include <new>
#include <string>
#include <utility>

namespace sluice::detail {

using sync::memory_order_acq_rel;
using sync::memory_order_acquire;
using sync::memory_order_relaxed;
using sync::memory_order_release;

namespace {

constexpr std::uint32_t weight_max = 1000;

[[noreturn]] void refuse(ErrorCode code, std::string_view id, std::string_view message, LimitHit limit = {}) {
    throw Exception(Error({.code = code, .actor = id, .message = std::string(message), .limit = limit}));
}

}  // namespace

ActorCell* Engine::find(std::string_view id) noexcept {
    bool temporary = false;
    const SlotLease lease(*this, temporary);
    if (lease.get() == nullptr)
        return nullptr;
    ActorCell* cell = registry_.find(id, lease.get()->reading);
    if (temporary)
        SlotLease::give_up(lease.get());
    return cell;
}

ActorCell* Engine::make_cell(std::string_view id, const ContextType& type, std::uint32_t weight) {
    ActorCell* cell = registry_.make_cell();
    try {
        cell->id = id;
        cell->context = resource_->allocate(type.size, type.alignment);
    } catch (...) {
        registry_.recycle(cell);
        throw;
    }
    static_cast<core::Actor&>(*cell) = {};
    cell->weight = static_cast<std::uint16_t>(weight);
    cell->type = &type;
    cell->engine = this;
    cell->cause = nullptr;
    cell->context_refs.store(1, memory_order_relaxed);  // the scheduler's; published with the cell
    cell->queued.store(0, memory_order_relaxed);        // likewise, and the next two
    cell->seen_accepted.store(0, memory_order_relaxed);
    cell->seen_ended.store(0, memory_order_relaxed);
    retain();
    return cell;
}

// The cell gets three references: of the registry, of the scheduler, and of the handle that is returned.
ActorCell* Engine::insert(ActorCell* cell) {
    ActorCell* existing = registry_.insert(cell, 3);
    registry_.reclaim([this] {
        // seq_cst: see registry.hpp.
        for (ThreadSlot* slot = slots_.load(); slot != nullptr; slot = slot->next) {
            if (slot->reading.load())
                return false;
        }
        return !owned_reading();
    });
    return existing;
}

void Engine::discard(ActorCell* cell) noexcept {
    if (cell->context != nullptr)
        resource_->deallocate(cell->context, cell->type->size, cell->type->alignment);
    cell->context = nullptr;
    registry_.recycle(cell);
    release();
}

bool Engine::remove(std::string_view id) noexcept {
    if (forked())
        return false;  // its lock may have been taken, in the parent
    ActorCell* cell = registry_.remove(id);
    if (cell == nullptr)
        return false;
    request(*cell);   // the scheduler has a reference until it has served this
    drop_ref(*cell);  // the registry's
    return true;
}

// Pushes a cell for the role holder: to be removed, or (the second time) to be used again.
void Engine::request(ActorCell& cell) noexcept {
    retain();  // the cell was this thread's reason to rely on the engine, and is somebody else's in a moment
    cell.link = requests_.load(memory_order_relaxed);  // only linked to
    while (!requests_.compare_exchange_weak(cell.link,
                                            &cell)) {  // seq_cst: before this thread looks for lookers
    }
    if (dead_.load()) {  // seq_cst: nobody takes turns any more, or sees this request while it still does
        bury_requests();
    } else {
        make_somebody_look();
    }
    release();
}

void Engine::drop_ref(ActorCell& cell) noexcept {
    // acq_rel: what any holder did comes before what the last one does.
    if (cell.refs.fetch_sub(1, memory_order_acq_rel) != 1)
        return;
    cell.cause = nullptr;  // refusals read it as long as they hold a reference
    retire(cell);
}

// Nobody refers to it any more.
void Engine::retire(ActorCell& cell) noexcept {
    cell.retired_at = admission_.taken() + 1;
    request(cell);
}

// Role holder: as drop_ref(), but nothing of the user's goes. The first cause of a fatal actor stays until the cell is used
// again, or the engine ends.
void Engine::drop_ref_inside_turn(ActorCell& cell) noexcept {
    if (cell.refs.fetch_sub(1, memory_order_acq_rel) == 1)  // as in drop_ref()
        retire(cell);
}

bool Engine::owned_reading() const noexcept {
    return owned_->reading.load();
}

void Engine::make_fatal(ActorCell& cell, std::exception_ptr cause) noexcept {
    cell.cause = std::move(cause);  // sole writer: an exclusive step
    ActorPhase alive = ActorPhase::alive;
    // release: pairs with the acquire in Engine::draft(). A removed actor stays removed.
    cell.phase.compare_exchange_strong(alive, ActorPhase::fatal, memory_order_release, memory_order_relaxed);
}

void Engine::recycle(ActorCell& cell) noexcept {
    registry_.recycle(&cell);
    release();
}

// After the last turn: cells whose last reference goes now are not needed again. One that still has references is a
// removal: the scheduler lets go of its actor.
void Engine::bury_requests() noexcept {
    for (ActorCell* next = requests_.exchange(nullptr); next != nullptr;) {
        ActorCell& cell = *std::exchange(next, next->link);
        if (cell.refs.load(memory_order_acquire) ==
            0) {  // pairs with drop_ref(); nobody can take one any more
            recycle(cell);
        } else {
            bury(cell);
        }
    }
}

void Engine::bury(ActorCell& cell) noexcept {
    drop_context(cell);
    drop_ref(cell);
}

void Engine::drop_context(ActorCell& cell) noexcept {
    // acq_rel: what any holder did with the context comes before its end.
    if (cell.context_refs.fetch_sub(1, memory_order_acq_rel) != 1)
        return;
    void* context = std::exchange(cell.context, nullptr);
    cell.type->destroy(context);
    resource_->deallocate(context, cell.type->size, cell.type->alignment);
}

std::vector<ActorEntry> Engine::actors() {
    std::vector<ActorCell*> cells;  // references are taken inside the table, entries made outside of it
    cells.reserve(registry_.size() + 16);
    bool temporary = false;
    const SlotLease lease(*this, temporary);
    if (lease.get() == nullptr)
        throw std::bad_alloc();
    registry_.for_each(lease.get()->reading, [&](ActorCell* cell) { cells.push_back(cell); });
    if (temporary)
        SlotLease::give_up(lease.get());
    std::vector<ActorEntry> entries;
    entries.reserve(cells.size());
    for (ActorCell* cell : cells) {
        ActorRef ref(cell);
        // A removed actor's context may be on its way out: take a reference only while there is one.
        std::uint32_t refs = cell->context_refs.load(memory_order_relaxed);  // the CAS decides
        while (refs != 0 && !cell->context_refs.compare_exchange_weak(refs, refs + 1, memory_order_acquire,
                                                                      memory_order_relaxed)) {}
        if (refs != 0 && ref.registered()) {
            entries.emplace_back(ContextRef(std::move(ref)));
        } else if (refs != 0) {
            drop_context(*cell);
        }
    }
    return entries;
}

// Handles.

std::string_view ActorRef::id() const noexcept {
    return cell_ == nullptr ? std::string_view{} : cell_->id;
}
bool ActorRef::registered() const noexcept {
    return cell_ != nullptr &&
           cell_->phase.load(memory_order_acquire) != ActorPhase::removed;  // pairs with remove()
}
bool ActorRef::fatal() const noexcept {
    return cell_ != nullptr &&
           cell_->phase.load(memory_order_acquire) == ActorPhase::fatal;  // pairs with make_fatal()
}
void ActorRef::retain() noexcept {
    if (cell_ != nullptr)
        cell_->refs.fetch_add(1, memory_order_relaxed);  // from a reference that is held
}
void ActorRef::release() noexcept {
    cell_->engine->drop_ref(*cell_);
}

ContextRef::ContextRef(const ContextRef& other) noexcept : cell_(other.cell_) {
    if (cell_)
        cell_.get()->context_refs.fetch_add(1, memory_order_relaxed);  // from a reference that is held
}
ContextRef::~ContextRef() {
    if (cell_)
        cell_.get()->engine->drop_context(*cell_.get());
}
const void* ContextRef::context(TypeId type) const noexcept {
    return cell_ && cell_.get()->type->type == type ? cell_.get()->context : nullptr;
}

EngineRef::EngineRef(const EngineRef& other) noexcept : engine_(other.engine_) {
    if (engine_ != nullptr)
        engine_->retain();
}
EngineRef::~EngineRef() {
    if (engine_ != nullptr)
        engine_->release();
}

namespace {

void check_type(const ActorCell& cell, TypeId type) {
    if (cell.type->type == type)
        return;
    refuse(ErrorCode::context_type_mismatch, cell.id, {});
}

}  // namespace

Registration::Registration(Engine& engine, std::string_view id, const ContextType& type, std::uint32_t weight)
    : engine_(engine), type_(type) {
    if (weight == 0 || weight > weight_max) {
        refuse(ErrorCode::invalid_argument, id, {}, {"weight", weight_max, weight, "1..1000"});
    }
    if (engine.forked())
        refuse(ErrorCode::forked, id, {});
    if (engine.closed())
        refuse(ErrorCode::shut_down, id, {});
    existing_ = ActorRef(engine.find(id));
    if (existing_) {
        check_type(*existing_.get(), type.type);
        return;
    }
    try {
        fresh_ = engine.make_cell(id, type, weight);
    } catch (const std::bad_alloc&) {
        refuse(ErrorCode::out_of_memory, id, {});
    }
}

void* Registration::storage() const noexcept {
    return fresh_->context;
}

Registration::~Registration() {
    if (fresh_ != nullptr)
        engine_.discard(fresh_);  // the context's constructor threw, or commit() did
}

ActorRef Registration::commit(bool& inserted) {
    inserted = false;
    if (fresh_ == nullptr)
        return std::move(existing_);
    ActorCell* existing = nullptr;
    try {
        existing = engine_.insert(fresh_);
    } catch (const std::bad_alloc&) {
        type_.destroy(fresh_->context);
        refuse(ErrorCode::out_of_memory, fresh_->id, {});
    }
    if (existing == nullptr) {
        inserted = true;
        return ActorRef(std::exchange(fresh_, nullptr));
    }
    ActorRef ref(existing);  // another thread was faster
    type_.destroy(fresh_->context);
    check_type(*existing, type_.type);
    return ref;
}

Result<ActorRef> find_actor(Engine& engine, std::string_view id, TypeId type) {
    ActorRef ref(engine.find(id));
    if (!ref)
        return Result<ActorRef>(std::unexpect, Error({.code = ErrorCode::actor_not_registered, .actor = id}));
    if (type != nullptr && ref.get()->type->type != type) {
        return Result<ActorRef>(std::unexpect,
                                Error({.code = ErrorCode::context_type_mismatch, .actor = id}));
    }
    return ref;
}

Result<ActorRef> find_actor_for_job(Engine& engine, std::string_view id, TypeId type, Lane lane, bool reads,
                                    const JobOptions& options) {
    Error::Parts parts{.actor = id, .request_id = options.request_id};
    ActorRef ref(engine.find(id));
    if (static_cast<unsigned>(lane) >= lane_count) {
        parts.code = ErrorCode::invalid_argument;
        parts.limit = {"lane", lane_count - 1, static_cast<std::uint64_t>(lane),
                       "pure_read, serial_status, heavy_init or mutating"};
    } else if (!ref) {
        parts.code = engine.closed() ? ErrorCode::shut_down : ErrorCode::actor_not_registered;
    } else if (ref.get()->type->type != type) {
        parts.code = ErrorCode::context_type_mismatch;
    } else if (!reads && lane != Lane::mutating) {
        parts.code = ErrorCode::lane_mismatch;
        parts.message = "a job that changes its context cannot run in the lane ";
        parts.message.append(to_string(lane)).append(", which only reads; use mutating");
    } else {
        return ref;
    }
    engine.count_refusal(parts.code);
    return Result<ActorRef>(std::unexpect, Error(std::move(parts)));
}

}  // namespace sluice::detail
