#pragma once

// A planted bug. This folder stands before src/ on the include path of `gate-stress-mutant`, where the gate's sources are compiled once
// more: there the baton is put down although somebody asked, so now and then a slot stays idle while somebody waits. The stress that
// passes on the gate must fail on this one.

#define Baton SoundBaton  // NOLINT(readability-identifier-naming): the class's name
#include "../../../../src/sync/baton.hpp"
#undef Baton

#include <thread>

namespace sluice::sync {

struct PutsDownAsked : BatonRules {
    static constexpr bool go_round = false;
};

/// Where a holder may lose its CPU: it has looked, and has not put the baton down yet.
class Baton : public BasicBaton<PutsDownAsked> {
public:
    [[nodiscard]] bool put_down() noexcept {
        std::this_thread::yield();
        return BasicBaton<PutsDownAsked>::put_down();
    }
};

}  // namespace sluice::sync
