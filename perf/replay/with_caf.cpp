#include "peers/caf_executor.hpp"
#include "replay/peer.hpp"

namespace perf::replay {

const Peer peer_caf = peer_of<peers::CafExecutor>("caf", "CAF, an actor each, work stealing");

}  // namespace perf::replay
