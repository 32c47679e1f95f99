#include "peers/naive_executor.hpp"
#include "replay/peer.hpp"

namespace perf::replay {

const Peer peer_naive =
    peer_of<peers::NaiveExecutor>("naive", "a mutex, a condition variable, a deque per actor");

}  // namespace perf::replay
