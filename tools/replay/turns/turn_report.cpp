#include "turns/turn_report.hpp"

#include <array>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sluice/version.hpp>

#include "text.hpp"

namespace sluice::replay {
namespace {

using Json = nlohmann::ordered_json;
using observe::Histogram;

constexpr std::string_view turn_schema = "sluice-replay-turns/1";

double share(std::uint64_t used, std::uint64_t each_minute, std::uint64_t span_ns) {
    const double minutes = static_cast<double>(span_ns) / 60e9;
    return minutes > 0 ? static_cast<double>(used) / (static_cast<double>(each_minute) * minutes) : 0;
}

std::string_view name_of(AdaptiveKind kind) {
    constexpr std::array<std::string_view, 3> names{"fixed", "aimd", "gradient"};
    return names.at(static_cast<std::size_t>(kind));
}

Json distribution(const Histogram& values) {
    return {{"count", values.count()},     {"mean", values.mean()},        {"p50", values.quantile(0.5)},
            {"p90", values.quantile(0.9)}, {"p99", values.quantile(0.99)}, {"p999", values.quantile(0.999)},
            {"max", values.max()}};
}

std::string durations(std::string_view name, const Histogram& values) {
    return fmt::format("  {:<22} {:>9} {:>9} {:>9} {:>9}\n", name, duration(values.quantile(0.5)),
                       duration(values.quantile(0.9)), duration(values.quantile(0.99)),
                       duration(values.max()));
}

}  // namespace

bool TurnReport::sound() const {
    return accounted() == turns && last.admitted == last.released + last.in_flight && last.in_flight == 0 &&
           last.queued == last.left_queue() + last.waiting && last.waiting == 0 && last.live_sessions == 0 &&
           last.admitted_from_queue == admitted_from_queue &&
           last.admitted == admitted_from_queue + admitted_at_once;
}

double TurnReport::share_of_requests() const {
    return share(requests_taken, options.requests_per_minute, span_ns);
}
double TurnReport::share_of_tokens() const {
    return share(tokens_taken, options.tokens_per_minute, span_ns);
}

std::string turn_report_text(const TurnReport& r) {
    std::string text;
    auto out = std::back_inserter(text);
    fmt::format_to(out, "trace      {}: {} in {}, speed {:g}, {} of simulated time\n", r.trace_name,
                   counted(r.turns, "turn"), counted(r.sessions, "session"), r.speed, duration(r.span_ns));
    fmt::format_to(out, "gate       {} at once ({}), {} may wait for {}, {}\n",
                   counted(r.options.max_turns, "turn"), name_of(r.options.adaptive),
                   grouped(r.options.queue), duration(static_cast<std::uint64_t>(r.options.max_wait_s * 1e9)),
                   r.options.round_robin ? "sessions take turns" : "first come, first served");
    fmt::format_to(out, "provider   {} and {} tokens a minute\n",
                   counted(r.options.requests_per_minute, "request"), grouped(r.options.tokens_per_minute));
    fmt::format_to(out, "turns      {} = {} served + {} rejected + {} expired + {} failed", grouped(r.turns),
                   grouped(r.served), grouped(r.rejected), grouped(r.expired), grouped(r.failed));
    if (r.without_session + r.cancelled + r.not_reached > 0)
        fmt::format_to(out, " + {} without a session + {} cancelled + {} not reached",
                       grouped(r.without_session), grouped(r.cancelled), grouped(r.not_reached));
    fmt::format_to(out, "\n           {}\n",
                   r.sound() ? "every turn has one outcome, and the gate's books balance"
                             : "BROKEN: the numbers do not add up");
    fmt::format_to(out, "admitted   {} at once, {} from the queue; at most {} in flight, {} waiting\n",
                   grouped(r.admitted_at_once), grouped(r.admitted_from_queue), grouped(r.peak_in_flight),
                   grouped(r.peak_waiting));
    fmt::format_to(out, "positions  {} at the median when queued, {} at p99, {} at most; told {} times\n",
                   r.position.quantile(0.5), r.position.quantile(0.99), r.position.max(),
                   grouped(r.positions_told));
    fmt::format_to(out, "backoff    {} began after {}, {} in all", counted(r.pauses, "pause"),
                   counted(r.rate_limits, "rate limit"), duration(r.paused_ns));
    if (r.options.adaptive != AdaptiveKind::fixed)
        fmt::format_to(out, "; the limit came down to {}", r.least_limit);
    fmt::format_to(out, "\nused       {:.1f} % of the provider's tokens, {:.1f} % of its requests\n\n",
                   100 * r.share_of_tokens(), 100 * r.share_of_requests());
    fmt::format_to(out, "  {:<22} {:>9} {:>9} {:>9} {:>9}\n", "", "p50", "p90", "p99", "max");
    text += durations("wait of served turns", r.wait_ns);
    text += durations("from arrival to end", r.latency_ns);
    if (r.options.start_interval_s > 0)
        text += durations("sessions' start delay", r.session_start_ns);
    return text;
}

std::string turn_report_json(const TurnReport& r) {
    const Json json = {
        {"schema", turn_schema},
        {"version", library_version_text()},
        {"trace", {{"name", r.trace_name}, {"turns", r.turns}, {"sessions", r.sessions}}},
        {"run",
         {{"engine", "gate"},
          {"seed", r.seed},
          {"speed", r.speed},
          {"turns_at_once", r.options.max_turns},
          {"queue", r.options.queue},
          {"max_wait_s", r.options.max_wait_s},
          {"max_sessions", r.options.max_sessions},
          {"start_interval_s", r.options.start_interval_s},
          {"requests_per_minute", r.options.requests_per_minute},
          {"tokens_per_minute", r.options.tokens_per_minute},
          {"backoff_s", r.options.backoff_s},
          {"backoff_jitter", r.options.backoff_jitter},
          {"attempts", r.options.attempts},
          {"adaptive", name_of(r.options.adaptive)},
          {"order", r.options.round_robin ? "round_robin" : "fifo"},
          {"interrupted", r.interrupted}}},
        {"simulated_ns", r.span_ns},
        {"outcomes",
         {{"served", r.served},
          {"rejected", r.rejected},
          {"expired", r.expired},
          {"failed", r.failed},
          {"without_session", r.without_session},
          {"cancelled", r.cancelled},
          {"not_reached", r.not_reached}}},
        {"admitted", {{"at_once", r.admitted_at_once}, {"from_queue", r.admitted_from_queue}}},
        {"peak",
         {{"in_flight", r.peak_in_flight}, {"waiting", r.peak_waiting}, {"sessions", r.peak_sessions}}},
        {"wait_ns", distribution(r.wait_ns)},
        {"latency_ns", distribution(r.latency_ns)},
        {"session_start_ns", distribution(r.session_start_ns)},
        {"position", distribution(r.position)},
        {"positions_told", r.positions_told},
        {"backoff", {{"rate_limits", r.rate_limits}, {"pauses", r.pauses}, {"paused_ns", r.paused_ns}}},
        {"least_limit", r.least_limit},
        {"provider",
         {{"requests_taken", r.requests_taken},
          {"tokens_taken", r.tokens_taken},
          {"share_of_requests", r.share_of_requests()},
          {"share_of_tokens", r.share_of_tokens()}}},
        {"sound", r.sound()}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace sluice::replay
