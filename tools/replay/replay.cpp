#include "replay.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <memory_resource>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sluice/executor.hpp>

#include "counting_resource.hpp"
#include "driver.hpp"
#include "os.hpp"
#include "progress.hpp"
#include "tracker.hpp"

namespace sluice::replay {
namespace {

// How often this thread looks whether the run is over: short runs end this much late, and nothing is measured by it.
constexpr auto tick = std::chrono::milliseconds(20);
constexpr std::uint64_t look_every_ns = 100'000'000;
constexpr std::uint64_t snapshot_every_ns = 1'000'000'000;

Config make_config(const Options& options, CountingResource& memory) {
    Config config;
    if (options.workers > 0)
        config.pool_size = options.workers;
    if (options.max_queued > 0)
        config.max_queued = static_cast<std::int64_t>(options.max_queued);
    config.policy = options.policy == Policy::dedicated ? SchedulerPolicy::dedicated : SchedulerPolicy::lent;
    config.thread_name_prefix = "replay";
    config.memory = &memory;
    return config;
}

std::uint64_t longest_service_ns(const Trace& trace, const Plan& plan) {
    std::uint64_t longest = 0;
    for (const Row& row : trace.rows)
        longest = std::max(longest, plan.service_ns(row));
    return longest;
}

// Everything that threads of the run use, in one place that can be left alone if they do not end.
class Session {
public:
    Session(const LoadedTrace& loaded, const Options& options, Plan plan,
            std::unique_ptr<CountingResource> memory, Executor executor, const std::atomic<bool>& interrupted)
        : loaded_(loaded),
          options_(options),
          interrupted_(interrupted),
          plan_(std::move(plan)),
          memory_(std::move(memory)),
          recorder_(plan_.jobs.size()),
          setting_{recorder_, options.work, cut_short_},
          driver_(loaded.trace, plan_, recorder_, setting_, *memory_, interrupted),
          tracker_(plan_, recorder_),
          progress_(options.progress, options.quiet),
          patience_ns_(std::uint64_t{options.patience_s} * 1'000'000'000 +
                       longest_service_ns(loaded.trace, plan_)),
          executor_(std::move(executor)) {}

    void prepare() {
        driver_.add_actors(executor_);
    }
    Report run();

private:
    void drain();
    void look();
    void watch_over(std::uint64_t now);
    Usage usage_since(const os::ProcessUsage& before, std::uint64_t allocations) const;

