// The untyped half of Actor and ActorEntry: counted references to an actor's cell and to its context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <sluice/detail/export.hpp>

namespace sluice::detail {

struct ActorCell;  // src/executor

/// Identifies a context's type without RTTI: the address of a variable template's instance.
using TypeId = const void*;
template <class T>
inline constexpr char type_tag = 0;
template <class T>
[[nodiscard]] constexpr TypeId type_id() noexcept {
    return &type_tag<T>;
}

/// Keeps a cell (not its context) from being used for another actor.
class SLUICE_API ActorRef {
public:
    ActorRef() noexcept = default;
    /// Takes over a reference that was counted already.
    explicit ActorRef(ActorCell* counted) noexcept : cell_(counted) {}
    ActorRef(const ActorRef& other) noexcept : cell_(other.cell_) {
        retain();
    }
    ActorRef(ActorRef&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
    ActorRef& operator=(ActorRef other) noexcept {
        std::swap(cell_, other.cell_);
        return *this;
    }
    ~ActorRef() {
        if (cell_ != nullptr)
            release();
    }

    [[nodiscard]] ActorCell* get() const noexcept {
        return cell_;
    }
    explicit operator bool() const noexcept {
        return cell_ != nullptr;
    }
    [[nodiscard]] std::string_view id() const noexcept;
    [[nodiscard]] bool registered() const noexcept;
    [[nodiscard]] bool fatal() const noexcept;

private:
    void retain() noexcept;
    void release() noexcept;

    ActorCell* cell_ = nullptr;
};

/// Keeps a cell and its context alive (E6).
class SLUICE_API ContextRef {
public:
    ContextRef() noexcept = default;
    /// Takes over a context reference that was counted already, beside the cell's own.
    explicit ContextRef(ActorRef cell) noexcept : cell_(std::move(cell)) {}
    ContextRef(const ContextRef& other) noexcept;
    ContextRef(ContextRef&& other) noexcept = default;
    ContextRef& operator=(ContextRef other) noexcept {
        std::swap(cell_, other.cell_);
        return *this;
    }
    ~ContextRef();

    [[nodiscard]] std::string_view id() const noexcept {
        return cell_.id();
    }
    [[nodiscard]] const ActorRef& cell() const noexcept {
        return cell_;
    }
    /// The context if it is of that type, else null.
    [[nodiscard]] const void* context(TypeId type) const noexcept;

private:
    ActorRef cell_;
};

}  // namespace sluice::detail
