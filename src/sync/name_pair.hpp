#pragma once

// Two short names in one line of bytes, readable while they are written: a job's request id and label, an item's call and
// group. In a file of their own because both the executor's nodes and the pool's slots carry them.
//
// Roles: the *owner* of the node that they belong to calls set. Any thread calls get.
// Encoding: byte 0 and 1 are the lengths; then the characters.
// Invariant: what get returns is whole if the node was in one and the same life before and after the call; the node's own
// word says so, if the owner changes it before set() and the reader loads it (with acquire) before and after. Otherwise it is
// garbage of bounded size.

#include "sync/atomic.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice::sync {

class NamePair {
public:
    /// Bytes that both may have together.
    static constexpr std::size_t most_bytes = 94;

    /// thread: the owner. progress: wait-free. The two must fit into most_bytes.
    void set(std::string_view first, std::string_view second) noexcept;

    struct Copy {
        std::array<char, most_bytes + 2> bytes;
        [[nodiscard]] std::string_view first() const noexcept;
        [[nodiscard]] std::string_view second() const noexcept;
    };
    /// thread: any. progress: wait-free.
    [[nodiscard]] Copy get() const noexcept;

private:
    // Words, because one thread may read while another writes.
    std::array<atomic<std::uint64_t>, (most_bytes + 2) / 8> words_{};
    static_assert((most_bytes + 2) % 8 == 0);
};

}  // namespace sluice::sync
