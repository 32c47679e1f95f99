#include "progress.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "os.hpp"
#include "text.hpp"

namespace sluice::replay {
namespace {

constexpr std::size_t bar_columns = 20;

std::string bar(double share) {
    const auto full = static_cast<std::size_t>(share * static_cast<double>(bar_columns));
    return '[' + std::string(full, '=') + std::string(bar_columns - full, ' ') + "] ";
}

// Whole seconds are enough for something that is guessed, and do not flicker.
std::string guess_text(std::uint64_t nanoseconds) {
    const std::uint64_t seconds = (nanoseconds + 500'000'000) / 1'000'000'000;
    if (seconds < 100)
        return fmt::format("{} s", seconds);
    if (seconds < 6000)
        return fmt::format("{} min", (seconds + 30) / 60);
    return fmt::format("{:.1f} h", static_cast<double>(seconds) / 3600);
}

}  // namespace

std::uint64_t remaining_ns(const ProgressState& state) noexcept {
    const std::uint64_t schedule =
        state.schedule_ns > state.elapsed_ns ? state.schedule_ns - state.elapsed_ns : 0;
    if (state.done == 0)
        return schedule;
    const double per_job = static_cast<double>(state.elapsed_ns) / static_cast<double>(state.done);
    // While there is a schedule, jobs come no faster than it lets them: only what is in flight is left to the rate.
    const std::size_t left = schedule > 0 ? state.in_flight : state.total - state.done;
    return schedule + static_cast<std::uint64_t>(per_job * static_cast<double>(left));
}

std::string progress_line(const ProgressState& state, std::size_t columns) {
    const double share =
        state.total > 0 ? static_cast<double>(state.done) / static_cast<double>(state.total) : 0;
    const double seconds = static_cast<double>(state.elapsed_ns) * 1e-9;
    std::string line =
        fmt::format("{:>3.0f} %  {} of {}", 100 * share, grouped(state.done), grouped(state.total));
    line += fmt::format("  {:.0f}/s", seconds > 0 ? static_cast<double>(state.done) / seconds : 0);
    line += fmt::format("  {} in flight", grouped(state.in_flight));
    line += fmt::format("  delay p99 {}", duration(state.queue_delay_p99_ns));
    line += fmt::format("  {} left", guess_text(remaining_ns(state)));
    if (line.size() + bar_columns + 3 <= columns)
        line.insert(0, bar(share));
    line.resize(std::min(line.size(), columns));
    return line;
}

Progress::Progress(ProgressMode mode, bool quiet) {
    const bool live =
        mode == ProgressMode::always || (mode == ProgressMode::automatic && os::stderr_is_terminal());
    kind_ = quiet || mode == ProgressMode::never ? Kind::none : live ? Kind::live : Kind::lines;
    next_ = kind_ == Kind::lines ? print_every_ns : redraw_every_ns;
}

void Progress::show(const ProgressState& state) {
    if (!due(state.elapsed_ns))
        return;
    next_ = state.elapsed_ns + (kind_ == Kind::lines ? print_every_ns : redraw_every_ns);
    if (kind_ == Kind::lines) {
        fmt::print(stderr, "{}\n", progress_line(state, 200));
    } else {
        // The last column stays free: writing into it wraps on some terminals.
        fmt::print(stderr, "\r{}\x1b[K", progress_line(state, os::terminal_columns() - 1));
        drawn_ = true;
    }
    std::fflush(stderr);
}

void Progress::clear() {
    if (!drawn_)
        return;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
    drawn_ = false;
}

}  // namespace sluice::replay
