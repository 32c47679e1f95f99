// The turn gate of one episode, on a clock that the episode moves by hand: how it is loaded, disturbed, looked at, ended and
// audited.
#pragma once

#include "scene.hpp"

#include "support/counting_resource.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sluice/turn_gate.hpp>

namespace sluice::soak {

class GatePart {
public:
    /// What one submitter holds; nobody else touches it.
    struct Hand {
        std::vector<Turn> turns;
        std::vector<TurnPlace> places;
        std::vector<SessionPermit> sessions;
    };

    GatePart(Scene& scene, Book& book, test::CountingResource& resource);

    void start();

    // Any thread.
    void submit(Hand& hand, test::Random& random);
    void submit_nested(test::Random& random);
    /// Ends some of the turns that are held, or all.
    void settle(Hand& hand, test::Random& random, bool all);

    // The episode's own thread.
    /// Lets some time pass.
    void tick();
    void disturb(const Event& event);
    void sample();
    void end();
    /// Destroys what the end has left.
    void destroy();
    /// When all have ended and nothing is held any more.
    void audit();

    /// For whoever looks into a hang.
    [[nodiscard]] std::string state() const;
    /// The totals at its end.
    [[nodiscard]] const TurnGateSnapshot& last() const {
        return last_;
    }

private:
    /// How a submission is told of, in the books.
    enum Outcome : std::uint8_t { admitted, expired, dropped, refused };

    void submit_one(Hand* hand, test::Random& random);
    void wait(test::Random& random);
    [[nodiscard]] TurnRequest request(std::string_view session, Entry& entry, test::Random& random);
    void note_rate_limit(test::Random& random);
    void check_refusal(const Error& error);
    void check_entries() const;
    void check_totals() const;
    [[nodiscard]] static std::string to_text(const TurnGateSnapshot& seen);

    Scene& scene_;
    Book& book_;
    test::CountingResource& resource_;
    ManualClock clock_;
    TurnCount count_;
    std::atomic<std::uint64_t> tried_{0};      ///< tickets of try_admit()
    std::atomic<std::uint64_t> queued_{0};     ///< submissions that were told a place
    std::atomic<std::uint64_t> cancelled_{0};  ///< by calls that say how many
    std::atomic<std::uint64_t> expired_{0};
    std::atomic<std::uint64_t> stopped_before_they_joined_{0};  ///< at most; the gate does not count these
    std::uint64_t outlive_ = 0;                                 ///< tickets that do so
    std::unique_ptr<TurnGate> gate_;
    TurnGateSnapshot last_;
    TurnGateSnapshot before_;
};

}  // namespace sluice::soak
