// A whole trace, read from a stream.
#pragma once

#include <cstdint>
#include <expected>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "trace/row.hpp"

namespace sluice::replay {

/// Valid rows by arrival, the first at 0, and the names of their actors in order of appearance.
struct Trace {
    std::vector<Row> rows;
    std::vector<std::string> actors;
};

struct ReadOptions {
    bool strict = false;                         ///< the first malformed line is an error
    std::uint64_t max_rows = ~std::uint64_t{0};  ///< stop reading after so many valid rows
};

/// A trace and what was odd about it.
struct LoadedTrace {
    static constexpr std::size_t complaints_kept = 5;

    Trace trace;
    std::uint64_t malformed = 0;          ///< lines that were skipped
    std::vector<std::string> complaints;  ///< "file:line: field: reason" of the first few of them
    std::uint64_t out_of_order =
        0;  ///< rows that arrive before the row above them; sorted, ties as they stood
    std::uint64_t first_arrival_us = 0;  ///< what was taken off every arrival
};

/// Reads a trace: the header, then a row a line. Empty lines are passed over; a byte order mark and "\r\n" are fine.
///
/// Memory: 32 bytes a row and the actors' names; the text itself is never held. **Errors**: a sentence that begins
/// with `name`, when the stream is empty or cannot be read, the header is not ours, no row is valid, or, under
/// `strict`, a line is malformed.
[[nodiscard]] std::expected<LoadedTrace, std::string> read_trace(std::istream& in, std::string_view name,
                                                                 const ReadOptions& options);

/// The same from a file, or from standard input when the path is "-".
[[nodiscard]] std::expected<LoadedTrace, std::string> read_trace_file(const std::string& path,
                                                                      const ReadOptions& options);

}  // namespace sluice::replay
