#include "memory/mimalloc/api.hpp"

namespace sluice::memory {

const MimallocApi* mimalloc_api() noexcept {
    return nullptr;
}

}  // namespace sluice::memory
