// Goal: the command line means what --help says, and each mistake ends with exit code 1 and a sentence.
// Method: tables of command lines; the guide is read to see that it has the same exit codes.
#include "options.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace sluice::replay;

namespace {

auto parse(std::vector<std::string> words) {
    words.insert(words.begin(), "sluice-replay");
    std::vector<const char*> pointers;
    for (const std::string& word : words)
        pointers.push_back(word.c_str());
    return parse_options(static_cast<int>(pointers.size()), pointers.data());
}

}  // namespace

TEST_CASE("a trace alone is enough") {
    const auto options = parse({"t.csv"});
    REQUIRE(options.has_value());
    CHECK(options->trace == "t.csv");
    CHECK(options->pace.kind == PaceKind::utilisation);
    CHECK(options->pace.value == 0.5);
    CHECK(options->policy == Policy::lent);
    CHECK(options->work == WorkKind::spin);
    CHECK(options->workers == 0);
    CHECK(options->service_scale == 1);
    CHECK(options->repeat == 1);
    CHECK_FALSE(options->json.has_value());
}

TEST_CASE("every option arrives where it belongs") {
    const auto options = parse(
        {"--speed",    "2.5",      "--workers",    "3",          "--policy", "dedicated",       "--work",
         "sleep",      "--limit",  "10",           "--repeat",   "4",        "--seed",          "99",
         "--jitter",   "0.5",      "--max-queued", "64",         "--engine", "executor",        "--json",
         "-",          "--strict", "--quiet",      "--progress", "never",    "--service-scale", "0",
         "--patience", "5",        "t.csv"});
    REQUIRE(options.has_value());
    CHECK(options->pace.kind == PaceKind::speed);
    CHECK(options->pace.value == 2.5);
    CHECK(options->workers == 3);
    CHECK(options->policy == Policy::dedicated);
    CHECK(options->work == WorkKind::sleep);
    CHECK(options->limit == 10);
    CHECK(options->repeat == 4);
    CHECK(options->seed == 99);
    CHECK(options->jitter == 0.5);
    CHECK(options->max_queued == 64);
    CHECK(options->json == "-");
    CHECK(options->strict);
    CHECK(options->quiet);
    CHECK(options->progress == ProgressMode::never);
    CHECK(options->service_scale == 0);
    CHECK(options->patience_s == 5);
    CHECK(parse({"t", "--asap"})->pace.kind == PaceKind::asap);
    CHECK(parse({"t", "--utilization", "1.5"})->pace.value == 1.5);
    CHECK(parse({"t", "--utilisation", "1.5"})->pace.value == 1.5);
    CHECK(parse({"-"})->trace == "-");
}

TEST_CASE("each mistake is refused with exit code 1 and names what is wrong") {
    struct Case {
        std::vector<std::string> words;
        std::string told;
    };
    const std::vector<Case> cases{
        {{}, "TRACE is required"},
        {{"a", "b"}, "b"},
        {{"t", "--bogus"}, "--bogus"},
        {{"t", "--speed", "0"}, "0 is not a number from 0.001 to 1000000"},
        {{"t", "--speed", "nan"}, "nan is not a number"},
        {{"t", "--speed", "inf"}, "inf is not a number"},
        {{"t", "--speed", "2x"}, "2x is not a number"},
        {{"t", "--speed", "2", "--asap"}, "excludes"},
        {{"t", "--speed", "2", "--utilisation", "1"}, "excludes"},
        {{"t", "--utilisation", "1", "--asap"}, "excludes"},
        {{"t", "--utilisation", "-1"}, "-1 is not a number"},
        {{"t", "--workers", "0"}, "0 is not a whole number from 1 to 256"},
        {{"t", "--workers", "two"}, "two is not a whole number"},
        {{"t", "--limit", "-3"}, "-3 is not a whole number"},
        {{"t", "--repeat", "2.5"}, "2.5 is not a whole number"},
        {{"t", "--seed", "18446744073709551616"}, "is not a whole number"},
        {{"t", "--service-scale", "1e9"}, "1e9 is not a number from 0 to 1000"},
        {{"t", "--policy", "shared"}, "shared not in"},
        {{"t", "--work", "nap"}, "nap not in"},
        {{"t", "--progress", "yes"}, "yes not in"},
        {{"t", "--json"}, "--json"},
        {{"t", "--json", ""}, "--json"},
        {{"t", "--engine", "flight"}, "flight not in"},
        {{"t", "--engine", "pool", "--queued-bytes", "0"}, "--queued-bytes"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.told);
        const auto options = parse(c.words);
        REQUIRE_FALSE(options.has_value());
        CHECK(options.error().code == ExitCode::usage);
        CHECK(options.error().text.starts_with("sluice-replay: "));
        CHECK(options.error().text.ends_with("Try sluice-replay --help.\n"));
        CHECK(options.error().text.find(c.told) != std::string::npos);
    }
}

TEST_CASE("help and version are no mistakes, and help and guide tell the same exit codes") {
    const auto version = parse({"--version"});
    REQUIRE_FALSE(version.has_value());
    CHECK(version.error().code == ExitCode::ok);
    CHECK(version.error().text.starts_with("sluice-replay "));
    const auto help = parse({"--help"});
    REQUIRE_FALSE(help.has_value());
    CHECK(help.error().code == ExitCode::ok);
    std::ifstream file(REPLAY_GUIDE);
    const std::string guide{std::istreambuf_iterator<char>(file), {}};
    for (const ExitCode code : {ExitCode::ok, ExitCode::usage, ExitCode::input, ExitCode::broken,
                                ExitCode::executor, ExitCode::interrupted}) {
        const std::string number = std::to_string(static_cast<int>(code));
        CAPTURE(number);
        CHECK(help.error().text.find("\n  " + number + " ") != std::string::npos);
        CHECK(guide.find("\n| " + number + " |") != std::string::npos);
    }
}
