// The peers that this build has; perf/meson.build says which packages were found.

#include "workloads/workloads.hpp"

#include <array>

namespace perf {

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
        &peer_naive, &peer_inline,    &peer_seed, &peer_pool, &peer_seed_pool, &peer_gate, &peer_seed_gate,
    };
    return all;
}

}  // namespace perf
