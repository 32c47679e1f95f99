// Whether memory levels off: what the process has resident, and what the library holds of its default resource, in the
// second fifth of a run (the first is its warm-up) and in the last.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace sluice::soak {

/// Resident size of this process; 0 where the system does not say.
[[nodiscard]] std::uint64_t resident_bytes() noexcept;

/// Blocks of the default resource that are in use: the bookkeeping of executors, of which nothing stays but what threads of ours keep.
[[nodiscard]] std::uint64_t default_blocks() noexcept;

struct MemorySample {
    double seconds = 0;
    std::uint64_t resident = 0;
    std::uint64_t blocks = 0;
};

class MemoryWatch {
public:
    explicit MemoryWatch(std::chrono::nanoseconds whole) : whole_(whole) {}

    /// After an episode, when no part is there.
    void note(std::chrono::nanoseconds passed);

    /// The most that may be added to what is resident. What is added in fact comes from allocators that keep what threads
    /// long gone had freed: a few hundred KiB. Sanitizers keep freed memory, and notes of it.
    [[nodiscard]] static std::uint64_t resident_bound() noexcept;
    /// Blocks may stay with the threads of a run alone, which are none after an episode.
    static constexpr std::uint64_t blocks_bound = 16;

    [[nodiscard]] bool level() const {
        return late_.resident <= early_.resident + resident_bound() &&
               late_.blocks <= early_.blocks + blocks_bound;
    }
    /// The highest of the second fifth, and of the last.
    [[nodiscard]] const MemorySample& early() const {
        return early_;
    }
    [[nodiscard]] const MemorySample& late() const {
        return late_;
    }
    /// About sixty samples of the whole run.
    [[nodiscard]] const std::vector<MemorySample>& series() const {
        return series_;
    }

private:
    const std::chrono::nanoseconds whole_;
    MemorySample early_;
    MemorySample late_;
    std::vector<MemorySample> series_;
};

}  // namespace sluice::soak
