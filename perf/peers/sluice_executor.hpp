// Ours, under the face of the peers.
#pragma once

#include "workloads/job.hpp"
#include "workloads/request.hpp"

#include <sluice/executor.hpp>
#include <sluice/lane.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace peers {

template <sluice::SchedulerPolicy policy>
class SluiceExecutor {
public:
    static constexpr bool reads_together = true;

    explicit SluiceExecutor(const perf::Shape& shape)
        : executor_({.pool_size = shape.workers, .policy = policy}) {
        actors_.reserve(shape.actors);
        for (std::size_t i = 0; i < shape.actors; ++i)
            actors_.push_back(executor_.add_actor(std::to_string(i), 0L));
    }

    void post(std::size_t actor, perf::Access access, perf::Job job) {
        const auto posted = access == perf::Access::read
                                ? actors_[actor].post_read([job](const long&) { job(); })
                                : actors_[actor].post_mutate([job](long&) { job(); });
        accepted(posted.has_value());
    }
    /// With all lanes, where the load has them.
    void post_to(sluice::Lane lane, std::size_t actor, perf::Job job) {
        switch (lane) {
            case sluice::Lane::pure_read:
                return post(actor, perf::Access::read, job);
            case sluice::Lane::serial_status:
                return actors_[actor].status([job](const long&) { job(); }).detach();
            case sluice::Lane::heavy_init:
                return actors_[actor].build([job](const long&) { job(); }).detach();
            case sluice::Lane::mutating:
                break;
        }
        post(actor, perf::Access::write, job);
    }
    void round_trip() {
        accepted(actors_[0].mutate([](long& value) { return ++value; }).wait().has_value());
    }

private:
    static void accepted(bool yes) {
        if (yes)
            return;
        std::fputs("a job was refused\n", stderr);
        std::exit(1);
    }
    sluice::Executor executor_;
    std::vector<sluice::Actor<long>> actors_;
};

}  // namespace peers
