#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "audit.hpp"

namespace sluice::replay {
namespace {

// The part of a job's time in which its actor's rules bind it.
struct Interval {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::size_t job = 0;
    bool exclusive = false;
    bool serial = false;
};

// The latest end seen so far, and whose it is.
struct Latest {
    std::uint64_t end = 0;
    std::size_t job = 0;
    void see(std::uint64_t other_end, std::size_t other_job) noexcept {
        if (other_end > end)
            *this = {other_end, other_job};
    }
};

class Auditor {
public:
    Auditor(const Trace& trace, const Plan& plan, const Recorder& recorder)
        : trace_(trace), plan_(plan), records_(recorder.records()) {}

    OrderAudit run();

private:
    void audit_actor(std::span<const std::size_t> jobs);
    void audit_exclusion(std::span<const std::size_t> jobs);
    void audit_queue(std::span<const std::size_t> jobs, JobClass job_class);
    void complain_if_early(std::uint64_t begin, std::size_t job, const Latest& other, std::string_view what);

    [[nodiscard]] const Row& row(std::size_t job) const {
        return trace_.rows[plan_.jobs[job].row];
    }
    [[nodiscard]] std::string describe(std::size_t job) const {
        return fmt::format("job {} ({}, {})", job, lane_word(row(job).lane), class_word(row(job).job_class));
    }

    const Trace& trace_;
    const Plan& plan_;
    std::span<const JobRecord> records_;
    std::vector<Interval> intervals_;
    OrderAudit audit_;
};

void Auditor::complain_if_early(std::uint64_t begin, std::size_t job, const Latest& other,
                                std::string_view what) {
    if (begin >= other.end)
        return;
    if (++audit_.violations > OrderAudit::examples_kept)
        return;
    audit_.examples.push_back(fmt::format("actor {}: {} began at {} ns, {} {}, which ended at {} ns",
                                          trace_.actors[row(job).actor], describe(job), begin, what,
                                          describe(other.job), other.end));
}

// In the order of their beginnings, nothing begins inside what excludes it.
void Auditor::audit_exclusion(std::span<const std::size_t> jobs) {
    intervals_.clear();
    for (const std::size_t job : jobs) {
        const JobRecord& record = records_[job];
        const Lane lane = row(job).lane;
        intervals_.push_back({.begin = lane == Lane::heavy_init ? record.installing : record.started,
                              .end = record.ended(),
                              .job = job,
                              .exclusive = lane == Lane::mutating || lane == Lane::heavy_init,
                              .serial = lane == Lane::serial_status});
    }
    std::ranges::sort(intervals_, {}, [](const Interval& i) { return std::tuple(i.begin, i.end); });
    Latest anything, exclusive, serial;
    for (const Interval& now : intervals_) {
        complain_if_early(now.begin, now.job, now.exclusive ? anything : exclusive, "inside");
        if (now.serial)
            complain_if_early(now.begin, now.job, serial, "inside");
        anything.see(now.end, now.job);
        if (now.exclusive)
            exclusive.see(now.end, now.job);
        if (now.serial)
            serial.see(now.end, now.job);
    }
}

// In the order of submission, nothing overtakes across a barrier. A build is bound by the mutations before it and binds
// nothing behind it: it counts as neither reader nor writer.
void Auditor::audit_queue(std::span<const std::size_t> jobs, JobClass job_class) {
    Latest before, mutation;
    for (const std::size_t job : jobs) {
        if (row(job).job_class != job_class)
            continue;
        const Lane lane = row(job).lane;
        const JobRecord& record = records_[job];
        complain_if_early(record.started, job, lane == Lane::mutating ? before : mutation,
                          "ahead of the earlier");
        if (lane == Lane::heavy_init)
            continue;
        before.see(record.ended(), job);
        if (lane == Lane::mutating)
            mutation.see(record.ended(), job);
    }
}

void Auditor::audit_actor(std::span<const std::size_t> jobs) {
    audit_.jobs += jobs.size();
    audit_exclusion(jobs);
    audit_queue(jobs, JobClass::interactive);
    audit_queue(jobs, JobClass::maintenance);
}

OrderAudit Auditor::run() {
    // Jobs that ran, in the order of submission, grouped by actor: a counting sort keeps it linear.
    std::vector<std::size_t> first(trace_.actors.size() + 1, 0);
    for (std::size_t job = 0; job < plan_.jobs.size(); ++job) {
        if (records_[job].ended() != 0)
            ++first[row(job).actor + 1];
    }
    for (std::size_t actor = 1; actor < first.size(); ++actor)
        first[actor] += first[actor - 1];
    std::vector<std::size_t> jobs(first.back());
    std::vector<std::size_t> next = first;
    for (std::size_t job = 0; job < plan_.jobs.size(); ++job) {
        if (records_[job].ended() != 0)
            jobs[next[row(job).actor]++] = job;
    }
    for (std::size_t actor = 0; actor + 1 < first.size(); ++actor) {
        audit_actor(std::span(jobs).subspan(first[actor], first[actor + 1] - first[actor]));
    }
    return std::move(audit_);
}

}  // namespace

OrderAudit audit_order(const Trace& trace, const Plan& plan, const Recorder& recorder) {
    return Auditor(trace, plan, recorder).run();
}

}  // namespace sluice::replay
