#pragma once

// Who goes on, which store a load returns, whether a wait is early: one object that answers, from a search or from a list.
// The words of control/explore.hpp: preemptions, oddities.

#include "control/explore.hpp"
#include "control/memory.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::control {

/// A thread that may go on.
struct Option {
    std::uint8_t thread = 0;
    bool odd = false;  ///< it waits, and would return for nothing
};

class Decisions {
public:
    /// Every schedule within a bound: start(), execute, and again while next().
    void exhaust(const Bound& bound);
    [[nodiscard]] bool next();
    /// One random schedule. `longest`: how many steps executions have had so far.
    void random(std::uint64_t seed, std::uint64_t longest);
    /// One schedule, as schedule() gave it.
    void replay(std::string_view schedule);

    void start();
    [[nodiscard]] std::string schedule() const;

    /// Index of an option. `could_go_on`: the first is the thread that runs, and anything else is a preemption.
    [[nodiscard]] std::size_t thread(bool could_go_on, std::span<const Option> options);
    /// 0 is what mostly happens; anything else is odd.
    [[nodiscard]] unsigned oddity(unsigned count);
    /// All alike.
    [[nodiscard]] unsigned choice(unsigned count);
    /// The thread waits for another's step.
    void yielded(unsigned thread) noexcept;

private:
    enum class Way : std::uint8_t { exhaustive, priorities, coin, replay };
    struct Branch {
        std::uint8_t count = 1;
        std::uint8_t index = 0;
    };

    [[nodiscard]] unsigned branch(unsigned count);
    [[nodiscard]] std::uint8_t given() noexcept;
    [[nodiscard]] std::size_t by_chance(bool could_go_on, std::span<const Option> options);
    [[nodiscard]] std::uint64_t draw() noexcept;
    [[nodiscard]] bool one_in(std::uint64_t n) noexcept {
        return n != 0 && draw() % n == 0;
    }

    Way way_ = Way::exhaustive;
    std::vector<std::uint8_t> taken_;  // every decision of this execution, for the replay
    // exhaustive
    std::vector<Branch> path_;
    std::size_t at_ = 0;
    Bound bound_;
    Bound left_;
    // random
    std::uint64_t state_ = 0;
    std::uint64_t seed_ = 0;
    std::uint64_t oddity_rate_ = 0;  // one in so many; 0: none
    unsigned oddities_ = 0;
    std::uint64_t switch_rate_ = 2;
    std::uint64_t steps_ = 0;
    std::array<std::uint64_t, 4> changes_{};
    std::array<std::int64_t, most_threads> priority_{};
    std::int64_t lowest_ = 0;
    // replay
    std::vector<std::uint8_t> given_;
};

}  // namespace sluice::control
