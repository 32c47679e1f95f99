// Goal:   the rules as stories: each script in tests/scripts goes as it says, and a wrong one is told apart.
// Method: every script is played against the scheduler, without threads; a difference is printed as a diff.

#include "script_runner.hpp"

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

using sluice::core::test::play;

namespace {

std::string read(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

}  // namespace

TEST_CASE("E4 E8-E12 E15 E18 E22 E28: every script goes as it says") {
    std::vector<std::filesystem::path> scripts;
    for (const auto& entry : std::filesystem::directory_iterator(sluice::core::test::script_folder))
        if (entry.path().extension() == ".txt")
            scripts.push_back(entry.path());
    std::ranges::sort(scripts);
    REQUIRE(scripts.size() >= 12);
    for (const auto& script : scripts) {
        const std::string difference = play(read(script));
        CHECK_MESSAGE(difference.empty(), script.filename().string(), ":\n", difference);
    }
}

TEST_CASE("A script with a wrong expectation is refused, and the diff says what came") {
    const std::string difference =
        play("submit a read r1\nsubmit a mutate w1\nexpect start r1\nexpect start w1\n");
    CHECK(
        difference ==
        "  submit a read r1\n  submit a mutate w1\n  expect start r1\n- expect start w1\n+ expect nothing\n");
}

TEST_CASE("A script that keeps silent about a failed job is refused") {
    CHECK(play("submit a read r1\nremove a\n").find("+ expect failed r1 actor_removed") != std::string::npos);
}

TEST_CASE("A script that cannot be read is refused with its line") {
    CHECK(play("submit a read r1\nsubmit a reed r2\n") ==
          "line 2: submit ACTOR [maintenance] LANE JOB [cost N | deadline TIME]\n");
    CHECK(play("end r1\n") == "line 1: r1 is not running\n");
    CHECK(play("dance\n") == "line 1: no command looks like this\n");
}
