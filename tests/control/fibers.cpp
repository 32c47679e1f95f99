#include "control/fibers.hpp"

#include "support/sanitizers.hpp"

#include <algorithm>
#include <utility>

#if SLUICE_TEST_UNDER_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
// swapcontext() makes two system calls, which would be half of the time of a schedule. This saves what a called function must
// keep, changes the stack, and returns on the other.
extern "C" void sluice_control_switch(void** left, void* to);
asm(R"(
.text
.p2align 4
.globl sluice_control_switch
.type sluice_control_switch, @function
sluice_control_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size sluice_control_switch, .-sluice_control_switch
)");
#endif

namespace sluice::control {

namespace {

Fiber* arriving = nullptr;  // for enter(), which gets no argument

}  // namespace

void Fiber::begin(std::function<void()> work) {
    if (stack_ == nullptr)
        stack_ = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
    work_ = std::move(work);
    bottom_ = stack_.get();
    size_ = stack_bytes;
    shadow_ = nullptr;
#if SLUICE_TEST_UNDER_ADDRESS_SANITIZER
    __asan_unpoison_memory_region(stack_.get(), stack_bytes);
#endif
#if defined(__x86_64__)
    // Six registers and the address to return to; after the return the stack is 8 below a multiple of 16, as after a call.
    auto* const words = reinterpret_cast<void**>(stack_.get() + stack_bytes) - 8;
    std::fill_n(words, 8, nullptr);
    words[6] = reinterpret_cast<void*>(&Fiber::enter);
    top_ = words;
#else
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = stack_bytes;
    context_.uc_link = nullptr;
    makecontext(&context_, &Fiber::enter, 0);
#endif
}

void Fiber::enter() {
    Fiber& fiber = *arriving;
    fiber.arrived();
    for (;;)
        fiber.work_();
}

void Fiber::switch_to(Fiber& to) noexcept {
    to.from_ = this;
#if SLUICE_TEST_UNDER_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&shadow_, to.bottom_, to.size_);
#endif
    arriving = &to;
#if defined(__x86_64__)
    sluice_control_switch(&top_, to.top_);
#else
    swapcontext(&context_, &to.context_);
#endif
    arrived();
}

void Fiber::arrived() noexcept {
#if SLUICE_TEST_UNDER_ADDRESS_SANITIZER
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(shadow_, &bottom, &size);
    if (from_->stack_ == nullptr) {  // the real thread's stack is known only from here
        from_->bottom_ = bottom;
        from_->size_ = size;
    }
#endif
}

}  // namespace sluice::control
