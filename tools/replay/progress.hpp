// The progress of a run on standard error: one line redrawn on a terminal, a line a second elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "options.hpp"

namespace sluice::replay {

/// How far a run has come.
struct ProgressState {
    std::uint64_t elapsed_ns = 0;
    std::size_t done = 0;
    std::size_t total = 0;
    std::size_t in_flight = 0;
    std::uint64_t queue_delay_p99_ns = 0;
    std::uint64_t schedule_ns = 0;  ///< when the last job is meant to arrive
};

/// Time until the end: of the schedule, or of the jobs at the rate so far, whichever comes later. PURE.
[[nodiscard]] std::uint64_t remaining_ns(const ProgressState& state) noexcept;

/// One line, at most `columns` wide; with a bar where there is room for one. PURE.
[[nodiscard]] std::string progress_line(const ProgressState& state, std::size_t columns);

/// Draws. One thread owns it; its destructor leaves the terminal on a fresh line.
class Progress {
public:
    static constexpr std::uint64_t redraw_every_ns = 100'000'000;
    static constexpr std::uint64_t print_every_ns = 1'000'000'000;

    Progress(ProgressMode mode, bool quiet);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() {
        clear();
    }

    /// Whether show() would draw now: lets the caller save the work of finding out.
    [[nodiscard]] bool due(std::uint64_t elapsed_ns) const noexcept {
        return kind_ != Kind::none && elapsed_ns >= next_;
    }
    void show(const ProgressState& state);
    /// Takes the live line away, for a report to stand there.
    void clear();

private:
    enum class Kind : std::uint8_t { none, live, lines };

    Kind kind_;
    std::uint64_t next_;
    bool drawn_ = false;
};

}  // namespace sluice::replay
