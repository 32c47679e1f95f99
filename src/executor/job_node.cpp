#include "executor/job_node.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::detail {

using sync::memory_order_relaxed;

// relaxed throughout: the node's `state` publishes the words, and tells readers whether they were of one life.

void JobNames::set(std::string_view request_id, std::string_view label) noexcept {
    std::array<char, max_name_bytes + 2> bytes;  // what lies beyond the two names is never looked at
    bytes[0] = static_cast<char>(request_id.size());
    bytes[1] = static_cast<char>(label.size());
    std::ranges::copy(request_id, bytes.begin() + 2);
    std::ranges::copy(label, bytes.begin() + 2 + static_cast<std::ptrdiff_t>(request_id.size()));
    const std::size_t used = 2 + request_id.size() + label.size();
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(used), bytes.end(), '\0');
    for (std::size_t i = 0; i * 8 < used; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + i * 8, 8);
        words_[i].store(word, memory_order_relaxed);
    }
}

JobNames::Copy JobNames::get() const noexcept {
    Copy copy;
    for (std::size_t i = 0; i < words_.size(); ++i) {
        const std::uint64_t word = words_[i].load(memory_order_relaxed);
        std::memcpy(copy.bytes.data() + i * 8, &word, 8);
    }
    return copy;
}

std::string_view JobNames::Copy::request_id() const noexcept {
    const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(bytes[0]), max_name_bytes);
    return {bytes.data() + 2, length};
}

std::string_view JobNames::Copy::label() const noexcept {
    const std::size_t start = request_id().size();
    const std::size_t length =
        std::min<std::size_t>(static_cast<unsigned char>(bytes[1]), max_name_bytes - start);
    return {bytes.data() + 2 + start, length};
}

}  // namespace sluice::detail
