// Asio's strands over its thread pool, one an actor. Everything of an actor is serial.
#pragma once

#include "workloads/job.hpp"
#include "workloads/request.hpp"

#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>

#include <cstddef>
#include <vector>

namespace peers {

class AsioExecutor {
public:
    static constexpr bool reads_together = false;

    explicit AsioExecutor(const perf::Shape& shape) : pool_(shape.workers) {
        strands_.reserve(shape.actors);
        for (std::size_t i = 0; i < shape.actors; ++i)
            strands_.emplace_back(pool_.get_executor());
    }
    ~AsioExecutor() {
        pool_.join();
    }
    AsioExecutor(const AsioExecutor&) = delete;
    AsioExecutor& operator=(const AsioExecutor&) = delete;

    void post(std::size_t actor, perf::Access, perf::Job job) {
        asio::post(strands_[actor], job);
    }

private:
    asio::thread_pool pool_;
    std::vector<asio::strand<asio::thread_pool::executor_type>> strands_;
};

}  // namespace peers
