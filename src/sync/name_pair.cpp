#include "sync/name_pair.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::sync {

// Release and acquire, for a reader's second look at the node's own word: if it read a word of a later life, that life's
// beginning, which is before set(), happened before the second look, which then sees it (as in sync/published.hpp). With
// relaxed ones the second look might still show the life of the first. On x86-64 these are plain moves.

void NamePair::set(std::string_view first, std::string_view second) noexcept {
    std::array<char, most_bytes + 2> bytes;  // what lies beyond the two names is never looked at
    bytes[0] = static_cast<char>(first.size());
    bytes[1] = static_cast<char>(second.size());
    std::ranges::copy(first, bytes.begin() + 2);
    std::ranges::copy(second, bytes.begin() + 2 + static_cast<std::ptrdiff_t>(first.size()));
    const std::size_t used = 2 + first.size() + second.size();
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(used), bytes.end(), '\0');
    for (std::size_t i = 0; i * 8 < used; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i * 8, 8);
        words_[i].store(word, memory_order_release);
    }
}

NamePair::Copy NamePair::get() const noexcept {
    Copy copy;
    for (std::size_t i = 0; i < words_.size(); ++i) {
        const std::uint64_t word = words_[i].load(memory_order_acquire);
        std::memcpy(copy.bytes.data() + i * 8, &word, 8);
    }
    return copy;
}

std::string_view NamePair::Copy::first() const noexcept {
    const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(bytes[0]), most_bytes);
    return {bytes.data() + 2, length};
}

std::string_view NamePair::Copy::second() const noexcept {
    const std::size_t start = first().size();
    const std::size_t length =
        std::min<std::size_t>(static_cast<unsigned char>(bytes[1]), most_bytes - start);
    return {bytes.data() + 2 + start, length};
}

}  // namespace sluice::sync
