#pragma once

// One execution of a body under one Decisions: the threads, who of them can go on, and the words in memory.

#include "control/decisions.hpp"
#include "control/fibers.hpp"
#include "control/memory.hpp"
#include "control/scheduler.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace sluice::control {

/// Thrown through the body, so that what it made is destroyed.
struct Failed {};

class Execution {
public:
    explicit Execution(Decisions& decisions) : decisions_(decisions) {}
    Execution(const Execution&) = delete;
    Execution& operator=(const Execution&) = delete;

    /// False: it failed, and what() says how.
    [[nodiscard]] bool run(const std::function<void(Run&)>& body, std::uint64_t most_steps);
    [[nodiscard]] const std::string& what() const noexcept {
        return what_;
    }
    [[nodiscard]] std::uint64_t steps() const noexcept {
        return steps_;
    }

    /// Keep a line for each step, or only the names of files, or nothing.
    bool tracing = false;
    bool noting_files = false;
    std::string trace;
    std::set<std::string> files;

    // For the body.
    void add(const char* name, std::function<void()> work, unsigned stands_before = never);
    void join();
    [[noreturn]] void fail(const std::string& what, Place place);
    [[nodiscard]] unsigned choose(unsigned count) {
        return decisions_.choice(count);
    }
    void relax();

    // For the seam.
    [[nodiscard]] std::uint32_t make(std::uint64_t value, Place place);
    void destroy(std::uint32_t id);
    [[nodiscard]] std::uint64_t load(std::uint32_t id, std::memory_order order, Place place);
    void store(std::uint32_t id, std::uint64_t value, std::memory_order order, Place place);
    [[nodiscard]] std::uint64_t update_begin(std::uint32_t id, std::memory_order order, Place place);
    void update_end(std::uint32_t id, std::uint64_t value, std::memory_order order, const char* what,
                    Place place);
    [[nodiscard]] bool compare_exchange(std::uint32_t id, std::uint64_t& expected, std::uint64_t desired,
                                        std::memory_order success, std::memory_order failure, bool weak,
                                        Place place);
    [[nodiscard]] bool wait(std::uint32_t id, std::uint64_t expected, std::int64_t nanoseconds, Place place);
    void wake(std::uint32_t id, bool all, Place place);
    [[nodiscard]] std::int64_t now() noexcept {
        return ++now_;
    }
    void plain(const void* address, bool write, Place place);

private:
    static constexpr unsigned never = ~0U;
    enum class State : std::uint8_t { ready, waiting, standing, done };
    struct Thread {
        const char* name = "";
        std::function<void()> work;
        State state = State::done;
        unsigned stands_before = never;  // so many steps are left until it stands
        bool yielded = false;
        std::uint64_t yielded_at = 0;
        bool early = false;  // it waited, and was let go without a wake
        std::uint32_t word = 0;
        std::int64_t deadline = no_timeout;
        Fiber fiber;
        bool fresh = false;  // the fiber is at the top of its loop
    };

    void point(Place place);
    void touch(std::uint32_t id, Place place);
    void give_way();
    void stand_if_due(Place place);
    [[nodiscard]] bool let_stander_go_on(Option& option);
    [[nodiscard]] std::string who_stands() const;
    [[nodiscard]] bool longest_yielded(Option& option) const noexcept;
    void written() noexcept;
    void go(const Option& option);
    void end_of_thread();
    [[nodiscard]] bool is_over() const noexcept {
        return over_ || current_ == 0;
    }
    [[nodiscard]] std::uint64_t newest(std::uint32_t id) noexcept {
        return memory_.at(id).history.back().value;
    }
    void note(std::uint32_t id, const char* what, std::uint64_t value, const char* more, Place place);

    Decisions& decisions_;
    Memory memory_;
    std::array<Thread, most_threads> threads_;
    unsigned count_ = 1;
    unsigned current_ = 0;
    bool over_ = false;
    std::string what_;
    std::uint64_t steps_ = 0;
    std::uint64_t most_steps_ = 0;
    std::int64_t now_ = 0;
};

/// The name of a place's file, without its folders; and the place in words.
[[nodiscard]] const char* file_of(Place place) noexcept;
[[nodiscard]] std::string at(Place place);

/// The execution under way; null outside of explore().
[[nodiscard]] Execution*& execution() noexcept;

}  // namespace sluice::control
