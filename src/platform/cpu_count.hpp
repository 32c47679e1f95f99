#pragma once

namespace sluice::platform {

/// How many CPUs this process can really use (E1): those that the calling thread may be scheduled on, or
/// fewer if a quota gives the process less time than that, rounded up. 0 if the system does not say. Reads
/// files on Linux: for start-up, not for a hot path.
[[nodiscard]] unsigned usable_cpus() noexcept;

}  // namespace sluice::platform
