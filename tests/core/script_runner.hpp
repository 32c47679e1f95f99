#pragma once

// Plays a script of tests/scripts (its README.md has the language) against a Scheduler.

#include <string>
#include <string_view>

namespace sluice::core::test {

/// Empty if everything came as the script expects. Otherwise the script, with "-" before each line that was expected and
/// "+" before what came instead; or one sentence with a line number, if the script cannot be read.
[[nodiscard]] std::string play(std::string_view script);

}  // namespace sluice::core::test
