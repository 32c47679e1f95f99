#include "trace/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "text.hpp"
#include "trace/line_reader.hpp"

namespace sluice::replay {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string complaint(std::string_view name, std::uint64_t line, const FieldError& error) {
    return fmt::format("{}:{}: {}: {}", name, line, error.field, error.reason);
}

// Gives each actor's name the number of its first appearance.
class Names {
public:
    explicit Names(std::vector<std::string>& names) : names_(names) {}

    std::uint32_t number_of(std::string&& name) {
        const auto [entry, added] =
            numbers_.try_emplace(std::move(name), static_cast<std::uint32_t>(names_.size()));
        if (added)
            names_.push_back(entry->first);
        return entry->second;
    }

private:
    std::vector<std::string>& names_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
};

std::expected<NamedRow, FieldError> parse(const Line& line) {
    if (line.too_long) {
        return std::unexpected(
            FieldError{"line", fmt::format("is longer than {} bytes", grouped(LineReader::max_line_bytes))});
    }
    return parse_row(line.text);
}

// Nothing if the stream begins with our header, else the complaint.
std::optional<std::string> header_complaint(const std::optional<Line>& line, bool failed,
                                            std::string_view name) {
    if (!line)
        return fmt::format("{}: {}", name, failed ? "cannot be read" : "is empty");
    std::string_view text = line->text;
    if (text.starts_with(byte_order_mark))
        text.remove_prefix(byte_order_mark.size());
    const auto checked = check_header(text);
    if (checked)
        return std::nullopt;
    return complaint(name, 1, checked.error());
}

// Ties stay as they stood. Not stable_sort: libstdc++ 12 uses there what it has deprecated itself.
void sort_by_arrival(std::vector<Row>& rows) {
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    order.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
        order.emplace_back(rows[i].arrival_us, i);
    std::ranges::sort(order);
    std::vector<Row> sorted;
    sorted.reserve(rows.size());
    for (const auto& [arrival, i] : order)
        sorted.push_back(rows[i]);
    rows = std::move(sorted);
}

void put_in_order(LoadedTrace& loaded) {
    auto& rows = loaded.trace.rows;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        if (rows[i].arrival_us < rows[i - 1].arrival_us)
            ++loaded.out_of_order;
    }
    if (loaded.out_of_order > 0)
        sort_by_arrival(rows);
    loaded.first_arrival_us = rows.front().arrival_us;
    for (Row& row : rows)
        row.arrival_us -= loaded.first_arrival_us;
}

}  // namespace

std::expected<LoadedTrace, std::string> read_trace(std::istream& in, std::string_view name,
                                                   const ReadOptions& options) {
    LineReader lines(in);
    const auto header = lines.next();
    if (auto wrong = header_complaint(header, lines.failed(), name))
        return std::unexpected(*std::move(wrong));

    LoadedTrace loaded;
    Names names(loaded.trace.actors);
    std::uint64_t line_number = 1;
    while (loaded.trace.rows.size() < options.max_rows) {
        const auto line = lines.next();
        if (!line)
            break;
        ++line_number;
        if (line->text.empty())
            continue;
        auto parsed = parse(*line);
        if (parsed) {
            parsed->row.actor = names.number_of(std::move(parsed->actor));
            loaded.trace.rows.push_back(parsed->row);
            continue;
        }
        if (options.strict)
            return std::unexpected(complaint(name, line_number, parsed.error()));
        if (++loaded.malformed <= LoadedTrace::complaints_kept) {
            loaded.complaints.push_back(complaint(name, line_number, parsed.error()));
        }
    }
    if (lines.failed())
        return std::unexpected(fmt::format("{}: reading stopped after line {}", name, line_number));
    if (loaded.trace.rows.empty()) {
        std::string message = fmt::format("{}: has no valid row", name);
        if (loaded.malformed > 0) {
            message += fmt::format("; {} malformed, the first: {}", counted(loaded.malformed, "line"),
                                   loaded.complaints.front());
        }
        return std::unexpected(std::move(message));
    }
    put_in_order(loaded);
    return loaded;
}

std::expected<LoadedTrace, std::string> read_trace_file(const std::string& path, const ReadOptions& options) {
    if (path == "-")
        return read_trace(std::cin, "standard input", options);
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return std::unexpected(path + ": is a directory");
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return std::unexpected(
            fmt::format("{}: cannot be opened: {}", path, std::generic_category().message(errno)));
    }
    return read_trace(file, path, options);
}

}  // namespace sluice::replay
