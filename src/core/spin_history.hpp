#pragma once

// Whether looking for a while before sleeping pays, learnt from how it went lately.
//
// Not from how long the gaps were: whoever has slept sees the gap and its own wake-up together, so once it sleeps it would
// learn that gaps are long, and never look again. So it looks now and then all the same, and one success is believed for
// several failures.

#include <cstdint>

namespace sluice::core {

class SpinHistory {
public:
    /// Whether to look this time.
    [[nodiscard]] constexpr bool worth_it() noexcept {
        return credit_ != 0 || ++declined_ % probe_every == 0;
    }
    /// How it went, after worth_it() said yes.
    constexpr void note(bool found) noexcept {
        if (found)
            credit_ = believed_for;
        else if (credit_ != 0)
            --credit_;
    }

private:
    static constexpr std::uint8_t believed_for = 4;
    static constexpr std::uint8_t probe_every = 16;

    std::uint8_t credit_ = believed_for;
    std::uint8_t declined_ = 0;
};

}  // namespace sluice::core
