#include "peers/sluice_executor.hpp"
#include "workloads/workloads.hpp"

namespace perf {

const Peer peer_dedicated{"dedicated", "Sluice, a thread of its own for the scheduler",
                          executor_workloads<peers::SluiceExecutor<sluice::SchedulerPolicy::dedicated>>};

}  // namespace perf
