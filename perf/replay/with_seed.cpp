#include "peers/seed_executor.hpp"
#include "replay/peer.hpp"

namespace perf::replay {

const Peer peer_seed =
    peer_of<peers::SeedExecutor>("seed", "the seed's shape: one mutex, wake everybody, scan the actors");

}  // namespace perf::replay
