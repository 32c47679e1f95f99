#include "peers/sluice_executor.hpp"
#include "workloads/workloads.hpp"

namespace perf {

const Peer peer_lent{"lent", "Sluice, the scheduler's role lent to workers",
                     executor_workloads<peers::SluiceExecutor<sluice::SchedulerPolicy::lent>>};

}  // namespace perf