    const LoadedTrace& loaded_;
    const Options& options_;
    const std::atomic<bool>& interrupted_;
    Plan plan_;
    std::unique_ptr<CountingResource> memory_;
    Recorder recorder_;
    std::atomic<bool> cut_short_{false};  // relaxed: jobs may notice late
    JobSetting setting_;
    Driver driver_;
    Tracker tracker_;
    Progress progress_;
    RunFacts facts_;
    std::uint64_t next_look_ns_ = 0;
    std::uint64_t next_snapshot_ns_ = snapshot_every_ns;
    std::uint64_t patience_ns_;
    std::uint64_t last_over_ns_ = 0;  // when tracker_.over() was last seen to change, or nothing was open
    std::size_t last_over_ = 0;
    Executor executor_;  // last, so that its threads end before what they use
};

Usage Session::usage_since(const os::ProcessUsage& before, std::uint64_t allocations) const {
    const os::ProcessUsage now = os::process_usage();
    const std::uint64_t all = memory_->allocations();
    return {.cpu_user_ns = now.user_ns - before.user_ns,
            .cpu_system_ns = now.system_ns - before.system_ns,
            .submitter_cpu_ns = driver_.submitter_cpu_ns(),
            .voluntary_switches = now.voluntary_switches - before.voluntary_switches,
            .involuntary_switches = now.involuntary_switches - before.involuntary_switches,
            .allocations = all - allocations,
            .allocations_second_half = all - driver_.allocations_at_half(),
            .peak_memory_bytes = memory_->peak_bytes()};
}

// A run in which something waits and nothing ends is stuck: better a report that says so than a hang.
void Session::watch_over(std::uint64_t now) {
    if (tracker_.over() != last_over_ || tracker_.open() == 0) {
        last_over_ = tracker_.over();
        last_over_ns_ = now;
    }
    facts_.stuck = now - last_over_ns_ > patience_ns_;
}

void Session::look() {
    const std::uint64_t now = recorder_.now();
    if (now < next_look_ns_)
        return;
    next_look_ns_ = now + look_every_ns;
    tracker_.update(driver_.submitted());
    watch_over(now);
    if (now >= next_snapshot_ns_) {
        next_snapshot_ns_ = now + snapshot_every_ns;
        const JobTotals jobs = executor_.snapshot().jobs;
        ++facts_.snapshots;
        if (jobs.accepted != jobs.queued + jobs.running + jobs.completed())
            ++facts_.snapshots_uneven;
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

// Lets the accepted jobs end, by running or, after an interrupt, by being cancelled.
void Session::drain() {
    executor_.shutdown(Shutdown::drain);
    while (!facts_.stuck) {
        if (interrupted_.load(std::memory_order_relaxed)) {
            // In this order: cut short first, the jobs behind would all start and end before they could be cancelled.
            executor_.shutdown(Shutdown::cancel);
            cut_short_.store(true, std::memory_order_relaxed);
        }
        const Result<void> ended = executor_.wait_shut_down_for(tick);
        if (ended)
            return;
        if (ended.error() != ErrorCode::timed_out) {
            facts_.executor_errors.emplace_back(ended.error().message());
            return;
        }
        look();
    }
}

Report Session::run() {
    const os::ProcessUsage before = os::process_usage();
    const std::uint64_t allocations = memory_->allocations();
    recorder_.start(Clock::now());
    std::thread submitter([this] { driver_.submit_all(); });
    while (!driver_.finished() && !facts_.stuck) {
        std::this_thread::sleep_for(tick);
        look();
    }
    if (driver_.finished()) {
        submitter.join();
        drain();
    } else {
        submitter.detach();  // inside a call that does not return; the caller ends the process
    }
    facts_.usage = usage_since(before, allocations);
    progress_.clear();
    facts_.interrupted = interrupted_.load(std::memory_order_relaxed);
    facts_.workers = executor_.config().pool_size;
    facts_.max_queued = executor_.config().max_queued;
    facts_.last = executor_.snapshot();
    facts_.context_changes = count_changes(executor_);
    return make_report(loaded_, plan_, recorder_, options_, std::move(facts_));
}

}  // namespace

std::expected<Report, Failure> replay(const LoadedTrace& loaded, const Options& options,
                                      const std::atomic<bool>& interrupted) {
    auto memory = std::make_unique<CountingResource>(*std::pmr::new_delete_resource());
    auto executor = Executor::create(make_config(options, *memory));
    if (!executor)
        return std::unexpected(Failure{ExitCode::executor, std::string(executor.error().message())});

    auto plan = make_plan(loaded.trace.rows, {.pace = options.pace,
                                              .workers = executor->config().pool_size,
                                              .service_scale = options.service_scale,
                                              .repeat = options.repeat,
                                              .jitter = options.jitter,
                                              .seed = options.seed});
    if (!plan)
        return std::unexpected(Failure{ExitCode::input, std::move(plan).error()});

    try {
        auto session = std::make_unique<Session>(loaded, options, *std::move(plan), std::move(memory),
                                                 *std::move(executor), interrupted);
        session->prepare();
        Report report = session->run();
        if (report.facts.stuck)
            (void)session.release();
        return report;
    } catch (const Exception& error) {
        return std::unexpected(Failure{ExitCode::executor, error.what()});
    } catch (const std::system_error& error) {
        return std::unexpected(
            Failure{ExitCode::executor, fmt::format("the submitter's thread: {}", error.what())});
    }
}

}  // namespace sluice::replay
