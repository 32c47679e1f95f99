#pragma once

// A value that one thread publishes and all threads read, whole, without waiting for each other.
//
// Roles: one *writer* at a time (a thread, or whoever holds a role) calls publish; any thread calls read and
// try_read.
// Encoding: `version_` counts publications. Version v lies in slot v mod 2, cut into 64-bit words.
// Invariant: the slot of the current version is not written. The writer of v + 1 fills the other slot, and
// only the writer of v + 2 touches the slot of v again, after v + 1 was made current.
//
// Two slots instead of the usual one with an odd/even counter, so that a writer suspended in the middle of a
// publication stops no reader: the old value stays readable. A reader goes round again only if the writer has
// completed a publication meanwhile, so reading is lock-free.
//
// Why a read is consistent, without a fence (Boehm, "Can seqlocks get along with programming language memory
// models?"). The reader loads v, copies the words of slot v mod 2, and loads v again.
//  - Not older than v: the first load (acquire) read the writer's store of v (release), so all words of
//    version v happened before the copy.
//  - Not newer than v: say the copy read a word of version v + 2 or later. The word was stored with release
//    and loaded with acquire, so the writer's store of v + 1, sequenced before it, happened before the
//    reader's second load. That one then reads v + 1 or more, by coherence, and the copy is refused.
// On x86-64 all of these are plain moves.

#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace sluice::sync {

/// What a test changes to see its stress fail; nobody else does.
struct PublishedRules {
    /// Look at the version again after the copy; a mutant may trust the first look.
    static constexpr bool check_version_again = true;
};

template <typename T, typename Rules = PublishedRules>
class Published {
    static_assert(std::is_trivially_copyable_v<T>, "the value travels as bare words");

public:
    explicit Published(const T& initial = T{}) noexcept {
        fill(slots_[0], initial);
    }

    Published(const Published&) = delete;
    Published& operator=(const Published&) = delete;

    /// Makes a value the current one.
    /// thread: the writer. progress: wait-free. memory: none.
    void publish(const T& value) noexcept {
        // Relaxed: only the writer changes it, and whoever hands the role over orders the writers.
        const std::uint64_t next = version_.load(memory_order_relaxed) + 1;
        fill(slots_[next % 2], value);
        // Release: partner of the acquire in try_read.
        version_.store(next, memory_order_release);
    }

    /// One attempt; false if a publication was completed meanwhile, and `out` is as it was.
    /// thread: any. progress: wait-free.
    [[nodiscard]] bool try_read(T& out) const noexcept {
        // Acquire: partner of the release in publish.
        const std::uint64_t version = version_.load(memory_order_acquire);
        const Words& slot = slots_[version % 2];
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): all of it is written right below
        std::array<std::uint64_t, word_count> copy;
        for (std::size_t i = 0; i < word_count; ++i) {
            // Acquire: partner of the release in fill. See "not newer" above.
            copy[i] = slot[i].load(memory_order_acquire);
        }
        // Relaxed: the acquires before it cannot be passed by it, and it needs to see no more than they
        // brought.
        if (Rules::check_version_again && version_.load(memory_order_relaxed) != version) {
            return false;
        }
        std::array<std::byte, sizeof(T)> bytes{};
        std::memcpy(bytes.data(), copy.data(), sizeof(T));
        out = std::bit_cast<T>(bytes);
        return true;
    }

    /// The current value.
    /// thread: any. progress: lock-free; a retry means that the writer has published.
    [[nodiscard]] T read() const noexcept
        requires std::is_default_constructible_v<T>
    {
        T value{};
        while (!try_read(value)) {
            relax();
        }
        return value;
    }

    /// How often a value was published; a cheap look at whether anything is new.
    [[nodiscard]] std::uint64_t version() const noexcept {
        // Acquire: partner of the release in publish, so that a read after it is at least as new.
        return version_.load(memory_order_acquire);
    }

private:
    static constexpr std::size_t word_count = (sizeof(T) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
    using Words = std::array<atomic<std::uint64_t>, word_count>;

    static void fill(Words& slot, const T& value) noexcept {
        std::array<std::uint64_t, word_count> words{};
        std::memcpy(words.data(), &value, sizeof(T));
        for (std::size_t i = 0; i < word_count; ++i) {
            // Release: partner of the acquire in try_read; carries the version store before it along.
            slot[i].store(words[i], memory_order_release);
        }
    }

    alignas(cache_line) atomic<std::uint64_t> version_{0};
    std::array<Words, 2> slots_{};
};

}  // namespace sluice::sync
