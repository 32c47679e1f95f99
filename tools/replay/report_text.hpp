// The report as people read it, in at most 100 columns.
#pragma once

#include <string>

#include "report.hpp"

namespace sluice::replay {

[[nodiscard]] std::string report_text(const Report& report);

}  // namespace sluice::replay
