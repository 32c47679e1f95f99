#include "peers/tbb_executor.hpp"
#include "replay/peer.hpp"

namespace perf::replay {

const Peer peer_tbb = peer_of<peers::TbbExecutor>("tbb", "oneTBB, a serial queueing function node an actor");

}  // namespace perf::replay
