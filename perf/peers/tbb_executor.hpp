// oneTBB's serial queueing function nodes, one an actor: the strongest peer on throughput. Everything of an actor is serial.
#pragma once

#include "workloads/job.hpp"
#include "workloads/request.hpp"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace peers {

class TbbExecutor {
public:
    static constexpr bool reads_together = false;

    explicit TbbExecutor(const perf::Shape& shape)
        : limit_(tbb::global_control::max_allowed_parallelism, std::size_t{shape.workers} + 1),
          arena_(static_cast<int>(shape.workers) + 1, 1) {
        arena_.execute([&] {
            graph_ = std::make_unique<tbb::flow::graph>();
            nodes_.reserve(shape.actors);
            for (std::size_t i = 0; i < shape.actors; ++i) {
                nodes_.push_back(
                    std::make_unique<Node>(*graph_, tbb::flow::serial, [](const perf::Job& job) noexcept {
                        job();
                        return tbb::flow::continue_msg();
                    }));
            }
        });
    }
    ~TbbExecutor() {
        arena_.execute([&] { graph_->wait_for_all(); });
    }
    TbbExecutor(const TbbExecutor&) = delete;
    TbbExecutor& operator=(const TbbExecutor&) = delete;

    void post(std::size_t actor, perf::Access, perf::Job job) {
        nodes_[actor]->try_put(job);
    }

private:
    using Node = tbb::flow::function_node<perf::Job>;
    tbb::global_control limit_;
    tbb::task_arena arena_;
    std::unique_ptr<tbb::flow::graph> graph_;
    std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace peers
