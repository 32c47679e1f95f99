#pragma once

// A second scheduler, written straight from the rules and as simply as they can be written: no links, no wake-ups, no
// counters. After every event it looks at every actor; what is in flight is counted anew each time. Without run-ahead it
// must come to the same decisions as core::Scheduler, one by one.
//
// What the rules leave open, and both decide alike (docs/decisions/rounds-and-runs.md): the order in which actors are
// visited. A class of an actor joins its ring when its head becomes admissible, at the back, or at the front if its deficit
// still covers the head; it leaves when a visit finds it blocked. Who found no permit waits in line.

#include "core/effects.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace sluice::core::test {

struct NaiveJob {
    std::size_t actor = 0;
    Lane lane = Lane::pure_read;
    JobClass job_class = JobClass::interactive;
    std::int64_t cost = 1;
};

class NaiveModel {
public:
    NaiveModel(const Limits& limits, unsigned permits, std::size_t actors)
        : limits_(limits), permits_(permits), actors_(actors) {}

    struct Decision {
        std::size_t job = 0;
        bool install = false;
        friend bool operator==(const Decision&, const Decision&) = default;
    };

    void set_weight(std::size_t actor, std::int64_t weight) {
        actors_[actor].weight = weight;
    }
    void submit(const NaiveJob& job);
    [[nodiscard]] std::optional<Decision> next();
    void end(std::size_t job, bool failed);
    void remove(std::size_t actor);
    void withdraw(std::size_t job);
    /// Jobs that failed without having run, in order; empties the list.
    [[nodiscard]] std::vector<std::size_t> take_failed();

private:
    struct Place {  // of one class of one actor
        std::deque<std::size_t> queue;
        std::int64_t deficit = 0;
        bool called = false;
    };
    struct Facts {
        Place classes[job_class_count];
        std::deque<std::size_t> installs;
        std::int64_t weight = 1;
        bool fatal = false;
        bool removed = false;
    };
    struct Running {
        std::size_t job;
        bool install;
    };
    using Line = std::deque<std::size_t>;  // of actors

    [[nodiscard]] Place& place(std::size_t actor, std::size_t c) {
        return actors_[actor].classes[c];
    }
    [[nodiscard]] std::int64_t units(std::size_t actor, std::optional<Lane> lane) const;
    [[nodiscard]] bool writing(std::size_t actor) const;
    [[nodiscard]] bool admissible(std::size_t actor,
                                  std::size_t c) const;    // E9, E10, E15, but for the permit
    [[nodiscard]] bool class_may_go(std::size_t c) const;  // E11
    [[nodiscard]] std::int64_t permits_free() const;
    [[nodiscard]] bool listed(std::size_t actor, std::size_t c) const;
    void unlist(std::size_t actor, std::size_t c);
    void look_at_everybody();
    /// Visits the class to the end of its round; a decision ends the visit.
    [[nodiscard]] std::optional<Decision> offer(std::size_t c);
    [[nodiscard]] std::optional<Decision> visit(std::size_t actor, std::size_t c, bool from_line);
    void fail_all(std::size_t actor);

    Limits limits_;
    std::int64_t permits_;
    std::vector<Facts> actors_;
    std::vector<NaiveJob> jobs_;
    std::vector<Running> running_;
    std::vector<std::size_t> failed_;

    Line now_[job_class_count];    // still to be visited in this round
    Line later_[job_class_count];  // visited, or came during the round
    Line line_[job_class_count];   // waits for a permit
    Line installs_;                // their oldest install may run
    bool in_round_ = false;
    bool maintenance_half_ = false;
    bool interactive_came_ = false;
    bool progress_ = false;
};

}  // namespace sluice::core::test
