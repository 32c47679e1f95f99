// The executor of one episode: how it is loaded, disturbed, looked at, ended and audited.
#pragma once

#include "room.hpp"
#include "scene.hpp"

#include "support/counting_resource.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sluice/sluice.hpp>

namespace sluice::soak {

class ExecutorPart {
public:
    /// What one submitter holds; nobody else touches it.
    struct Hand {
        struct Kept {
            Completion<int> job;
            Entry* entry;
        };
        std::array<Actor<Room>, 10> actors;
        std::vector<Kept> kept;
        std::vector<std::stop_source> stops;
    };

    ExecutorPart(Scene& scene, Book& book, test::CountingResource& resource);
    ~ExecutorPart();
    ExecutorPart(const ExecutorPart&) = delete;
    ExecutorPart& operator=(const ExecutorPart&) = delete;

    /// Starts the executor, after the failures that the plan has for it.
    void start();

    // Any thread.
    void submit(Hand& hand, test::Random& random);
    void submit_nested(test::Random& random, Turn turn);
    /// Looks at some of what is kept, or at all of it.
    void settle(Hand& hand, test::Random& random, bool all);

    // The episode's own thread.
    void disturb(const Event& event);
    void sample();
    void end();
    /// Destroys what the end has left.
    void destroy();
    /// When all have ended and all handles have been settled.
    void audit();

    /// For whoever looks into a hang.
    [[nodiscard]] std::string state() const;
    /// The totals at its end; none if it was destroyed without a shutdown.
    [[nodiscard]] const Snapshot& last() const {
        return last_;
    }

private:
    [[nodiscard]] static std::string name_of(std::uint64_t actor) {
        return "a" + std::to_string(actor);
    }
    // executor_load.cpp
    [[nodiscard]] const Actor<Room>* known(Hand& hand, std::uint64_t which, test::Random& random);
    [[nodiscard]] JobOptions options(Hand& hand, test::Random& random);
    void submit_one(Hand& hand, test::Random& random);
    void post(const Actor<Room>& actor, const JobOptions& how, Lane lane, JobBody body);
    [[nodiscard]] Completion<int> hand_in(const Actor<Room>& actor, const JobOptions& how,
                                          std::uint64_t shape, JobBody body);
    void call_back(test::Random& random, Entry& entry, Completion<int> job);
    void tell(Entry& entry, const Result<int>& result);
    void check_refusal(const Error& error);

    // executor_part.cpp
    [[nodiscard]] static std::string to_text(const Snapshot& seen);
    void die_in_own_job();
    void check_entries() const;
    void check_totals() const;

    Scene& scene_;
    Book& book_;
    test::CountingResource& resource_;
    RoomCounts rooms_;
    // Of this part's threads. Failed starts count, too.
    std::atomic<std::uint64_t> started_{0};
    std::atomic<std::uint64_t> stopped_{0};
    std::uint64_t threads_ = 0;     ///< that will have stopped in the end
    Executor* executor_ = nullptr;  ///< stays readable while its destructor runs
    EffectiveConfig limits_;
    Snapshot last_;
    JobTotals before_;
    bool totals_known_ = false;
};

}  // namespace sluice::soak
