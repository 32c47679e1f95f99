#pragma once

// The controlled scheduler: simulated threads on one real one, and a decision before each operation on an atomic.
//
//     control::explore(plan, [](control::Run& run) {
//         Structure structure;                        // made by the body, which is thread 0
//         run.thread("pusher", [&] { ... });
//         run.thread("popper", [&] { ... });
//         run.join();                                 // they begin here, and all have ended when it returns
//         control::check(..., "what must hold");
//     });
//
// The body is executed again for each schedule (control/explore.hpp says which). It must do the same each time when the
// scheduler decides the same: no clock, no random number, no address in a decision.
//
// What ends an execution as a failure: a check, an assert, a data race (control/plain.hpp), an operation on an atomic that is
// gone or not yet known, all threads asleep, a thread that never comes to an end, or others held up by one that stands still.

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <source_location>

namespace sluice::control {

using Place = std::source_location;

class Run {
public:
    /// Before join(). At most 7.
    void thread(const char* name, std::function<void()> work);
    /// As thread(), and it stands still before that step of its work (0: the first) until all others have ended. If they cannot without it,
    /// the execution fails: they are held up. With `choose(n)` it stands at each of its first n steps in turn.
    void thread_that_stands(const char* name, unsigned before_step, std::function<void()> work);
    /// Lets all threads run to their end.
    void join();
};

/// Ends the execution as a failure if `holds` is false. From any thread.
void check(bool holds, const char* what, Place place = Place::current());
/// A decision of the test itself: 0 <= result < count, all of them tried.
[[nodiscard]] unsigned choose(unsigned count);
/// The thread looks again after another has done something.
void relax() noexcept;

// What the seam and `plain` call.

inline constexpr std::int64_t no_timeout = std::numeric_limits<std::int64_t>::max();

[[nodiscard]] std::uint32_t make(std::uint64_t value, Place place) noexcept;
void destroy(std::uint32_t id) noexcept;
[[nodiscard]] std::uint64_t load(std::uint32_t id, std::memory_order order, Place place) noexcept;
void store(std::uint32_t id, std::uint64_t value, std::memory_order order, Place place) noexcept;
[[nodiscard]] std::uint64_t update_begin(std::uint32_t id, std::memory_order order, Place place) noexcept;
void update_end(std::uint32_t id, std::uint64_t value, std::memory_order order, const char* what,
                Place place) noexcept;
[[nodiscard]] bool compare_exchange(std::uint32_t id, std::uint64_t& expected, std::uint64_t desired,
                                    std::memory_order success, std::memory_order failure, bool weak,
                                    Place place) noexcept;
/// False: the time is over.
[[nodiscard]] bool wait(std::uint32_t id, std::uint64_t expected, std::int64_t nanoseconds,
                        Place place) noexcept;
void wake(std::uint32_t id, bool all, Place place) noexcept;
[[nodiscard]] std::int64_t now_ns() noexcept;
void plain_read(const void* address, Place place) noexcept;
void plain_write(const void* address, Place place) noexcept;

}  // namespace sluice::control
