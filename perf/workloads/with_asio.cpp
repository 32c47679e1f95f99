#include "peers/asio_executor.hpp"
#include "workloads/workloads.hpp"

namespace perf {

const Peer peer_asio{"asio", "Asio, a strand an actor", executor_workloads<peers::AsioExecutor>};

}  // namespace perf
