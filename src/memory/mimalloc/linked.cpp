#include "memory/mimalloc/api.hpp"

#include <mimalloc.h>

namespace sluice::memory {

const MimallocApi* mimalloc_api() noexcept {
    static constexpr MimallocApi api{&mi_malloc_aligned, &mi_free, &mi_thread_init, &mi_version};
    return &api;
}

}  // namespace sluice::memory
