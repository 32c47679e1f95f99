#pragma once

// Plays a script of tests/scripts/gate (the README.md of tests/scripts has the language) against a TurnGate whose time is the script's.

#include <string>
#include <string_view>

namespace sluice::test {

/// Empty if everything came as the script expects. Otherwise the script, with "-" before each line that was expected and
/// "+" before what came instead; or one sentence with a line number, if the script cannot be read.
[[nodiscard]] std::string play(std::string_view script);

}  // namespace sluice::test
