#include "support/unordered_ingress.hpp"

#include "sync/ingress_impl.hpp"

namespace sluice::sync {

template class BasicIngress<test::AsFound>;
template class BasicIngress<test::NoLook>;

}  // namespace sluice::sync
