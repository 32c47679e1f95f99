// Goal: whatever is mixed, jobs in are jobs out, exclusive jobs are alone, and order holds (E8, E9, E14, E16, E33).
// Method: threads that draw from all there is (lanes, classes, actors, removals, registrations, waits, exceptions, drops,
// batches, jobs that submit and wait) for a bounded time. The contexts have plain fields, so that the thread sanitizer
// sees whoever is not alone. Submissions and ends are counted by the test itself and compared with the executor's totals.
// SLUICE_TEST_SEED repeats the choices of a run; SLUICE_STRESS_SECONDS makes it longer (the default is 3 in all).
#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include "executor/harness.hpp"
#include "executor/stress_state.hpp"
#include "support/stress.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

/// One thread that submits.
class Submitter {
public:
    Submitter(Executor& executor, Counts& counts, unsigned self, unsigned stream)
        : executor_(executor), counts_(counts), self_(self), random_(stream) {}

    void run(steady_clock::time_point end) {
        while (steady_clock::now() < end) {
            const std::uint64_t which = random_.below(ids);
            if (random_.one_in(40)) {
                const Batch batch(executor_);
                for (std::uint64_t k = random_.below(30); k > 0; --k)
                    submit(random_.below(ids));
            } else {
                submit(which);
            }
            if (random_.one_in(400))
                executor_.remove_actor(name(which));
            if (random_.one_in(500)) {
                for (const ActorEntry& entry : executor_.actors())
                    counts_.ill_answered.fetch_add(entry.context<State>() == nullptr ? 1 : 0);
            }
            if (random_.one_in(300))
                static_cast<void>(executor_.snapshot());
            if (handles_.size() > 40 + random_.below(40))
                settle(random_.below(handles_.size()));
        }
        while (!handles_.empty())
            settle(0);
    }

private:
    struct Known {
        Actor<State> actor;
        std::uint64_t last[job_class_count] = {0, 0};
    };
    struct Handle {
        Completion<int> job;
        bool heavy;
    };

    static std::string name(std::uint64_t which) {
        return "a" + std::to_string(which);
    }

    /// The actor, registered anew where somebody removed it or it became fatal.
    Known& known(std::uint64_t which) {
        Known& known = known_[which];
        if (known.actor.registered() && !known.actor.fatal())
            return known;
        if (known.actor.fatal() && known.actor.registered())
            executor_.remove_actor(name(which));
        known = {executor_.emplace_actor<State>(name(which), {}, counts_), {0, 0}};
        return known;
    }

    void submit(std::uint64_t which) {
        Known& to = known(which);
        const auto job_class = random_.one_in(3) ? JobClass::maintenance : JobClass::interactive;
        std::uint64_t& last = to.last[static_cast<std::size_t>(job_class)];
        const std::uint64_t lane = random_.below(10);
        const JobOptions options{
            .job_class = job_class,
            .request_id = random_.one_in(4) ? std::string_view("stress") : std::string_view{},
            .cost = random_.one_in(20) ? 3U : 1U};
        Step step{&counts_,           self_, job_class, ++number_, last, random_.one_in(lane < 3 ? 900 : 60),
                  random_.one_in(300)};
        counts_.submissions.fetch_add(1);
        if (lane < 3) {
            submit_mutation(to, options, step, last);
        } else if (lane == 3) {
            keep(to.actor.build(
                     options,
                     [step, token = Token(counts_)](const State&) {
                         if (step.throws)
                             throw std::runtime_error("from a build");
                         return step.number;
                     },
                     [step, token = Token(counts_)](State& state, std::uint64_t built) {
                         state.violated(built != step.number);
                         state.write();
                         return 0;
                     }),
                 true);
        } else if (lane == 4) {
            keep(to.actor.build(options, [token = Token(counts_)](const State&) { return 0; }), true);
        } else if (lane == 5) {
            keep(to.actor.status(options,
                                 [step, token = Token(counts_)](const State& state) {
                                     look(step, state, state.statuses);
                                     return 0;
                                 }),
                 false);
        } else if (lane == 6) {
            submit_nested(to, options, step);
        } else if (lane == 7 && random_.one_in(5)) {  // larger than a node
            keep(to.actor.read(
                     options,
                     [step, bulk = std::array<char, 300>{}, token = Token(counts_)](const State& state) {
                         look(step, state, state.readers);
                         return static_cast<int>(bulk[7]);
                     }),
                 false);
        } else {
            keep(to.actor.read(options,
                               [step, token = Token(counts_)](const State& state) {
                                   look(step, state, state.readers);
                                   return 0;
                               }),
                 false);
        }
    }

    void submit_mutation(Known& to, const JobOptions& options, const Step& step, std::uint64_t& last) {
        auto job = [step, token = Token(counts_)](State& state) {
            mutate(step, state);
            return 0;
        };
        if (random_.one_in(2)) {
            if (to.actor.post_mutate(options, std::move(job)))
                last = step.number;
            return;
        }
        auto handle = to.actor.mutate(options, std::move(job));
        // Refused or not, it cannot be told from one that has ended already without looking: so look, if it is ready.
        if (handle.ready()) {
            const Result<int> result = handle.wait();
            if (result || result.error() == ErrorCode::job_threw)
                last = step.number;
            else if (!(result.error() == ErrorCode::queue_full))
                last = 0;  // the actor has gone, and with it what was known
            return;
        }
        last = step.number;
        keep(std::move(handle), false);
    }

