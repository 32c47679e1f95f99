// A run that never happened: rows, a plan and records made by hand, for what looks at runs afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pacer.hpp"
#include "recorder.hpp"
#include "report.hpp"
#include "trace/trace.hpp"

namespace replay_test {

using namespace sluice::replay;  // NOLINT(google-build-using-namespace): tests of that namespace

/// One job: who, what, when it was meant to arrive, and when it started and ended. Times are nanoseconds.
struct Scripted {
    std::uint32_t actor = 0;
    sluice::Lane lane = sluice::Lane::pure_read;
    std::uint64_t arrival = 0;
    std::uint64_t started = 0;
    std::uint64_t ended = 0;  ///< 0: did not run
    std::uint64_t installing = 0;
    sluice::JobClass job_class = sluice::JobClass::interactive;
    std::uint64_t service_us = 1;
    Fate fate = Fate::accepted;
    bool dropped = false;
};

struct ScriptedRun {
    LoadedTrace loaded;
    Plan plan;
    Recorder recorder;
    Options options;
    RunFacts facts;

    explicit ScriptedRun(const std::vector<Scripted>& jobs) : recorder(jobs.size()) {
        options.trace = "made-up.csv";
        facts.workers = 2;
        for (std::uint32_t i = 0; i < jobs.size(); ++i)
            add(i, jobs[i]);
        facts.last.interactive.jobs.succeeded = interactive_ran_;
    }

    [[nodiscard]] Report report() const {
        return make_report(loaded, plan, recorder, options, facts);
    }

private:
    void add(std::uint32_t number, const Scripted& job) {
        while (loaded.trace.actors.size() <= job.actor) {
            // Not "a" + ...: g++ 12 warns of an overlap in its own library there.
            loaded.trace.actors.push_back(
                std::string(1, 'a').append(std::to_string(loaded.trace.actors.size())));
        }
        loaded.trace.rows.push_back({.arrival_us = job.arrival / 1000,
                                     .service_us = job.service_us,
                                     .bytes = 0,
                                     .actor = job.actor,
                                     .lane = job.lane,
                                     .job_class = job.job_class});
        plan.jobs.push_back({job.arrival, number});
        plan.work_ns += job.service_us * 1000;
        recorder.submission(number) = {.called = job.arrival + 10, .call_ns = 60, .fate = job.fate};
        JobRecord& record = recorder.record(number);
        record.started = job.started;
        record.installing = job.installing;
        record.ended_at = job.ended;
        record.dropped = job.dropped;
        if (job.ended != 0)
            record.starts = 1;
        count(job);
    }

    // What an executor that did all this would tell.
    void count(const Scripted& job) {
        sluice::JobTotals& totals = facts.last.jobs;
        if (job.fate == Fate::refused_queue_full)
            ++facts.last.refused.queue_full;
        if (job.fate == Fate::refused_otherwise)
            ++facts.last.refused.other;
        if (job.fate != Fate::accepted)
            return;
        ++totals.accepted;
        if (job.dropped)
            ++totals.shut_down;
        if (job.ended == 0)
            return;
        ++totals.succeeded;
        if (job.job_class == sluice::JobClass::interactive)
            ++interactive_ran_;
        const bool exclusive = job.lane == sluice::Lane::mutating || job.lane == sluice::Lane::heavy_init;
        if (exclusive)
            ++facts.context_changes;
    }

    std::uint64_t interactive_ran_ = 0;
};

inline constexpr auto reading = sluice::Lane::pure_read;
inline constexpr auto serial = sluice::Lane::serial_status;
inline constexpr auto heavy = sluice::Lane::heavy_init;
inline constexpr auto mutating = sluice::Lane::mutating;
inline constexpr auto maintenance = sluice::JobClass::maintenance;

}  // namespace replay_test
