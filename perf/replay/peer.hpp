// A peer behind one virtual call, so that one driver replays through all of them.
#pragma once

#include "workloads/job.hpp"
#include "workloads/request.hpp"

#include <sluice/lane.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace perf::replay {

/// What the lanes of a trace become.
enum class Lanes : std::uint8_t {
    own,  ///< what the peer has: Sluice all four; where there are only reads and writes, status jobs and builds are writes
    rw,   ///< reads and writes for every peer: status jobs and builds are writes for Sluice as well
    ser,  ///< everything is a write: what TBB, Asio and CAF do anyway
};

[[nodiscard]] constexpr sluice::Lane lane_for(Lanes lanes, sluice::Lane lane) noexcept {
    if (lanes == Lanes::own)
        return lane;
    const bool reads = lanes == Lanes::rw && lane == sluice::Lane::pure_read;
    return reads ? sluice::Lane::pure_read : sluice::Lane::mutating;
}

class Engine {
public:
    Engine() = default;
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    virtual ~Engine() = default;
    virtual void post(std::size_t actor, sluice::Lane lane, Job job) = 0;
};

template <class P>
constexpr bool has_lanes = requires(P& peer, Job job) { peer.post_to(sluice::Lane::pure_read, 0, job); };

template <class P>
class Hosted final : public Engine {
public:
    explicit Hosted(const Shape& shape) : peer_(shape) {}

    void post(std::size_t actor, sluice::Lane lane, Job job) override {
        if constexpr (has_lanes<P>)
            peer_.post_to(lane, actor, job);
        else
            peer_.post(actor, lane == sluice::Lane::pure_read ? Access::read : Access::write, job);
    }

private:
    P peer_;
};

struct Peer {
    std::string_view name;
    std::string_view what;
    bool reads_together = false;
    bool lanes = false;
    std::unique_ptr<Engine> (*make)(const Shape&) = nullptr;

    /// What may run together of one actor under `chosen`: "four" lanes, "rw" or "ser".
    [[nodiscard]] std::string_view mark(Lanes chosen) const noexcept {
        if (chosen == Lanes::ser || !reads_together)
            return "ser";
        return lanes && chosen == Lanes::own ? "four" : "rw";
    }
};

template <class P>
constexpr Peer peer_of(std::string_view name, std::string_view what) {
    return {name, what, P::reads_together, has_lanes<P>,
            [](const Shape& shape) -> std::unique_ptr<Engine> { return std::make_unique<Hosted<P>>(shape); }};
}

// Each in a file of its own; those that need a package are there when it is.
extern const Peer peer_lent, peer_dedicated, peer_naive, peer_seed, peer_tbb, peer_asio, peer_caf;

/// All that were built.
[[nodiscard]] std::span<const Peer* const> all_peers();

}  // namespace perf::replay
