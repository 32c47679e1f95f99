#include "control/scheduler.hpp"

#include "control/execution.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

// An assert in a structure is a failure like any other. In the test's body nobody could go on.
extern "C" [[noreturn]] void __assert_fail(const char* text, const char* file, unsigned line,
                                           const char*) noexcept {
    using namespace sluice::control;
    if (execution() != nullptr)
        execution()->fail(std::string("assert: ") + text, Place::current());
    std::fprintf(stderr, "%s:%u: assert: %s\n", file, line, text);
    std::abort();
}

namespace sluice::control {

void Run::thread(const char* name, std::function<void()> work) {
    execution()->add(name, std::move(work));
}

void Run::thread_that_stands(const char* name, unsigned before_step, std::function<void()> work) {
    execution()->add(name, std::move(work), before_step);
}

void Run::join() {
    execution()->join();
}

void check(bool holds, const char* what, Place place) {
    if (!holds)
        execution()->fail(what, place);
}

unsigned choose(unsigned count) {
    return execution()->choose(count);
}

void relax() noexcept {
    execution()->relax();
}

std::uint32_t make(std::uint64_t value, Place place) noexcept {
    return execution()->make(value, place);
}

void destroy(std::uint32_t id) noexcept {
    execution()->destroy(id);
}

std::uint64_t load(std::uint32_t id, std::memory_order order, Place place) noexcept {
    return execution()->load(id, order, place);
}

void store(std::uint32_t id, std::uint64_t value, std::memory_order order, Place place) noexcept {
    execution()->store(id, value, order, place);
}

std::uint64_t update_begin(std::uint32_t id, std::memory_order order, Place place) noexcept {
    return execution()->update_begin(id, order, place);
}

void update_end(std::uint32_t id, std::uint64_t value, std::memory_order order, const char* what,
                Place place) noexcept {
    execution()->update_end(id, value, order, what, place);
}

bool compare_exchange(std::uint32_t id, std::uint64_t& expected, std::uint64_t desired,
                      std::memory_order success, std::memory_order failure, bool weak, Place place) noexcept {
    return execution()->compare_exchange(id, expected, desired, success, failure, weak, place);
}

bool wait(std::uint32_t id, std::uint64_t expected, std::int64_t nanoseconds, Place place) noexcept {
    return execution()->wait(id, expected, nanoseconds, place);
}

void wake(std::uint32_t id, bool all, Place place) noexcept {
    execution()->wake(id, all, place);
}

std::int64_t now_ns() noexcept {
    return execution()->now();
}

void plain_read(const void* address, Place place) noexcept {
    if (execution() != nullptr)
        execution()->plain(address, false, place);
}

void plain_write(const void* address, Place place) noexcept {
    if (execution() != nullptr)
        execution()->plain(address, true, place);
}

}  // namespace sluice::control
