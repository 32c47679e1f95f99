// What the submitter of a peer waits on that has no answer of its own.
#pragma once

#include <atomic>

namespace perf {

/// Given by one thread, waited for by another, once each in turn: a futex behind a short spin, as std::atomic has it. (Not a
/// semaphore: that of libstdc++ 12 loses wake-ups.)
class Answer {
public:
    void give() {
        given_.fetch_add(1);
        given_.notify_one();
    }
    void wait_for_next() {
        given_.wait(seen_);
        ++seen_;
    }

private:
    std::atomic<int> given_{0};
    int seen_ = 0;
};

}  // namespace perf
