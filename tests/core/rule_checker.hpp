#pragma once

// The rules of the spec as a judge: told everything that goes into a scheduler and comes out of it, it says which rule the
// first wrong decision breaks. Written from the rules alone, on sets of jobs, with none of the scheduler's code; it does not
// predict decisions (naive_model.hpp does), so it also judges run-ahead.

#include "core/effects.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::core::test {

class RuleChecker {
public:
    RuleChecker(const Limits& limits, unsigned permits, std::size_t actor_count)
        : limits_(limits), permits_(permits), actors_(actor_count) {}

    struct Started {
        std::size_t actor = 0;
        std::vector<std::size_t> jobs;
        Lane lane = Lane::pure_read;
        JobClass job_class = JobClass::interactive;
        Step step = Step::whole;
        std::uint32_t expected_ns = 0;
        bool long_running = false;
    };

    // What went in.
    void submitted(std::size_t job, std::size_t actor, Lane lane, JobClass c);
    /// The unit that `job` runs in has ended after `executed` jobs; those after them come back.
    void ended(std::size_t job, std::size_t executed, bool failed, bool built);
    /// The last `count` jobs of the unit were revoked, the unit goes on.
    void given_back(std::size_t job, std::size_t count);
    /// The whole unit comes back unstarted.
    void returned(std::size_t job);
    void removed(std::size_t actor);
    void queued_failed(std::size_t actor, FailReason reason);
    void cancelling() {
        cancelling_ = true;
    }

    // What came out.
    void started(const Started& run);
    void nothing_more();
    void failed(const std::vector<std::pair<std::size_t, FailReason>>& jobs);
    void released(std::size_t actor);

    /// The first broken rule, as a sentence that begins with its number.
    [[nodiscard]] const std::optional<std::string>& violation() const {
        return violation_;
    }
    /// Every job has had exactly one outcome.
    [[nodiscard]] bool all_done() const;

private:
    enum class State : std::uint8_t { queued, in_flight, install_pending, done };
    struct JobFacts {
        std::size_t actor = 0;
        Lane lane = Lane::pure_read;
        JobClass job_class = JobClass::interactive;
        State state = State::queued;
    };
    struct ActorFacts {
        std::deque<std::size_t> fifo[job_class_count];
        std::deque<std::size_t> installs;
        bool fatal = false;
        bool removed = false;
        bool released = false;
    };
    struct Unit {
        std::size_t actor = 0;
        std::vector<std::size_t> jobs;
        Lane lane = Lane::pure_read;
        JobClass job_class = JobClass::interactive;
        Step step = Step::whole;
        std::uint32_t expected_ns = 0;
    };
    /// Units of one actor in flight, counted anew whenever they are asked for.
    struct Census {
        unsigned all = 0, reads = 0, status = 0, writers = 0, building = 0;
    };

    void breaks(const std::string& what);
    [[nodiscard]] std::deque<std::size_t>& fifo(std::size_t actor, JobClass c) {
        return actors_[actor].fifo[static_cast<unsigned>(c)];
    }
    [[nodiscard]] Unit take_unit(std::size_t job);
    [[nodiscard]] Unit* find_unit(std::size_t job);
    [[nodiscard]] Census census(std::size_t actor) const;
    [[nodiscard]] unsigned class_in_flight(JobClass c) const;
    [[nodiscard]] unsigned permits_used() const;
    [[nodiscard]] std::optional<FailReason> refusal(std::size_t actor) const;
    /// The rule that forbids admitting a job of this lane now, or empty.
    [[nodiscard]] std::string forbidden(std::size_t actor, Lane lane, JobClass c) const;
    void take_back(std::size_t actor, const std::vector<std::size_t>& jobs);
    void expect_failed(std::size_t job, FailReason reason);
    void check_install(const Started& run);
    void check_admission(const Started& run);
    void check_run_ahead(const Started& run);

    Limits limits_;
    unsigned permits_;
    std::vector<ActorFacts> actors_;
    std::vector<JobFacts> jobs_;
    std::vector<Unit> units_;
    std::deque<std::pair<std::size_t, FailReason>> expected_failures_;
    std::optional<std::string> violation_;
    bool cancelling_ = false;
};

}  // namespace sluice::core::test
