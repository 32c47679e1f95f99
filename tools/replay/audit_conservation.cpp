#include <cstddef>

#include "audit.hpp"
#include "report.hpp"

namespace sluice::replay {
namespace {

// What the jobs' own records say beside the counts.
struct Marks {
    std::uint64_t started_again = 0;    // starts beyond the first
    std::uint64_t ran_and_dropped = 0;  // two marks on one job
    std::uint64_t never_accepted = 0;   // a mark on a job that was refused or never submitted
    std::uint64_t torn = 0;
    std::uint64_t exclusive_steps = 0;  // mutating jobs and installs that ended
    std::uint64_t interactive_ran = 0;
};

Marks count_marks(const Trace& trace, const Plan& plan, const Recorder& recorder) {
    Marks marks;
    for (std::size_t job = 0; job < plan.jobs.size(); ++job) {
        const JobRecord& record = recorder.records()[job];
        const std::uint32_t starts = record.starts.load(std::memory_order_relaxed);
        const bool dropped = record.dropped.load(std::memory_order_relaxed);
        const bool ran = record.ended() != 0;
        if (starts > 1)
            marks.started_again += starts - 1;
        if (ran && dropped)
            ++marks.ran_and_dropped;
        if ((starts > 0 || ran || dropped) && recorder.submissions()[job].fate != Fate::accepted) {
            ++marks.never_accepted;
        }
        if (record.torn.load(std::memory_order_relaxed))
            ++marks.torn;
        if (!ran)
            continue;
        const Row& row = trace.rows[plan.jobs[job].row];
        if (row.lane == Lane::mutating || row.lane == Lane::heavy_init)
            ++marks.exclusive_steps;
        if (row.job_class == JobClass::interactive)
            ++marks.interactive_ran;
    }
    return marks;
}

}  // namespace

std::vector<Check> check_conservation(const Counts& jobs, const Trace& trace, const Plan& plan,
                                      const Recorder& recorder, const RunFacts& facts) {
    const Marks marks = count_marks(trace, plan, recorder);
    const JobTotals& theirs = facts.last.jobs;
    return {
        {"all planned jobs are accounted for", jobs.planned,
         jobs.not_submitted + jobs.refused() + jobs.accepted},
        {"all accepted jobs ran or were dropped", jobs.accepted, jobs.ran + jobs.dropped},
        {"no job started twice", marks.started_again, 0},
        {"no job both ran and was dropped", marks.ran_and_dropped, 0},
        {"no job ran that was not accepted", marks.never_accepted, 0},
        {"no reader saw its context change", marks.torn, 0},
        {"no exclusive step was lost from its actor's context", facts.context_changes, marks.exclusive_steps},
        {"the executor accepted as many", theirs.accepted, jobs.accepted},
        {"the executor refused as many", facts.last.refused.total(), jobs.refused()},
        {"the executor's jobs in are its jobs out", theirs.accepted, theirs.completed()},
        {"the executor ran as many", theirs.succeeded, jobs.ran},
        {"the executor ran as many interactive ones", facts.last.interactive.jobs.succeeded,
         marks.interactive_ran},
        {"the executor has none queued or running", theirs.queued + theirs.running, 0},
        {"all snapshots during the run added up", facts.snapshots_uneven, 0},
    };
}

}  // namespace sluice::replay
