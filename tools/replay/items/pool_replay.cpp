#include "items/pool_replay.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <memory_resource>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arrival.hpp"
#include "counting_resource.hpp"
#include "items/pool_options.hpp"
#include "jobs.hpp"
#include "os.hpp"
#include "progress.hpp"
#include "recorder.hpp"
#include "tracker.hpp"

namespace sluice::replay {
namespace {

constexpr auto tick = std::chrono::milliseconds(20);
constexpr std::uint64_t snapshot_every_ns = 100'000'000;

/// The closure of one item: takes its service time, and marks its record.
struct PoolJob : TimedJob {
    void operator()() {
        const std::uint64_t ended = work();
        token.finish(ended);
    }
};

/// Everything that threads of the run use, in one place that can be left alone if they do not end.
class PoolSession {
public:
    PoolSession(const LoadedTrace& loaded, const Options& options, Plan plan, const LaneMap& map,
                std::unique_ptr<CountingResource> memory, BoundedPool pool,
                const std::atomic<bool>& interrupted)
        : loaded_(loaded),
          options_(options),
          interrupted_(interrupted),
          plan_(std::move(plan)),
          map_(map),
          memory_(std::move(memory)),
          recorder_(plan_.jobs.size()),
          setting_{recorder_, options.work, cut_short_},
          refusals_(pool.config().lanes.size()),
          tracker_(plan_, recorder_),
          progress_(options.progress, options.quiet),
          pool_(std::move(pool)) {}

    PoolReport run();

private:
    [[nodiscard]] PoolLane lane_of(std::size_t job) const {
        const Row& row = loaded_.trace.rows[plan_.jobs[job].row];
        return map_.at(static_cast<std::size_t>(row.lane)).at(static_cast<std::size_t>(row.job_class));
    }
    void submit_all();
    void submit(std::size_t job);
    void count_refusal(PoolLaneReport& lane, const Error& error) const;
    void look();
    void fill_lanes(PoolReport& report) const;

