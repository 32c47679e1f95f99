// The fields of one line of CSV. PURE.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::replay {

/// Splits a line at its commas. A field may be quoted as in RFC 4180: commas inside count as text, `""` is a quote.
/// A quoted field ends on its line: a record over several lines is no row of a trace. **Errors**: a reason, when a
/// quote is not closed, or text stands before or behind a quoted field.
[[nodiscard]] std::expected<std::vector<std::string>, std::string> split_fields(std::string_view line);

/// The text in double quotes, fit for a terminal: control characters and bytes outside ASCII become `?`, and what is
/// longer than 40 characters is cut.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace sluice::replay
