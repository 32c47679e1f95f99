// The peers that this build has; perf/meson.build says which packages were found.

#include "replay/peer.hpp"

#include <array>

namespace perf::replay {

std::span<const Peer* const> all_peers() {
    static constexpr std::array all{
        &peer_lent,  &peer_dedicated,
#ifdef SLUICE_PERF_TBB
        &peer_tbb,
#endif
#ifdef SLUICE_PERF_ASIO
        &peer_asio,
#endif
#ifdef SLUICE_PERF_CAF
        &peer_caf,
#endif
        &peer_naive, &peer_seed,
    };
    return all;
}

}  // namespace perf::replay
