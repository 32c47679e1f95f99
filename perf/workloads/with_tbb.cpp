#include "peers/tbb_executor.hpp"
#include "workloads/workloads.hpp"

namespace perf {

const Peer peer_tbb{"tbb", "oneTBB, a serial queueing function node an actor",
                    executor_workloads<peers::TbbExecutor>};

}  // namespace perf
