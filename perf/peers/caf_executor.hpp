// CAF 0.17: an event-based actor each, on its work-stealing scheduler. Everything of an actor is serial. A job travels as two
// numbers, so that no type of ours has to be made known to CAF.
#pragma once

#include "workloads/job.hpp"
#include "workloads/request.hpp"

#include <caf/all.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace peers {

class CafExecutor {
public:
    static constexpr bool reads_together = false;

    explicit CafExecutor(const perf::Shape& shape) : config_(shape.workers), system_(config_) {
        actors_.reserve(shape.actors);
        for (std::size_t i = 0; i < shape.actors; ++i) {
            actors_.push_back(system_.spawn([]() -> caf::behavior {
                return {[](std::uint64_t run, std::uint64_t argument) {
                    std::bit_cast<void (*)(void*)>(run)(std::bit_cast<void*>(argument));
                }};
            }));
        }
    }
    ~CafExecutor() {
        for (const caf::actor& actor : actors_)
            caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    }
    CafExecutor(const CafExecutor&) = delete;
    CafExecutor& operator=(const CafExecutor&) = delete;

    void post(std::size_t actor, perf::Access, perf::Job job) {
        caf::anon_send(actors_[actor], std::bit_cast<std::uint64_t>(job.run),
                       std::bit_cast<std::uint64_t>(job.argument));
    }

private:
    struct Config : caf::actor_system_config {
        explicit Config(unsigned workers) {
            set("scheduler.max-threads", std::size_t{workers});
        }
    };
    Config config_;
    caf::actor_system system_;
    std::vector<caf::actor> actors_;
};

}  // namespace peers
