#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace sluice::sync {

/// What two CPUs fight over. A constant of ours and not std::hardware_destructive_interference_size: that one
/// varies with the compiler and its tuning flags, and would then vary the layout of our types between
/// translation units. x86-64 fetches lines in pairs; keeping hot words 128 bytes apart would double the
/// padding, so that is left to the few places where it was measured to help.
inline constexpr std::size_t cache_line = 64;

/// A value alone on its cache line(s), so that nobody else's writes slow its owner down.
template <typename T>
struct alignas(cache_line) CacheAligned {
    static_assert(alignof(T) <= cache_line, "a stricter alignment is the type's own business");

    T value;

    CacheAligned()
        requires std::is_default_constructible_v<T>
        : value() {}

    template <typename... Args>
        requires std::is_constructible_v<T, Args...>
    explicit CacheAligned(std::in_place_t /*unused*/, Args&&... args) : value(std::forward<Args>(args)...) {}

    [[nodiscard]] T& operator*() noexcept {
        return value;
    }
    [[nodiscard]] const T& operator*() const noexcept {
        return value;
    }
    [[nodiscard]] T* operator->() noexcept {
        return &value;
    }
    [[nodiscard]] const T* operator->() const noexcept {
        return &value;
    }
};

static_assert(sizeof(CacheAligned<char>) == cache_line);
static_assert(alignof(CacheAligned<char>) == cache_line);
static_assert(sizeof(CacheAligned<char[cache_line + 1]>) == 2 * cache_line);

}  // namespace sluice::sync
