#include "peers/sluice_executor.hpp"
#include "replay/peer.hpp"

namespace perf::replay {

const Peer peer_dedicated = peer_of<peers::SluiceExecutor<sluice::SchedulerPolicy::dedicated>>(
    "dedicated", "Sluice, a thread of its own for the scheduler");

}  // namespace perf::replay
