#pragma once

// Plain data whose accesses are checked for races, for the payloads of the control tests. It may be an element of a queue
// that asks for trivially copyable ones: the assignment that counts is a template, which is never the class's own.

#include "control/scheduler.hpp"

#include <source_location>

namespace sluice::control {

template <typename T>
class plain {
    using Place = std::source_location;

public:
    plain() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): stands in for a T
    plain(T value) noexcept : value_(value) {}
    plain(const plain&) = default;
    // Declared so that none is generated; a better match is always below.
    plain& operator=(const volatile plain&) = delete;
    ~plain() = default;

    template <typename From>
    plain& operator=(const From& from) noexcept {
        if constexpr (requires { from.get(); }) {
            set(from.get());
        } else {
            set(from);
        }
        return *this;
    }
    // NOLINTNEXTLINE(google-explicit-constructor): stands in for a T
    operator T() const noexcept {
        return get();
    }
    // For pointers.
    T operator->() const noexcept {
        return get();
    }

    [[nodiscard]] T get(Place place = Place::current()) const noexcept {
        plain_read(this, place);
        return value_;
    }
    void set(T value, Place place = Place::current()) noexcept {
        plain_write(this, place);
        value_ = value;
    }

private:
    T value_;
};

static_assert(std::is_trivially_copyable_v<plain<int>>);

}  // namespace sluice::control
