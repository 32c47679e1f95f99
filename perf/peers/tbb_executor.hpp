// oneTBB's serial queueing function nodes, one an actor: the strongest peer on throughput.
#pragma once

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace peers {

/// A function pointer with an argument: what a node's message can carry without an allocation.
struct TbbJob {
    void (*run)(void*) = nullptr;
    void* argument = nullptr;
};

class TbbExecutor {
public:
    TbbExecutor(int workers, std::size_t actors)
        : limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(workers) + 1),
          arena_(workers + 1, 1) {
        arena_.execute([&] {
            graph_ = std::make_unique<tbb::flow::graph>();
            nodes_.reserve(actors);
            for (std::size_t i = 0; i < actors; ++i) {
                nodes_.push_back(
                    std::make_unique<Node>(*graph_, tbb::flow::serial, [](const TbbJob& job) noexcept {
                        job.run(job.argument);
                        return tbb::flow::continue_msg();
                    }));
            }
        });
    }
    ~TbbExecutor() {
        arena_.execute([&] { graph_->wait_for_all(); });
    }

    void submit(std::size_t actor, TbbJob job) {
        nodes_[actor]->try_put(job);
    }

private:
    using Node = tbb::flow::function_node<TbbJob>;
    tbb::global_control limit_;
    tbb::task_arena arena_;
    std::unique_ptr<tbb::flow::graph> graph_;
    std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace peers
