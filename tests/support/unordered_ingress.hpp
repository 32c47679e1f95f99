#pragma once

// The ingress without its ordering step: the same class, emitting lane by lane as found. Tests use it to show that they
// would notice.

#include "core/ingress_order.hpp"
#include "sync/ingress.hpp"

namespace sluice::test {

struct AsFound : core::IngressRules {
    static constexpr bool by_number = false;
};
/// Merges, but jumps a gap in the numbers without a look.
struct NoLook : core::IngressRules {
    static constexpr bool look_at_gap = false;
    static constexpr bool revisit = false;
};

/// Stops looking at a lane that was left, although somebody has begun to use it again.
struct Forgetful : core::IngressRules {
    static constexpr bool ask_before_retiring = false;
    static void rest() noexcept;
};

using ForgetfulIngress = sync::BasicIngress<Forgetful>;
using UnorderedIngress = sync::BasicIngress<AsFound>;
using CarelessIngress = sync::BasicIngress<NoLook>;

}  // namespace sluice::test

namespace sluice::sync {
extern template class BasicIngress<test::AsFound>;
extern template class BasicIngress<test::NoLook>;
extern template class BasicIngress<test::Forgetful>;
}  // namespace sluice::sync
