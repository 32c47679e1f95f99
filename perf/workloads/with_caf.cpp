#include "peers/caf_executor.hpp"
#include "workloads/workloads.hpp"

namespace perf {

const Peer peer_caf{"caf", "CAF, an actor each, work stealing", executor_workloads<peers::CafExecutor>};

}  // namespace perf
