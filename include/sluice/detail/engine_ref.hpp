// The untyped half of Executor: a counted reference to the compiled engine, and a registration in two calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <sluice/detail/actor_ref.hpp>
#include <sluice/detail/export.hpp>
#include <sluice/error.hpp>
#include <sluice/job.hpp>

namespace sluice::detail {

class Engine;  // src/executor

/// Owns one reference to an engine. Not the owner's role: see Executor for that.
class SLUICE_API EngineRef {
public:
    EngineRef() noexcept = default;
    /// Takes over a reference that was counted already.
    explicit EngineRef(Engine* counted) noexcept : engine_(counted) {}
    EngineRef(const EngineRef& other) noexcept;
    EngineRef(EngineRef&& other) noexcept : engine_(std::exchange(other.engine_, nullptr)) {}
    EngineRef& operator=(EngineRef other) noexcept {
        std::swap(engine_, other.engine_);
        return *this;
    }
    ~EngineRef();

    [[nodiscard]] Engine* get() const noexcept {
        return engine_;
    }

private:
    Engine* engine_ = nullptr;
};

/// What the engine needs to know of a context's type.
struct ContextType {
    TypeId type;
    std::size_t size;
    std::size_t alignment;
    void (*destroy)(void* context) noexcept;
};

template <class Context>
inline constexpr ContextType context_type{
    type_id<Context>(), sizeof(Context), alignof(Context),
    [](void* context) noexcept { static_cast<Context*>(context)->~Context(); }};

/// A registration between its two calls: the id is free, the context not yet constructed.
class SLUICE_API Registration {
public:
    /// Throws Exception as Executor::add_actor says.
    Registration(Engine& engine, std::string_view id, const ContextType& type, std::uint32_t weight);
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;
    ~Registration();

    /// Whether the id was registered already; then nothing is to be constructed.
    [[nodiscard]] bool exists() const noexcept {
        return fresh_ == nullptr;
    }
    /// Where the context is to be constructed.
    [[nodiscard]] void* storage() const noexcept;
    /// Publishes the actor; when another thread was faster, the constructed context is destroyed instead.
    [[nodiscard]] ActorRef commit(bool& inserted);

private:
    Engine& engine_;
    const ContextType& type_;
    ActorRef existing_;
    ActorCell* fresh_ = nullptr;
};

/// Looks an actor up. Errors: `actor_not_registered`, `context_type_mismatch` (when a type is given).
[[nodiscard]] SLUICE_API Result<ActorRef> find_actor(Engine& engine, std::string_view id, TypeId type);

/// As above for a job, which is refused in a lane that only reads unless it `reads`. A refusal names the request, and
/// is counted. Errors: those above, `lane_mismatch`, `invalid_argument` for what is no lane, and `shut_down` instead of
/// `actor_not_registered`.
[[nodiscard]] SLUICE_API Result<ActorRef> find_actor_for_job(Engine& engine, std::string_view id, TypeId type,
                                                             Lane lane, bool reads,
                                                             const JobOptions& options);

}  // namespace sluice::detail
