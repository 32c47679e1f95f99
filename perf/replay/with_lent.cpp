#include "peers/sluice_executor.hpp"
#include "replay/peer.hpp"

namespace perf::replay {

const Peer peer_lent = peer_of<peers::SluiceExecutor<sluice::SchedulerPolicy::lent>>(
    "lent", "Sluice, the scheduler's role lent to workers");

}  // namespace perf::replay
