// No executor: the submitter runs the job. What is left is the driver's own cost, and the floor of every figure.

#include "workloads/workloads.hpp"

namespace perf {
namespace {

class Inline {
public:
    static constexpr bool reads_together = false;
    explicit Inline(const Shape&) {}
    void post(std::size_t, Access, Job job) {
        job();
    }
};

}  // namespace

const Peer peer_inline{"inline", "no executor: the driver's own cost", executor_workloads<Inline>};

}  // namespace perf
