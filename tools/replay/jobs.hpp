// The jobs that a trace's rows become: they take their service time, and watch their actor's context while they do.
//
// Roles: run by workers, under the rules of their lanes; those rules are all that protects ActorState. A breach shows
// as a torn read or a lost change here, and as a race under ThreadSanitizer.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "options.hpp"
#include "recorder.hpp"

namespace sluice::replay {

/// The context of each actor. Plain on purpose.
struct ActorState {
    std::uint64_t changes = 0;
};

/// What all jobs of a run share; outlives them.
struct JobSetting {
    const Recorder& recorder;
    WorkKind work;
    const std::atomic<bool>& stop;  ///< work ends early when it is set
};

/// Spends `service_ns` from `started` on: spinning, or asleep. By the clock, not by instructions: a job that loses its
/// CPU meanwhile is not made longer by it. Returns the time at the end.
std::uint64_t spend(const JobSetting& setting, JobRecord& record, std::uint64_t started,
                    std::uint64_t service_ns);

/// What the four kinds have in common. A job that was not accepted still has its token.
struct TimedJob {
    JobToken token;
    const JobSetting* setting;
    std::uint64_t service_ns;

    /// Takes the service time without marking the end. Returns the time.
    std::uint64_t work() const {
        const std::uint64_t started = setting->recorder.now();
        token.start(started);
        return spend(*setting, token.record(), started, service_ns);
    }
};

struct Reading : TimedJob {
    void operator()(const ActorState& state) {
        const std::uint64_t before = state.changes;
        const std::uint64_t ended = work();
        if (state.changes != before)
            token.record().torn.store(true, std::memory_order_relaxed);
        token.finish(ended);
    }
};

struct Mutating : TimedJob {
    void operator()(ActorState& state) {
        const std::uint64_t before = state.changes;
        const std::uint64_t ended = work();
        state.changes = before + 1;  // a second writer's change would be lost here, and missed in the sum
        token.finish(ended);
    }
};

/// The build step: may not look at the context, which others may be changing. Its artifact is the job itself.
struct Building : TimedJob {
    TimedJob operator()(const ActorState&) {
        work();
        return std::move(*this);
    }
};

/// The install step of a build: as short as can be.
struct Installing {
    void operator()(ActorState& state, TimedJob built) const {
        built.token.record().installing = built.setting->recorder.now();
        ++state.changes;
        built.token.finish(built.setting->recorder.now());
    }
};

}  // namespace sluice::replay