    /// A job that submits to another actor, and sometimes waits for it.
    void submit_nested(Known& to, const JobOptions& options, const Step& step) {
        Known& next = known(random_.below(ids));
        const bool waits = random_.one_in(4);
        keep(to.actor.read(
                 options,
                 [step, waits, other = next.actor, token = Token(counts_)](const State& state) {
                     look(Step{step.counts, step.thread, step.job_class, 0, step.before, false, false}, state,
                          state.readers);
                     step.counts->submissions.fetch_add(1);
                     auto inner = other.read(
                         [counts = step.counts, token = Token(*step.counts)](const State& inner_state) {
                             inner_state.violated(inner_state.writers.load() != 0);
                             counts->plain_values.fetch_add(1);
                             return 0;
                         });
                     if (waits)
                         static_cast<void>(inner.wait_for(1ms));
                     else
                         inner.detach();
                     return 0;
                 }),
             false);
    }

    void keep(Completion<int> job, bool heavy) {
        if (!heavy && random_.one_in(3))
            return;  // dropped
        handles_.push_back({std::move(job), heavy});
    }

    void settle(std::size_t at) {
        Handle handle = std::move(handles_[at]);
        handles_[at] = std::move(handles_.back());
        handles_.pop_back();
        if (random_.one_in(3)) {
            const auto early = handle.job.wait_for(std::chrono::microseconds(random_.below(50)));
            if (early || !(early.error() == ErrorCode::timed_out)) {
                count(handle, early);
                return;
            }
        }
        count(handle, handle.job.wait_for(patience));
    }

    void count(const Handle& handle, const Result<int>& result) {
        if (result) {
            counts_.heavy_values.fetch_add(handle.heavy ? 1 : 0);
            return;
        }
        if (handle.heavy && result.error() == ErrorCode::job_threw)
            counts_.heavy_threw.fetch_add(1);
        switch (result.error().value()) {
            case ErrorCode::job_threw:
            case ErrorCode::actor_removed:
            case ErrorCode::actor_fatal:
            case ErrorCode::actor_not_registered:
            case ErrorCode::queue_full:
                break;
            case ErrorCode::timed_out:
                counts_.hung.fetch_add(1);
                break;
            default:
                counts_.ill_answered.fetch_add(1);
                break;
        }
    }

    Executor& executor_;
    Counts& counts_;
    const unsigned self_;
    Random random_;
    std::uint64_t number_ = 0;
    Known known_[ids];
    std::vector<Handle> handles_;
};

std::chrono::milliseconds stress_time() {
    const char* const given = std::getenv("SLUICE_STRESS_SECONDS");
    return std::chrono::milliseconds(given == nullptr ? 3'000 : 1'000 * std::strtoll(given, nullptr, 10));
}

void stress(const Config& config, unsigned threads, std::chrono::milliseconds time, unsigned stream) {
    Counts counts;
    {
        Executor executor(config);
        const auto end = steady_clock::now() + time;
        run_together(threads, [&](unsigned self) {
            Submitter(executor, counts, self, stream * most_threads + self).run(end);
        });
        executor.shutdown(Shutdown::drain);
        REQUIRE(executor.wait_shut_down_for(patience));
        const Snapshot snapshot = executor.snapshot();
        const JobTotals& jobs = snapshot.jobs;
        CHECK(jobs.accepted + snapshot.refused.total() == counts.submissions.load());
        CHECK(jobs.accepted == jobs.completed());
        CHECK(jobs.queued == 0);
        CHECK(jobs.running == 0);
        CHECK(jobs.succeeded == counts.plain_values.load() + counts.heavy_values.load());
        CHECK(jobs.threw == counts.plain_threw.load() + counts.heavy_threw.load());
        CHECK(jobs.abandoned == 0);
        CHECK(jobs.shut_down == 0);
        CHECK(snapshot.undispatched == 0);
        CHECK(snapshot.refused.other == 0);
        CHECK(jobs.succeeded > 100);
        MESSAGE(to_string(config.policy)
                << ", " << *config.pool_size << " workers, " << threads << " threads: " << jobs.accepted
                << " accepted, " << snapshot.refused.total() << " refused, " << jobs.actor_removed
                << " removed, " << jobs.actor_fatal << " fatal, " << jobs.threw << " threw");
    }
    CHECK(counts.closures.load() == 0);
    CHECK(counts.violations.load() == 0);
    CHECK(counts.out_of_order.load() == 0);
    CHECK(counts.hung.load() == 0);
    CHECK(counts.ill_answered.load() == 0);
}

}  // namespace

TEST_CASE("E8 E9 E14 E16 E33 stress: everything at once; jobs in are jobs out") {
    struct Shape {
        std::int64_t workers;
        unsigned threads;
        std::int64_t max_queued;
        std::int64_t max_queued_per_actor;
        bool run_ahead;
        SpinPolicy spin;
    };
    const std::vector<Shape> shapes{
        {2, 4, 0, 0, true, SpinPolicy::adaptive},
        {4, 8, 200, 40, true, SpinPolicy::park},
        {1, 4, 0, 100, true, SpinPolicy::busy},
        {3, 6, 0, 0, false, SpinPolicy::adaptive},
    };
    const auto each = stress_time() / (2 * static_cast<int>(shapes.size()));
    unsigned stream = 0;
    for (const Shape& shape : shapes) {
        under_both_policies({shape.workers}, [&](Config config) {
            config.max_queued = shape.max_queued;
            config.max_queued_per_actor = shape.max_queued_per_actor;
            config.run_ahead = shape.run_ahead;
            config.spin = shape.spin;
            INFO("seed " << seed());
            stress(config, shape.threads, each, ++stream);
        });
    }
}