    const LoadedTrace& loaded_;
    const Options& options_;
    const std::atomic<bool>& interrupted_;
    Plan plan_;
    LaneMap map_;
    std::unique_ptr<CountingResource> memory_;
    Recorder recorder_;
    std::atomic<bool> cut_short_{false};  // relaxed: jobs may notice late
    JobSetting setting_;
    std::vector<PoolLaneReport> refusals_;  // the submitter's; read after it was joined
    std::atomic<std::size_t> submitted_{0};
    std::atomic<bool> finished_{false};
    Tracker tracker_;
    Progress progress_;
    std::uint64_t next_snapshot_ns_ = snapshot_every_ns;
    std::uint64_t last_over_ns_ = 0;
    std::size_t last_over_ = 0;
    PoolReport report_;
    BoundedPool pool_;  // last, so that its threads end before what they use
};

void PoolSession::count_refusal(PoolLaneReport& lane, const Error& error) const {
    const std::string_view bound = error.limit().name;
    if (error == ErrorCode::never_fits) {
        ++lane.refused_never_fits;
    } else if (error != ErrorCode::queue_full) {
        ++lane.refused_otherwise;
    } else if (bound == "total") {
        ++lane.refused_total;
    } else {
        ++(bound == "lane" ? lane.refused_lane : lane.refused_bytes);
    }
}

void PoolSession::submit(std::size_t job) {
    const Row& row = loaded_.trace.rows[plan_.jobs[job].row];
    const std::string& actor = loaded_.trace.actors[row.actor];
    const ItemMeta meta{
        .group_id = actor.size() <= max_name_bytes ? std::string_view(actor) : std::string_view{},
        .bytes = row.bytes};
    Submission& submission = recorder_.submission(job);
    submission.called = recorder_.now();
    PoolJob closure{{JobToken(recorder_.record(job)), &setting_, plan_.service_ns(row)}};
    const PoolLane lane = lane_of(job);
    const Result<void> result = pool_.post(lane, meta, std::move(closure));
    if (result) {
        submission.fate = Fate::accepted;
        return;
    }
    closure.token.release();  // refused, so the closure is as it was
    count_refusal(refusals_[lane.index], result.error());
    submission.fate =
        result.error() == ErrorCode::queue_full ? Fate::refused_queue_full : Fate::refused_otherwise;
}

void PoolSession::submit_all() {
    os::sleep_precisely();
    for (std::size_t job = 0;
         job < plan_.jobs.size() && wait_for_arrival(recorder_, plan_.jobs[job].arrival_ns, interrupted_);
         ++job) {
        submit(job);
        submitted_.store(job + 1, std::memory_order_release);  // pairs with look()
    }
    finished_.store(true, std::memory_order_release);
}

void PoolSession::look() {
    const std::uint64_t now = recorder_.now();
    tracker_.update(submitted_.load(std::memory_order_acquire));
    if (tracker_.over() != last_over_ || tracker_.open() == 0) {
        last_over_ = tracker_.over();
        last_over_ns_ = now;
    }
    report_.stuck = now - last_over_ns_ > std::uint64_t{options_.patience_s} * 1'000'000'000;
    if (now >= next_snapshot_ns_) {
        next_snapshot_ns_ = now + snapshot_every_ns;
        const PoolTotals t = pool_.snapshot().items;
        ++report_.snapshots;
        if (t.accepted != t.queued + t.running + t.ran + t.thrown + t.cancelled + t.discarded)
            ++report_.snapshots_uneven;
    }
    if (interrupted_.load(std::memory_order_relaxed) || !progress_.due(now))
        return;
    progress_.show({.elapsed_ns = now,
                    .done = tracker_.over(),
                    .total = plan_.jobs.size(),
                    .in_flight = tracker_.open(),
                    .queue_delay_p99_ns = tracker_.queue_delay_p99(),
                    .schedule_ns = plan_.jobs.back().arrival_ns});
}

void PoolSession::fill_lanes(PoolReport& report) const {
    const auto since = [](std::uint64_t later, std::uint64_t earlier) {
        return later > earlier ? later - earlier : 0;
    };
    report.lanes = refusals_;
    for (std::size_t i = 0; i < report.lanes.size(); ++i) {
        report.lanes[i].name = pool_.config().lanes[i].name;
        report.lanes[i].limit = pool_.config().lanes[i].limit;
    }
    for (std::size_t job = 0; job < plan_.jobs.size(); ++job) {
        PoolLaneReport& lane = report.lanes[lane_of(job).index];
        const JobRecord& record = recorder_.records()[job];
        ++lane.planned;
        const Fate fate = recorder_.submissions()[job].fate;
        lane.not_submitted += fate == Fate::not_submitted ? 1U : 0U;
        if (fate != Fate::accepted)
            continue;
        ++lane.accepted;
        lane.started_again += record.starts.load(std::memory_order_relaxed) > 1 ? 1U : 0U;
        const std::uint64_t ended = record.ended();
        if (ended == 0) {
            ++(record.dropped.load(std::memory_order_relaxed) ? lane.dropped : lane.lost);
            continue;
        }
        ++lane.ran;
        report.wall_ns = std::max(report.wall_ns, ended);
        if (record.cut_short.load(std::memory_order_relaxed)) {
            ++lane.cut_short;
            continue;
        }
        lane.queue_delay.record(since(record.started, plan_.jobs[job].arrival_ns));
        lane.latency.record(since(ended, plan_.jobs[job].arrival_ns));
    }
    report.total.name = "all";
    report.total.limit = report.max_queued;
    for (const PoolLaneReport& lane : report.lanes)
        report.total.add(lane);
}

PoolReport PoolSession::run() {
    const os::ProcessUsage before = os::process_usage();
    const std::uint64_t allocations = memory_->allocations();
    recorder_.start(Clock::now());
    std::thread submitter([this] { submit_all(); });
    while (!finished_.load(std::memory_order_acquire)) {
        std::this_thread::sleep_for(tick);
        look();
    }
    submitter.join();
    pool_.shutdown(Shutdown::drain);
    while (!report_.stuck && !pool_.wait_shut_down_for(tick)) {
        if (interrupted_.load(std::memory_order_relaxed)) {
            pool_.shutdown(Shutdown::cancel);  // before the rest is cut short, or all behind would start
            cut_short_.store(true, std::memory_order_relaxed);
        }
        look();
    }
    progress_.clear();
    const os::ProcessUsage now = os::process_usage();
    report_.cpu_ns = now.user_ns - before.user_ns + now.system_ns - before.system_ns;
    report_.allocations = memory_->allocations() - allocations;
    report_.trace_name = options_.trace;
    report_.rows = loaded_.trace.rows.size();
    report_.pace = plan_.pace;
    report_.speed = plan_.speed;
    report_.utilisation = plan_.utilisation;
    report_.workers = pool_.config().workers;
    report_.max_queued = pool_.config().max_queued;
    report_.max_queued_bytes = pool_.config().max_queued_bytes;
    report_.patience_s = options_.patience_s;
    report_.interrupted = interrupted_.load(std::memory_order_relaxed);
    report_.last = pool_.snapshot();
    fill_lanes(report_);
    return report_;
}

}  // namespace

std::expected<PoolReport, Failure> replay_pool(const LoadedTrace& loaded, const Options& options,
                                               const std::atomic<bool>& interrupted) {
    auto setup = make_pool_setup(options.pool, options.workers, options.max_queued);
    if (!setup)
        return std::unexpected(Failure{ExitCode::usage, std::move(setup).error()});
    auto memory = std::make_unique<CountingResource>(*std::pmr::new_delete_resource());
    setup->config.memory = memory.get();
    auto pool = BoundedPool::create(setup->config);
    if (!pool)
        return std::unexpected(Failure{ExitCode::executor, std::string(pool.error().message())});
    auto plan = make_plan(loaded.trace.rows, {.pace = options.pace,
                                              .workers = pool->config().workers,
                                              .service_scale = options.service_scale,
                                              .repeat = options.repeat,
                                              .jitter = options.jitter,
                                              .seed = options.seed});
    if (!plan)
        return std::unexpected(Failure{ExitCode::input, std::move(plan).error()});
    try {
        auto session = std::make_unique<PoolSession>(loaded, options, *std::move(plan), setup->map,
                                                     std::move(memory), *std::move(pool), interrupted);
        PoolReport report = session->run();
        if (report.stuck)
            (void)session.release();
        return report;
    } catch (const std::system_error& error) {
        return std::unexpected(
            Failure{ExitCode::executor, fmt::format("the submitter's thread: {}", error.what())});
    }
}

}  // namespace sluice::replay
