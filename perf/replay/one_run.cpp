#include "replay/one_run.hpp"

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "arrival.hpp"
#include "jobs.hpp"
#include "observe/histogram.hpp"
#include "os.hpp"
#include "recorder.hpp"

namespace perf::replay {
namespace {

namespace trace = sluice::replay;
using sluice::observe::Histogram;

/// What a job's argument points at. Written before the run, read by the job.
struct PostedJob {
    const trace::JobSetting* setting = nullptr;
    trace::JobRecord* record = nullptr;
    std::uint64_t service_ns = 0;

    static void run(void* argument) {
        const auto& posted = *static_cast<const PostedJob*>(argument);
        trace::TimedJob job{trace::JobToken(*posted.record), posted.setting, posted.service_ns};
        job.token.finish(job.work());
    }
};

class Run {
public:
    Run(const Setting& setting, const std::atomic<bool>& interrupted)
        : setting_(setting),
          interrupted_(interrupted),
          recorder_(setting.plan.jobs.size()),
          job_setting_{recorder_, setting.work, interrupted},
          posted_(setting.plan.jobs.size()) {
        for (std::size_t job = 0; job < posted_.size(); ++job)
            posted_[job] = {&job_setting_, &recorder_.record(job), setting.plan.service_ns(row(job))};
    }

    RunFigures through(Engine& engine) {
        warm(engine);
        // After the peer's threads have started: they would inherit it.
        trace::os::sleep_precisely();
        const trace::os::ProcessUsage before = trace::os::process_usage();
        const std::uint64_t submitter_before = trace::os::thread_cpu_ns();
        recorder_.start(trace::Clock::now());
        const std::size_t submitted = submit_all(engine);
        RunFigures figures;
        figures.stuck = !all_ended(submitted);
        add_usage(figures, before, submitter_before);
        return figures;
    }
    /// Once the engine is gone, or stuck.
    void add_delays(RunFigures& figures) const;

private:
    [[nodiscard]] const trace::Row& row(std::size_t job) const {
        return setting_.trace.rows[setting_.plan.jobs[job].row];
    }
    void warm(Engine& engine) const;
    std::size_t submit_all(Engine& engine);
    [[nodiscard]] bool all_ended(std::size_t submitted) const;
    void add_usage(RunFigures& figures, const trace::os::ProcessUsage& before,
                   std::uint64_t submitter_before) const;

    const Setting& setting_;
    const std::atomic<bool>& interrupted_;
    trace::Recorder recorder_;
    trace::JobSetting job_setting_;
    std::vector<PostedJob> posted_;
};

// Some peers start their threads when work comes, and all take memory at first: not what a trace should show.
void Run::warm(Engine& engine) const {
    constexpr std::size_t jobs = 4096;
    const std::int64_t all = Done::jobs() + static_cast<std::int64_t>(jobs);
    for (std::size_t i = 0; i < jobs; ++i)
        engine.post(i % setting_.trace.actors.size(), sluice::Lane::mutating, {&Done::count_one, nullptr});
    while (Done::jobs() < all && !interrupted_.load(std::memory_order_relaxed))
        std::this_thread::yield();
}

std::size_t Run::submit_all(Engine& engine) {
    std::size_t job = 0;
    for (; job < posted_.size(); ++job) {
        if (!trace::wait_for_arrival(recorder_, setting_.plan.jobs[job].arrival_ns, interrupted_))
            break;
        const trace::Row& planned = row(job);
        recorder_.submission(job).called = recorder_.now();
        engine.post(planned.actor, lane_for(setting_.lanes, planned.lane), {&PostedJob::run, &posted_[job]});
    }
    return job;
}

// The records are looked at in order and from afar: a counter shared by all jobs would be a load of its own. All before
// the one that is waited for have ended, so it is at the head of its actor's line, and patience for one job is enough.
bool Run::all_ended(std::size_t submitted) const {
    constexpr auto tick = std::chrono::milliseconds(1);
    std::uint64_t waiting_since = recorder_.now();
    for (std::size_t job = 0; job < submitted;) {
        const std::uint64_t now = recorder_.now();
        if (recorder_.records()[job].ended() != 0) {
            ++job;
            waiting_since = now;
        } else if (now - waiting_since > setting_.patience_ns) {
            return false;
        } else {
            std::this_thread::sleep_for(tick);
        }
    }
    return true;
}

void Run::add_usage(RunFigures& figures, const trace::os::ProcessUsage& before,
                    std::uint64_t submitter_before) const {
    const trace::os::ProcessUsage after = trace::os::process_usage();
    const auto jobs = static_cast<double>(posted_.size());
    const auto cpu = static_cast<double>(after.user_ns + after.system_ns - before.user_ns - before.system_ns);
    const auto submitter = static_cast<double>(trace::os::thread_cpu_ns() - submitter_before);
    figures.cpu_ns_per_job = cpu / jobs;
    figures.peer_cpu_ns_per_job = (cpu - submitter) / jobs;
    figures.switches_per_job = static_cast<double>(after.voluntary_switches + after.involuntary_switches -
                                                   before.voluntary_switches - before.involuntary_switches) /
                               jobs;
}

void Run::add_delays(RunFigures& figures) const {
    Histogram start;
    Histogram end;
    Histogram lag;
    for (std::size_t job = 0; job < posted_.size(); ++job) {
        const trace::JobRecord& record = recorder_.records()[job];
        const std::uint64_t arrival = setting_.plan.jobs[job].arrival_ns;
        const std::uint64_t ended = record.ended();
        figures.twice += record.starts.load(std::memory_order_relaxed) > 1 ? 1U : 0U;
        if (ended == 0) {
            ++figures.lost;
            continue;
        }
        ++figures.ran;
        start.record(trace::since(record.started, arrival));
        end.record(trace::since(ended, arrival));
        lag.record(trace::since(recorder_.submissions()[job].called, arrival));
    }
    figures.start = trace::durations(start);
    figures.end = trace::durations(end);
    figures.lag = trace::durations(lag);
}

}  // namespace

RunFigures replay_once(const Peer& peer, const Setting& setting, const std::atomic<bool>& interrupted) {
    // On the heap, so that a stuck run can be left alone.
    auto run = std::make_unique<Run>(setting, interrupted);
    auto engine = peer.make({.workers = setting.workers, .actors = setting.trace.actors.size()});
    RunFigures figures = run->through(*engine);
    if (figures.stuck)
        (void)engine.release();
    engine.reset();  // a job that runs twice may still be about to
    run->add_delays(figures);
    if (figures.stuck)
        (void)run.release();
    return figures;
}

}  // namespace perf::replay
