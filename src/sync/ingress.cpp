#include "sync/ingress_impl.hpp"

namespace sluice::sync {

template class BasicIngress<core::IngressRules>;

}  // namespace sluice::sync
