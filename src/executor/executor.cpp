// The public surface, in terms of the engine.

#include "core/normalise.hpp"
#include "executor/engine.hpp"
#include "platform/cpu_count.hpp"

#include <sluice/executor.hpp>

namespace sluice {

namespace {

detail::Engine* start(const Config& config) {
    try {
        auto effective = core::normalise(config, platform::usable_cpus());
        if (!effective) {
            throw Exception(
                Error({.code = ErrorCode::invalid_argument, .message = effective.error().message()}));
        }
        return detail::Engine::start(*effective);
    } catch (const std::bad_alloc&) {
        throw Exception(Error(
            {.code = ErrorCode::out_of_memory, .message = "no memory for the executor and its threads"}));
    }
}

std::unexpected<Error> refused(Error::Parts parts) noexcept {
    return std::unexpected<Error>(Error(std::move(parts)));
}

Result<void> result_of_end(detail::WaitStatus status) {
    const auto failed = [](ErrorCode code, const char* message) {
        return refused({.code = code, .message = message});
    };
    switch (status) {
        case detail::WaitStatus::done:
            return {};
        case detail::WaitStatus::forked:
            return failed(ErrorCode::forked, "");
        case detail::WaitStatus::timed_out:
            return failed(
                ErrorCode::timed_out,
                "the executor had not ended in time: jobs are running or queued; it can be waited for again");
        default:
            return failed(ErrorCode::would_deadlock,
                          "waiting for the end of an executor needs shutdown() first, and a thread that is "
                          "not its own");
    }
}

}  // namespace

Executor::Executor(const Config& config) : engine_(start(config)) {}

detail::Engine& Executor::engine() const {
    if (moved_from())
        throw Exception(Error({.code = ErrorCode::no_state, .message = "the executor was moved from"}));
    return *engine_.get();
}

Result<Executor> Executor::create(const Config& config) {
    try {
        return Executor(config);
    } catch (const Exception& refused) {
        return Result<Executor>(std::unexpect, refused.error());
    } catch (const std::bad_alloc&) {
        return Result<Executor>(std::unexpect, Error({.code = ErrorCode::out_of_memory}));
    }
}

void Executor::close() noexcept {
    if (engine_.get() != nullptr)
        engine_.get()->close_owner();
}

bool Executor::remove_actor(std::string_view id) {
    return engine().remove(id);
}
std::vector<ActorEntry> Executor::actors() const {
    return engine().actors();
}
Result<void> Executor::shutdown(Shutdown mode) noexcept {
    if (moved_from())
        return refused({.code = ErrorCode::no_state});
    if (mode != Shutdown::drain && mode != Shutdown::cancel) {
        return refused({.code = ErrorCode::invalid_argument,
                        .limit = {"mode", 1, static_cast<std::uint64_t>(mode), "drain or cancel"}});
    }
    engine_.get()->shut_down(mode == Shutdown::cancel);
    return {};
}
Snapshot Executor::snapshot() const {
    return engine().snapshot();
}
std::vector<RunningMutation> Executor::running_mutations() const {
    return engine().running_mutations();
}
const EffectiveConfig& Executor::config() const {
    return engine().config();
}

MutationState Executor::mutation_state(std::string_view actor, std::string_view request_id) const {
    return engine().mutation_state(actor, request_id);
}

Result<ActorSnapshot> Executor::actor_snapshot(std::string_view id) const {
    if (moved_from())
        return refused({.code = ErrorCode::no_state});
    auto cell = detail::find_actor(*engine_.get(), id, nullptr);
    if (!cell)
        return Result<ActorSnapshot>(std::unexpect, std::move(cell).error());
    return engine_.get()->actor_snapshot(*cell->get());
}

Result<void> Executor::wait_ended(std::int64_t patience_ns) const {
    if (moved_from())
        return refused({.code = ErrorCode::no_state});
    return result_of_end(engine_.get()->wait_ended(patience_ns));
}

Result<void> Executor::reserve(std::size_t jobs) {
    if (moved_from())
        return refused({.code = ErrorCode::no_state});
    if (jobs > core::reserve_max) {
        return refused(
            {.code = ErrorCode::invalid_argument, .limit = {"jobs", core::reserve_max, jobs, "0..2^32"}});
    }
    if (engine_.get()->reserve(jobs))
        return {};
    return refused({.code = ErrorCode::out_of_memory, .message = "no memory for more nodes"});
}

Batch::Batch(const Executor& executor) noexcept : engine_(executor.engine_.get()) {
    if (engine_ == nullptr)
        return;
    const auto open = engine_->begin_batch();
    slot_ = open.slot;
    lease_ = open.lease;
}
Batch::~Batch() {
    if (engine_ != nullptr)
        engine_->end_batch({slot_, lease_});
}

}  // namespace sluice
