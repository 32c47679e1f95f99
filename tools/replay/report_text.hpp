// The report as people read it, in 80 columns but for long names and complaints.
#pragma once

#include <string>

#include "report.hpp"

namespace sluice::replay {

[[nodiscard]] std::string report_text(const Report& report);

}  // namespace sluice::replay
