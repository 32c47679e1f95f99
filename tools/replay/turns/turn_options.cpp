#include "turns/turn_options.hpp"

#include <map>
#include <string>

namespace sluice::replay {

void declare_turn_options(CLI::App& app, TurnOptions& options) {
    const char* const group = "Gate (--engine gate; simulated time)";
    app.add_option("--turns", options.max_turns, "Turns in flight at once (default: 32)")
        ->check(CLI::Range(1, 65'535))
        ->type_name("N")
        ->group(group);
    app.add_option("--queue", options.queue, "Turns that may wait (default: 256)")
        ->check(CLI::Range(0, 32'767))
        ->type_name("N")
        ->group(group);
    app.add_option("--max-wait", options.max_wait_s, "Longest wait, in seconds (default: 60)")
        ->check(CLI::Range(0.001, 86'400.0))
        ->type_name("S")
        ->group(group);
    app.add_option("--sessions", options.max_sessions, "Live sessions at once (default: 1000000)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N")
        ->group(group);
    app.add_option("--start-interval", options.start_interval_s,
                   "Seconds between sessions' starts (default: 0)")
        ->check(CLI::Range(0.0, 3'600.0))
        ->type_name("S")
        ->group(group);
    app.add_option("--requests-per-minute", options.requests_per_minute,
                   "What the provider takes (default: 240)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N")
        ->group(group);
    app.add_option("--tokens-per-minute", options.tokens_per_minute,
                   "What the provider takes (default: 2800000)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}))
        ->type_name("N")
        ->group(group);
    app.add_option("--backoff", options.backoff_s, "First pause after a rate limit, in seconds (default: 1)")
        ->check(CLI::Range(0.001, 3'600.0))
        ->type_name("S")
        ->group(group);
    app.add_option("--backoff-jitter", options.backoff_jitter,
                   "Random share by which a pause is longer (default: 0)")
        ->check(CLI::Range(0.0, 1.0))
        ->type_name("J")
        ->group(group);
    app.add_option("--attempts", options.attempts, "Tries of a turn that the provider refuses (default: 8)")
        ->check(CLI::Range(1, 1'000))
        ->type_name("N")
        ->group(group);
    static const std::map<std::string, AdaptiveKind> kinds{
        {"fixed", AdaptiveKind::fixed}, {"aimd", AdaptiveKind::aimd}, {"gradient", AdaptiveKind::gradient}};
    app.add_option("--adaptive", options.adaptive,
                   "What the limit follows: fixed, aimd or gradient (default: fixed)")
        ->transform(CLI::Transformer(kinds))
        ->type_name("KIND")
        ->group(group);
    app.add_flag("--round-robin", options.round_robin,
                 "Sessions take turns instead of first come, first served")
        ->group(group);
}

}  // namespace sluice::replay
