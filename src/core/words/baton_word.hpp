#pragma once

// The baton of a structure that one thread at a time may touch, and that nobody waits for.
//
//   bit 0  held   somebody works on the structure
//   bit 1  asked  somebody asked for work since the holder last looked; only while `held`
//
// Written by: whoever asks, and the holder who puts it down (sync/baton.hpp). Invariant: whoever asks either becomes the
// holder, or leaves `asked` behind; the baton cannot be put down while `asked` is set. So the work that was asked for is
// looked at after the asking, by the asker or by the holder.

#include <cstdint>

namespace sluice::core {

struct BatonWord {
    std::uint32_t bits = 0;

    static constexpr std::uint32_t held_bit = 1;
    static constexpr std::uint32_t asked_bit = 2;

    [[nodiscard]] constexpr bool held() const noexcept {
        return (bits & held_bit) != 0;
    }
    [[nodiscard]] constexpr bool asked() const noexcept {
        return (bits & asked_bit) != 0;
    }

    friend constexpr bool operator==(BatonWord, BatonWord) = default;
};

struct BatonStep {
    BatonWord after;
    bool holds = false;  ///< The caller holds the baton after this step.
};

/// Somebody has work: free -> held by him, held -> held and asked.
[[nodiscard]] constexpr BatonStep asked(BatonWord old) noexcept {
    if (!old.held())
        return {{BatonWord::held_bit}, true};
    return {{BatonWord::held_bit | BatonWord::asked_bit}, false};
}

/// The holder is through: held -> free, held and asked -> held, and he goes round once more.
[[nodiscard]] constexpr BatonStep put_down(BatonWord old) noexcept {
    if (old.asked())
        return {{BatonWord::held_bit}, true};
    return {{0}, false};
}

}  // namespace sluice::core
