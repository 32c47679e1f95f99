// One episode: all three parts are built, loaded, disturbed, watched, ended in the plan's order and audited.
#pragma once

#include "executor_part.hpp"
#include "gate_part.hpp"
#include "pool_part.hpp"
#include "scene.hpp"

#include "support/counting_resource.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace sluice::soak {

/// What outlives the episodes.
struct Lasting {
    explicit Lasting(Canary planted) : canary(planted), books{Book(planted), Book(planted), Book(planted)} {}

    const Canary canary;
    std::array<Book, part_count> books;
    /// One a part. They stay, since the last block may go back when the episode that took it is over for all others.
    std::array<test::CountingResource, part_count> resources;
    Findings findings;
    FaultCounts faults;
    std::atomic<std::uint64_t> samples{0};
    std::vector<std::string> kept;  ///< by the canary `grow`
};

class Episode {
public:
    Episode(const Plan& plan, Lasting& lasting);

    void run();

    /// What it is doing and what its parts say of themselves. **Thread**: the watchdog's, while run() hangs.
    [[nodiscard]] std::string state() const;

    [[nodiscard]] const ExecutorPart& executor() const {
        return executor_;
    }
    [[nodiscard]] const PoolPart& pool() const {
        return pool_;
    }
    [[nodiscard]] const GatePart& gate() const {
        return gate_;
    }

private:
    struct Submitter {
        test::Random random;
        ExecutorPart::Hand jobs;
        PoolPart::Hand items;
        GatePart::Hand turns;
    };

    void submit(Submitter& submitter);
    void conduct();
    void disturb(const Event& event);
    void sample();
    void end();
    void settle_all();
    void check_memory();
    void plant();
    void now(const char* phase) {
        phase_.store(phase);
    }

    const Plan& plan_;
    Lasting& lasting_;
    Scene scene_;
    ExecutorPart executor_;
    PoolPart pool_;
    GatePart gate_;
    std::deque<Submitter> submitters_;  ///< their places stay
    std::atomic<bool> over_{false};
    std::atomic<unsigned> at_work_{0};
    std::atomic<const char*> phase_{"begins"};
};

}  // namespace sluice::soak
