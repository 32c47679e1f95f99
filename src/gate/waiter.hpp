#pragma once

// The memory of one waiting turn, used again and again.
//
// Roles are those of core/words/waiter_word.hpp, whose word decides everything here. Who may touch what:
//   link        the owner of a free waiter (the stack of free ones); the submitter until it has joined; then the holder
//   posted      the submitter until it has joined; then the holder
//   listens     written by the submitter before it joins; read by the holder
//   next_mail   the courier
//   told        the courier: the submitter, until submit() returns
//   calls       the submitter until it has joined; then the courier
//   the rest    written by the submitter before it joins; read by anybody, at any time: they are atomic, and what was read counts
//               only if a CAS on the word shows that the same life still waits.

#include "core/words/waiter_word.hpp"
#include "sync/atomic.hpp"
#include "sync/cache_line.hpp"

#include <sluice/turn_gate.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sluice::detail {

/// A session's name that can be compared while it is overwritten.
class SessionName {
public:
    static constexpr std::size_t most = 120;

    /// The submitter. `name` has at most `most` characters.
    void set(std::string_view name) noexcept {
        const Words words = words_of(name);
        // Relaxed, as in equals(): the waiter's word orders them.
        length_.store(static_cast<std::uint32_t>(name.size()), sync::memory_order_relaxed);
        for (std::size_t i = 0; i * 8 < name.size(); ++i)
            words_[i].store(words[i], sync::memory_order_relaxed);
    }

    [[nodiscard]] bool equals(std::string_view name) const noexcept {
        if (length_.load(sync::memory_order_relaxed) != name.size())
            return false;
        const Words words = words_of(name);
        for (std::size_t i = 0; i * 8 < name.size(); ++i)
            if (words_[i].load(sync::memory_order_relaxed) != words[i])
                return false;
        return true;
    }

    [[nodiscard]] bool equals(const SessionName& other) const noexcept {
        const std::uint32_t length = length_.load(sync::memory_order_relaxed);
        if (other.length_.load(sync::memory_order_relaxed) != length)
            return false;
        for (std::size_t i = 0; i * 8 < length; ++i)
            if (words_[i].load(sync::memory_order_relaxed) !=
                other.words_[i].load(sync::memory_order_relaxed))
                return false;
        return true;
    }

private:
    static constexpr std::size_t word_count = most / 8;
    static_assert(most % 8 == 0);
    using Words = std::array<std::uint64_t, word_count>;

    [[nodiscard]] static Words words_of(std::string_view name) noexcept {
        Words words{};
        if (!name.empty())  // its data() may be null, which memcpy may not be given
            std::memcpy(words.data(), name.data(), name.size());
        return words;
    }

    sync::atomic<std::uint32_t> length_{0};
    std::array<sync::atomic<std::uint64_t>, word_count> words_{};
};

/// What a turn's owner wants to hear; the callbacks of its TurnRequest.
struct TurnCalls {
    std::move_only_function<void(TurnTicket)> on_admitted;
    std::move_only_function<void(const Error&)> on_expired;
    std::move_only_function<void(const Error&)> on_dropped;
    std::move_only_function<void(std::size_t)> on_position_changed;
};

struct alignas(sync::cache_line) Waiter {
    sync::atomic<std::uint64_t> word{0};
    sync::atomic<std::uint32_t> link{0};  // relaxed: handed on by the words that it is linked from
    std::uint32_t next_mail = 0;
    std::uint32_t posted = 0;  ///< the position that its owner knows, or is going to be told
    std::uint32_t told =
        0;  ///< the position that its owner was told last; that of submit()'s answer to begin with
    bool listens = false;
    sync::atomic<std::uint32_t> announced{
        0};  ///< a generation: what is below is of that life (per_session.cpp)
    sync::atomic<std::int64_t> enqueued_at{0};
    sync::atomic<std::uint64_t> number{0};  ///< rises with time: newest first
    sync::atomic<std::uint64_t> session_hash{0};
    SessionName session;
    TurnCalls calls;
};

/// Waiters that one thread is the courier of, in the order in which they are to be told: a chain through `next_mail`.
struct Mail {
    static constexpr std::uint32_t none = 0xffff'ffff;
    std::uint32_t first = none;
    std::uint32_t last = none;

    [[nodiscard]] bool empty() const noexcept {
        return first == none;
    }
};

}  // namespace sluice::detail
