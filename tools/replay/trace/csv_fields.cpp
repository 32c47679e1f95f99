#include "trace/csv_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice::replay {
namespace {

// Takes the quoted field that starts at `at` (on its opening quote) and leaves `at` behind the closing one.
std::expected<std::string, std::string> quoted_field(std::string_view line, std::size_t& at) {
    std::string field;
    for (++at; at < line.size(); ++at) {
        if (line[at] != '"') {
            field += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
            field += '"';
            ++at;
        } else {
            ++at;
            return field;
        }
    }
    return std::unexpected("a quote is not closed on this line");
}

}  // namespace

std::expected<std::vector<std::string>, std::string> split_fields(std::string_view line) {
    std::vector<std::string> fields;
    std::size_t at = 0;
    while (true) {
        if (at < line.size() && line[at] == '"') {
            auto field = quoted_field(line, at);
            if (!field)
                return std::unexpected(std::move(field).error());
            if (at < line.size() && line[at] != ',')
                return std::unexpected("text stands behind a closing quote");
            fields.push_back(*std::move(field));
        } else {
            const std::size_t end = std::min(line.find(',', at), line.size());
            const std::string_view field = line.substr(at, end - at);
            if (field.contains('"'))
                return std::unexpected("a quote stands in the middle of a field");
            fields.emplace_back(field);
            at = end;
        }
        if (at == line.size())
            return fields;
        ++at;  // the comma
    }
}

std::string shown(std::string_view text) {
    constexpr std::size_t longest = 40;
    std::string out = "\"";
    for (const char c : text.substr(0, longest))
        out += (c >= 0x20 && c < 0x7f) ? c : '?';
    out += text.size() > longest ? "...\"" : "\"";
    return out;
}

}  // namespace sluice::replay
