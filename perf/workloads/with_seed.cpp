#include "peers/seed_executor.hpp"
#include "workloads/workloads.hpp"

namespace perf {

const Peer peer_seed{"seed", "the seed's shape: one mutex, wake everybody, scan the actors",
                     executor_workloads<peers::SeedExecutor>};

}  // namespace perf
