#include "peers/naive_executor.hpp"
#include "workloads/workloads.hpp"

namespace perf {

const Peer peer_naive{"naive", "a mutex, a condition variable, a deque per actor",
                      executor_workloads<peers::NaiveExecutor>};

}  // namespace perf
