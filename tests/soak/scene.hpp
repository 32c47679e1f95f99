// What the parts of an episode share, and what a job of any of them does.
#pragma once

#include "books.hpp"
#include "faults.hpp"
#include "plan.hpp"

#include "support/stress.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <stop_token>
#include <utility>

#include <sluice/turn_ticket.hpp>

namespace sluice::soak {

class ExecutorPart;
class PoolPart;
class GatePart;

/// Turns in flight by our own count: up when a ticket is there, down before it is released, so it is never above the gate's.
struct TurnCount {
    std::atomic<std::int64_t> now{0};
    std::int64_t most = 0;  ///< that there may be
    Findings* findings = nullptr;
};

/// A ticket that counts itself. May outlive the gate, as tickets may.
class Turn {
public:
    Turn() noexcept = default;
    Turn(TurnCount& count, TurnTicket ticket);
    Turn(Turn&& other) noexcept
        : count_(std::exchange(other.count_, nullptr)), ticket_(std::move(other.ticket_)) {}
    Turn& operator=(Turn&& other) noexcept;
    ~Turn() {
        finish();
    }
    void finish() noexcept;

private:
    TurnCount* count_ = nullptr;
    TurnTicket ticket_;
};

/// Sources for jobs that are stopped together: when one has been asked to stop, the next one is given out.
class StopsOfAll {
public:
    [[nodiscard]] std::stop_token token() const {
        return sources_[current_.load()].get_token();
    }
    void request();

private:
    std::array<std::stop_source, 32> sources_;
    std::atomic<std::size_t> current_{0};
};

/// One episode's common ground.
struct Scene {
    const Plan& plan;
    Findings& findings;
    FaultCounts& faults;
    StopsOfAll stops;
    ExecutorPart* executor = nullptr;
    PoolPart* pool = nullptr;
    GatePart* gate = nullptr;

    /// Whether a chance of the plan comes true.
    [[nodiscard]] static bool happens(test::Random& random, std::uint64_t one_in) {
        return one_in != 0 && random.one_in(one_in);
    }
    /// A submission to any part, from inside a job or callback of `from`.
    void nest(Part from, test::Random& random);
    /// Ends a turn here, or inside a job of the executor or the pool that takes the ticket along.
    void run_turn(Turn turn, test::Random& random);

private:
    [[nodiscard]] bool may_nest_into(Part part) const;
};

/// What one job does, drawn when it is submitted, and all that it carries.
class JobBody {
public:
    /// `if_it_throws`: job_throws, or actor_fatal where that is what comes of it; each has its own chance in the plan.
    JobBody(Scene& scene, Part part, Entry& entry, test::Random& random, Fault if_it_throws, Turn turn = {});

    /// The job, or the first of its two steps: then `last` is false.
    void run(bool last = true) const;
    [[nodiscard]] Entry& entry() const {
        return witness_.entry();
    }

private:
    Scene* scene_;
    Witness witness_;
    std::uint64_t seed_;
    Part part_;
    Fault if_it_throws_;
    bool throws_;
    bool slow_;
    bool nests_;
    Turn turn_;
};

}  // namespace sluice::soak
