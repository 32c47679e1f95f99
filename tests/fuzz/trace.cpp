// Goal:   no bytes whatever make the reader of traces do anything but answer; what it takes is within the bounds that the rest
//         of the replay relies on, and what it refuses it names by line and field.
// Method: the input is a file, read once leniently and once strictly, and the two answers are held against each other.
//         An input whose first byte is 1 has the header put before it, so that the rows are reached.

#include "bytes.hpp"

#include "trace/trace.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <string_view>

using namespace sluice::replay;
using sluice::fuzz::require;

namespace {

/// "t:<line>: <field>: <reason>", in characters that a terminal can be shown.
[[nodiscard]] bool names_line_and_field(std::string_view complaint) {
    constexpr std::array<std::string_view, 8> fields{"header", "line",  "arrival_us", "actor",
                                                     "lane",   "class", "service_us", "bytes"};
    if (!complaint.starts_with("t:") ||
        !std::ranges::all_of(complaint, [](char c) { return c >= 0x20 && c < 0x7f; }))
        return false;
    complaint.remove_prefix(2);
    const std::size_t digits = complaint.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string_view::npos || !complaint.substr(digits).starts_with(": "))
        return false;
    complaint.remove_prefix(digits + 2);
    return std::ranges::any_of(fields, [&](std::string_view field) {
        return complaint.starts_with(field) && complaint.substr(field.size()).starts_with(": ") &&
               complaint.size() > field.size() + 2;
    });
}

void check_rows(const Trace& trace) {
    std::uint64_t before = 0;
    for (const Row& row : trace.rows) {
        require(row.arrival_us >= before && row.arrival_us <= max_arrival_us,
                "rows stand in order of arrival");
        require(row.service_us <= max_service_us && row.bytes <= max_row_bytes, "numbers are within bounds");
        require(row.actor < trace.actors.size(), "every row has an actor");
        require(lane_word(row.lane) != "?" && class_word(row.job_class) != "?", "lane and class are known");
        before = row.arrival_us;
    }
    require(trace.rows.empty() || trace.rows.front().arrival_us == 0, "the first row arrives at 0");
    for (const std::string& actor : trace.actors)
        require(!actor.empty() && actor.size() <= max_actor_bytes, "an actor has a name, and not a long one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string text(data, data + size);
    if (text.starts_with('\1'))
        text.replace(0, 1, std::string(trace_header) + '\n');

    std::istringstream once(text);
    const auto lenient = read_trace(once, "t", {});
    std::istringstream again(text);
    const auto strict = read_trace(again, "t", {.strict = true});

    if (lenient) {
        check_rows(lenient->trace);
        require(!lenient->trace.rows.empty(), "a trace without rows is refused");
        require(lenient->complaints.size() ==
                    std::min<std::uint64_t>(lenient->malformed, LoadedTrace::complaints_kept),
                "the first malformed lines are told");
        for (const std::string& complaint : lenient->complaints)
            require(names_line_and_field(complaint), "a skipped line is told by line and field");
    } else {
        const std::string_view why = lenient.error();
        require(why == "t: is empty" || why.starts_with("t: has no valid row") || names_line_and_field(why),
                "a refused file is told why");
    }
    require(strict.has_value() == (lenient.has_value() && lenient->malformed == 0),
            "strictly, a file is taken if no line of it was skipped");
    if (strict) {
        require(strict->trace.rows.size() == lenient->trace.rows.size(), "both ways give the same rows");
    } else if (lenient && !lenient->complaints.empty()) {
        require(strict.error() == lenient->complaints.front(), "strictly, the first complaint is the answer");
    }
    return 0;
}
