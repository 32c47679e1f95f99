// How often the process asked for memory. Twins: allocations_counted.cpp counts by replacing malloc and is only in the program
// that measures W6, since counting costs a shared line a call; allocations_uncounted.cpp is in the other.
#pragma once

namespace perf {

/// Negative where nothing counts.
[[nodiscard]] double allocations_so_far();

}  // namespace perf
