#include "workloads/allocations.hpp"

#include "support/malloc_counter.hpp"

namespace perf {

double allocations_so_far() {
    return sluice::test::call_counting_available()
               ? static_cast<double>(sluice::test::call_counts().allocations)
               : -1.0;
}

}  // namespace perf
