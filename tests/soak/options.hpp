// The command line of the soak.
#pragma once

#include "books.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::soak {

struct Options {
    double minutes = 1;
    std::optional<std::uint64_t> seed;  ///< none: from the clock
    std::uint64_t first = 0;            ///< the first episode's number
    std::uint64_t episodes = 0;         ///< at most so many; 0: as many as fit
    std::chrono::seconds patience{120};
    std::string
        json;  ///< where the report goes besides; empty: nowhere, "-": standard output, and the text to standard error
    Canary canary = Canary::none;
    bool help = false;
};

inline constexpr std::string_view usage =
    "soak [OPTION...]\n"
    "  --minutes M     how long, default 1; fractions will do\n"
    "  --seed S        repeats the configurations and faults of a run; default: from the clock\n"
    "  --first N       begins with episode N of the seed, default 0\n"
    "  --episodes N    ends after so many\n"
    "  --patience S    seconds that an episode may take before the watchdog gives up, default 120\n"
    "  --json FILE     the report as JSON, besides; - is standard output\n"
    "  --canary KIND   lose-one, twice, leak, grow or hang: plants a fault, so the run must fail\n";

/// Empty: `problem` says what was not understood.
[[nodiscard]] std::optional<Options> parse_options(int argc, const char* const* argv, std::string& problem);

}  // namespace sluice::soak
