// The report as JSON. docs/guide/replay.md describes every member; what is there keeps its name and meaning as long as
// `schema` keeps its number, and members may be added.
#pragma once

#include <string>
#include <string_view>

#include "report.hpp"

namespace sluice::replay {

inline constexpr std::string_view report_schema = "sluice-replay/1";

/// One JSON object and a line end. Bytes in names that are not UTF-8 become the replacement character.
[[nodiscard]] std::string report_json(const Report& report);

}  // namespace sluice::replay
