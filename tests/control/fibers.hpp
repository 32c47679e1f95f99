#pragma once

// Simulated threads: a stack each, and a switch between them. They all belong to one real thread.

#include <cstddef>
#include <functional>
#include <memory>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace sluice::control {

class Fiber {
public:
    /// The real thread itself.
    Fiber() = default;
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// `work` is called again and again, each time after somebody switched here; it must not return by an exception. What
    /// was on the stack before is forgotten.
    void begin(std::function<void()> work);

    /// Goes on where `to` was left. Returns when somebody switches back.
    void switch_to(Fiber& to) noexcept;

private:
    static constexpr std::size_t stack_bytes = 256 * 1024;  // a sanitizer's frames are large

    [[noreturn]] static void enter();
    void arrived() noexcept;

    std::unique_ptr<std::byte[]> stack_;
    std::function<void()> work_;
#if defined(__x86_64__)
    void* top_ = nullptr;  // of the stack where it was left; the registers that a call keeps are on it
#else
    ucontext_t context_{};
#endif
    // For the address sanitizer.
    void* shadow_ = nullptr;
    const void* bottom_ = nullptr;
    std::size_t size_ = 0;
    Fiber* from_ = nullptr;
};

}  // namespace sluice::control
