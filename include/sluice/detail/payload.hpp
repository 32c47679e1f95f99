// What a job keeps in its node: the closure, and the result beside it. One payload type per closure type; the
// engine sees only the table of functions.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <variant>

namespace sluice::detail {

/// What the engine asks of a payload. The closure is destroyed before the job completes, so that whatever it
/// captured is free again when a waiter wakes; the result when the last of engine and handle lets go.
struct JobOps {
    /// Runs the job, or its build step. May throw: then there is no result, and no artifact.
    void (*run)(void* payload, void* context);
    /// Runs the install step of a heavy job; null for all other jobs.
    void (*install)(void* payload, void* context);
    /// Destroys what the job was made of: the closures, and an artifact that was not installed.
    void (*destroy_closure)(void* payload) noexcept;
    /// Null when destroying the result would do nothing.
    void (*destroy_result)(void* payload) noexcept;
    /// Where the result is.
    void* (*result)(void* payload) noexcept;
};

/// A value whose lifetime is managed by hand; `void` stands as an empty value.
template <class T>
union Manual {
    using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
    Manual() noexcept {}
    ~Manual() {}
    /// Constructs the value from what the call returns, without a move.
    template <class Call>
    void emplace_from(Call&& call) {
        if constexpr (std::is_void_v<T>) {
            std::forward<Call>(call)();
            std::construct_at(&value);
        } else {
            ::new (static_cast<void*>(std::addressof(value))) Value(std::forward<Call>(call)());
        }
    }
    void destroy() noexcept {
        std::destroy_at(std::addressof(value));
    }
    static constexpr bool trivial = std::is_trivially_destructible_v<Value>;

    Value value;
};

/// A job of one step. `Context` is const in the lanes that only read, and void for a job that is called with nothing.
/// `InstallIsFence` makes it the one-step form of a heavy job: built outside any exclusion, then one empty exclusive step.
template <class F, class Context, class R, bool InstallIsFence = false>
class OneStep {
public:
    template <class G>
        requires(!std::same_as<std::remove_cvref_t<G>, OneStep>)
    explicit OneStep(G&& fn) {
        std::construct_at(&fn_.value, std::forward<G>(fn));
    }

private:
    static OneStep& cast(void* self) noexcept {
        return *static_cast<OneStep*>(self);
    }
    void run(void* context) {
        result_.emplace_from([&]() -> R {
            if constexpr (std::is_void_v<Context>) {
                return std::invoke_r<R>(std::move(fn_.value));
            } else {
                return std::invoke(std::move(fn_.value), *static_cast<Context*>(context));
            }
        });
    }

    Manual<F> fn_;
    Manual<R> result_;

public:
    static constexpr JobOps ops{
        .run = [](void* self, void* context) { cast(self).run(context); },
        .install = InstallIsFence ? +[](void*, void*) {} : nullptr,
        .destroy_closure = [](void* self) noexcept { cast(self).fn_.destroy(); },
        .destroy_result =
            Manual<R>::trivial ? nullptr : +[](void* self) noexcept { cast(self).result_.destroy(); },
        .result = [](void* self) noexcept -> void* { return std::addressof(cast(self).result_.value); },
    };
};

/// A heavy job of two steps: `build(const Context&) -> Artifact`, then `install(Context&, Artifact) -> R`.
template <class Build, class Install, class Context, class Artifact, class R>
class TwoStep {
public:
    template <class B, class I>
    TwoStep(B&& build, I&& install) {
        std::construct_at(&install_.value, std::forward<I>(install));
        try {
            std::construct_at(&build_.value, std::forward<B>(build));
        } catch (...) {
            install_.destroy();
            throw;
        }
    }

private:
    static TwoStep& cast(void* self) noexcept {
        return *static_cast<TwoStep*>(self);
    }
    void build(const Context& context) {
        artifact_.emplace_from([&]() -> Artifact { return std::invoke(std::move(build_.value), context); });
        built_ = true;
    }
    void install(Context& context) {
        result_.emplace_from([&]() -> R {
            if constexpr (std::is_void_v<Artifact>) {
                return std::invoke(std::move(install_.value), context);
            } else {
                return std::invoke(std::move(install_.value), context, std::move(artifact_.value));
            }
        });
    }
    void destroy_closure() noexcept {
        if (built_)
            artifact_.destroy();
        build_.destroy();
        install_.destroy();
    }

    Manual<Build> build_;
    Manual<Install> install_;
    Manual<Artifact> artifact_;
    Manual<R> result_;
    bool built_ = false;

public:
    static constexpr JobOps ops{
        .run = [](void* self, void* context) { cast(self).build(*static_cast<const Context*>(context)); },
        .install = [](void* self, void* context) { cast(self).install(*static_cast<Context*>(context)); },
        .destroy_closure = [](void* self) noexcept { cast(self).destroy_closure(); },
        .destroy_result =
            Manual<R>::trivial ? nullptr : +[](void* self) noexcept { cast(self).result_.destroy(); },
        .result = [](void* self) noexcept -> void* { return std::addressof(cast(self).result_.value); },
    };
};

}  // namespace sluice::detail
