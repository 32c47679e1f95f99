#include "peers/asio_executor.hpp"
#include "replay/peer.hpp"

namespace perf::replay {

const Peer peer_asio = peer_of<peers::AsioExecutor>("asio", "Asio, a strand an actor");

}  // namespace perf::replay
