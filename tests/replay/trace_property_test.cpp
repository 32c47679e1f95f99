// Goal: what is written as a trace is read back as it was, however it is quoted and its lines end; and no input at all,
// text or not, makes the reader do anything but answer.
// Method: random rows, written out with random quoting; random mutilations of a valid trace (rapidcheck prints the seed).
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "trace/trace.hpp"

using namespace sluice::replay;

namespace {

const std::string header = "arrival_us,actor,lane,class,service_us,bytes";

std::string written(const std::string& field) {
    const bool must = field.find_first_of(",\"") != std::string::npos;
    if (!must && *rc::gen::arbitrary<bool>())
        return field;
    std::string quoted = "\"";
    for (const char c : field)
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
}

NamedRow random_row() {
    const std::string letters = "abz09 ,\":_\xC3\xA4";
    return {.row = {.arrival_us = *rc::gen::inRange<std::uint64_t>(0, max_arrival_us + 1),
                    .service_us = *rc::gen::inRange<std::uint64_t>(0, max_service_us + 1),
                    .bytes = *rc::gen::inRange<std::uint64_t>(0, max_row_bytes + 1),
                    .actor = 0,
                    .lane = static_cast<sluice::Lane>(*rc::gen::inRange(0, 4)),
                    .job_class = static_cast<sluice::JobClass>(*rc::gen::inRange(0, 2))},
            .actor = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(letters)))};
}

std::string line_of(const NamedRow& named) {
    const Row& row = named.row;
    return written(std::to_string(row.arrival_us)) + ',' + written(named.actor) + ',' +
           written(std::string(lane_word(row.lane))) + ',' + written(std::string(class_word(row.job_class))) +
           ',' + written(std::to_string(row.service_us)) + ',' + written(std::to_string(row.bytes));
}

}  // namespace

TEST_CASE("what is written is read back: every row, in the order of arrival") {
    CHECK(rc::check([] {
        std::vector<NamedRow> rows(*rc::gen::inRange<std::size_t>(1, 40));
        std::string text = header + '\n';
        for (NamedRow& row : rows) {
            row = random_row();
            text += line_of(row) + (*rc::gen::arbitrary<bool>() ? "\r\n" : "\n");
        }
        std::istringstream in(text);
        const auto loaded = read_trace(in, "t", {.strict = true});
        RC_ASSERT(loaded.has_value());
        const Trace& trace = loaded->trace;
        RC_ASSERT(trace.rows.size() == rows.size());
        std::vector<std::size_t> order(rows.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(rows[i].row.arrival_us, i); });
        for (std::size_t i = 0; i < rows.size(); ++i) {
            RC_ASSERT(trace.rows[i].arrival_us + loaded->first_arrival_us == rows[order[i]].row.arrival_us);
            RC_ASSERT(trace.actors[trace.rows[i].actor] == rows[order[i]].actor);
            RC_ASSERT(trace.rows[i].lane == rows[order[i]].row.lane);
            RC_ASSERT(trace.rows[i].job_class == rows[order[i]].row.job_class);
            RC_ASSERT(trace.rows[i].service_us == rows[order[i]].row.service_us);
            RC_ASSERT(trace.rows[i].bytes == rows[order[i]].row.bytes);
        }
    }));
}

TEST_CASE("whatever bytes follow the header, each line is a row, malformed, or empty") {
    CHECK(rc::check([] {
        // Mostly the characters that mean something, so that lines are nearly right more often than by chance.
        const std::string likely = "0123456789,,,,\"\"\n\n\r-+.eabreadinterctv \t\x1b\xff";
        const auto any = rc::gen::arbitrary<char>();
        const auto mostly_likely = rc::gen::weightedOneOf<char>({{9, rc::gen::elementOf(likely)}, {1, any}});
        const auto noise = *rc::gen::scale(8.0, rc::gen::container<std::string>(mostly_likely));
        std::istringstream in(header + '\n' + noise);
        const auto loaded = read_trace(in, "t", {});
        if (!loaded) {
            RC_ASSERT(loaded.error().starts_with("t: has no valid row"));
            return;
        }
        const auto lines = static_cast<std::uint64_t>(std::ranges::count(noise, '\n')) + 1;
        RC_ASSERT(loaded->trace.rows.size() + loaded->malformed <= lines);
    }));
}

TEST_CASE("a valid trace with one byte changed is still answered, and loses at most two rows") {
    CHECK(rc::check([] {
        std::string text = header + '\n';
        const std::size_t rows = *rc::gen::inRange<std::size_t>(3, 10);
        for (std::size_t i = 0; i < rows; ++i)
            text += line_of(random_row()) + '\n';
        // Behind the header: a broken header stops everything, which is another test's matter.
        const std::size_t at = *rc::gen::inRange(header.size() + 1, text.size());
        text[at] = *rc::gen::arbitrary<char>();
        std::istringstream in(text);
        const auto loaded = read_trace(in, "t", {});
        RC_ASSERT(loaded.has_value());
        RC_ASSERT(loaded->trace.rows.size() + 2 >= rows);
        RC_ASSERT(loaded->trace.rows.size() <= rows + 1);
    }));
}
