// Goal: a whole trace is read, sorted and rebased; what is wrong is told with file and line, or stops the reading.
// Method: small traces in memory, and the files that cannot be read.
#include "trace/trace.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

using namespace sluice::replay;

namespace {

const std::string header = "arrival_us,actor,lane,class,service_us,bytes\n";

auto read(const std::string& text, const ReadOptions& options = {}) {
    std::istringstream in(text);
    return read_trace(in, "t.csv", options);
}

std::string error_of(const std::string& text, const ReadOptions& options = {}) {
    const auto loaded = read(text, options);
    return loaded ? "no error" : loaded.error();
}

}  // namespace

TEST_CASE("actors are numbered by appearance, and the first arrival becomes 0") {
    const auto loaded = read(
        header + "50,b,read,interactive,1,0\n60,a,serial,maintenance,2,0\n75,b,mutating,interactive,3,9\n");
    REQUIRE(loaded.has_value());
    const Trace& trace = loaded->trace;
    CHECK(trace.actors == std::vector<std::string>{"b", "a"});
    REQUIRE(trace.rows.size() == 3);
    CHECK(trace.rows[0].actor == 0);
    CHECK(trace.rows[1].actor == 1);
    CHECK(trace.rows[2].actor == 0);
    CHECK(trace.rows[0].arrival_us == 0);
    CHECK(trace.rows[1].arrival_us == 10);
    CHECK(trace.rows[2].arrival_us == 25);
    CHECK(loaded->first_arrival_us == 50);
    CHECK(loaded->malformed == 0);
    CHECK(loaded->out_of_order == 0);
}

TEST_CASE("rows out of order are sorted and counted, ties stay as they stood") {
    const auto loaded = read(header +
                             "5,a,read,interactive,1,0\n3,b,read,interactive,1,0\n3,c,read,interactive,1,0\n"
                             "9,d,read,interactive,1,0\n4,e,read,interactive,1,0\n");
    REQUIRE(loaded.has_value());
    CHECK(loaded->out_of_order == 2);
    std::string order;
    for (const Row& row : loaded->trace.rows)
        order += loaded->trace.actors[row.actor];
    CHECK(order == "bcead");
    CHECK(loaded->trace.rows.front().arrival_us == 0);
    CHECK(loaded->trace.rows.back().arrival_us == 6);
}

TEST_CASE("byte order mark, CRLF, empty lines and a missing last line end are fine") {
    const auto loaded = read(
        "\xEF\xBB\xBF"
        "arrival_us,actor,lane,class,service_us,bytes\r\n\r\n0,a,read,interactive,1,0\r\n\n"
        "1,a,read,interactive,1,0");
    REQUIRE(loaded.has_value());
    CHECK(loaded->trace.rows.size() == 2);
    CHECK(loaded->malformed == 0);
}

TEST_CASE(
    "malformed lines are skipped and counted, the first five are kept with file, line, field and reason") {
    std::string text = header;
    for (int i = 0; i < 7; ++i)
        text += "x,a,read,interactive,1,0\n1,a,read,interactive,1,0\n";
    const auto loaded = read(text);
    REQUIRE(loaded.has_value());
    CHECK(loaded->trace.rows.size() == 7);
    CHECK(loaded->malformed == 7);
    REQUIRE(loaded->complaints.size() == 5);
    CHECK(
        loaded->complaints[0] ==
        "t.csv:2: arrival_us: \"x\" is not a whole number; want a whole number from 0 to 1,000,000,000,000");
    CHECK(loaded->complaints[4].starts_with("t.csv:10: arrival_us: "));
}

TEST_CASE("under strict the first malformed line is the error") {
    CHECK(error_of(header + "1,a,read,interactive,1,0\n\n1,a,fast,interactive,1,0\nx\n", {.strict = true}) ==
          "t.csv:4: lane: \"fast\" is unknown; want read, serial, heavy or mutating");
    CHECK(read(header + "1,a,read,interactive,1,0\n", {.strict = true}).has_value());
}

TEST_CASE("a line that is too long is malformed, and the next one is read") {
    const auto loaded = read(header + std::string(10'000, 'x') + "\n1,a,read,interactive,1,0\n");
    REQUIRE(loaded.has_value());
    CHECK(loaded->trace.rows.size() == 1);
    CHECK(loaded->complaints.at(0) == "t.csv:2: line: is longer than 4,096 bytes");
}

TEST_CASE("no header, no row, nothing at all: each is an error of its own") {
    CHECK(error_of("") == "t.csv: is empty");
    CHECK(error_of(header) == "t.csv: has no valid row");
    CHECK(error_of(header + "\n\n") == "t.csv: has no valid row");
    CHECK(error_of("0,a,read,interactive,1,0\n") ==
          "t.csv:1: header: want arrival_us,actor,lane,class,service_us,bytes, found "
          "\"0,a,read,interactive,1,0\"");
    CHECK(error_of("\n" + header).starts_with("t.csv:1: header: "));
    CHECK(error_of(header + "bad\nworse\n") ==
          "t.csv: has no valid row; 2 lines malformed, the first: t.csv:2: line: has 1 field; want 6: "
          "arrival_us,actor,lane,class,service_us,bytes");
}

TEST_CASE("reading stops after as many valid rows as asked for") {
    const auto loaded = read(
        header + "bad\n1,a,read,interactive,1,0\n2,b,read,interactive,1,0\n3,c,read,interactive,1,0\nbad\n",
        {.max_rows = 2});
    REQUIRE(loaded.has_value());
    CHECK(loaded->trace.rows.size() == 2);
    CHECK(loaded->trace.actors.size() == 2);
    CHECK(loaded->malformed == 1);
}

TEST_CASE("a file that is missing or a folder is an error that says so") {
    const auto missing = read_trace_file("/nowhere/at/all.csv", {});
    REQUIRE_FALSE(missing.has_value());
    CHECK(missing.error() == "/nowhere/at/all.csv: cannot be opened: No such file or directory");
    const std::string folder = std::filesystem::temp_directory_path();
    const auto opened = read_trace_file(folder, {});
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error() == folder + ": is a directory");
}
