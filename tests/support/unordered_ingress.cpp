#include "support/unordered_ingress.hpp"

#include "sync/ingress_impl.hpp"

#include <thread>

void sluice::test::Forgetful::rest() noexcept {
    std::this_thread::yield();
}

namespace sluice::sync {

template class BasicIngress<test::AsFound>;
template class BasicIngress<test::NoLook>;
template class BasicIngress<test::Forgetful>;

}  // namespace sluice::sync
