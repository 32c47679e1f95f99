// How an executor or a pool comes to its end.
#pragma once

#include <cstdint>

namespace sluice {

/// What happens to queued work at the end.
enum class Shutdown : std::uint8_t {
    drain,  ///< all accepted work runs
    cancel  ///< queued work ends without having run; what runs finishes
};

}  // namespace sluice
