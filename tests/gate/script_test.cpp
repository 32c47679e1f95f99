// Goal:   the gate's rules as stories: each script in tests/scripts/gate goes as it says, and a wrong one is told apart.
// Method: every script is played on one thread, with the script's own time; a difference is printed as a diff.

#include "gate/script_runner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace sluice::core::test {
extern const std::string_view script_folder;  // script_folder.cpp, made by the build
}

using sluice::test::play;

namespace {

std::string read(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("T2 T4 T7-T11 T14 T16 T20 T21: every script goes as it says") {
    std::vector<std::filesystem::path> scripts;
    const std::filesystem::path folder = std::filesystem::path(sluice::core::test::script_folder) / "gate";
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".txt")
            scripts.push_back(entry.path());
    std::ranges::sort(scripts);
    REQUIRE(scripts.size() >= 9);
    for (const auto& script : scripts) {
        const std::string difference = play(read(script));
        CHECK_MESSAGE(difference.empty(), script.filename().string(), ":\n", difference);
    }
}

TEST_CASE("A script with a wrong expectation is refused, and the diff says what came") {
    CHECK(play("gate turns 1\nsubmit a\nexpect queued a 1\n") ==
          "  gate turns 1\n  submit a\n- expect queued a 1\n+ expect admitted a\n");
}

TEST_CASE("A script that keeps silent about something that was told is refused") {
    CHECK(play("gate turns 1\nsubmit a\nexpect admitted a\nsubmit b\n").find("+ expect queued b 1") !=
          std::string::npos);
}

TEST_CASE("A script that cannot be read is refused with its line") {
    CHECK(play("gate turns many\n") == "line 1: \"many\" is not a number\n");
    CHECK(play("gate turns 1\nend a\n") == "line 2: a has no ticket\n");
    CHECK(play("dance\n") == "line 1: no command looks like this\n");
}
