#pragma once

// A double of moodycamel's queue for the control tests: its names, as far as src/sync uses them, and the one promise that
// src/sync relies on (sync/ingress.hpp): a put happens-before the take of that item. Each item lies in a word of its own,
// stored with release and loaded with acquire; nothing is promised from one item to the next. So what holds here holds with
// any queue that keeps the promise. Whether moodycamel's does is not shown here, but by its own tests and by our stress.

#include "sync/atomic.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace moodycamel {

struct ConcurrentQueueDefaultTraits {};

template <typename T, typename Traits>
class ConcurrentQueue;

class ProducerToken {
public:
    template <typename T, typename Traits>
    explicit ProducerToken(ConcurrentQueue<T, Traits>& /*queue*/) {}
    [[nodiscard]] bool valid() const noexcept {
        return true;
    }

private:
    template <typename, typename>
    friend class ConcurrentQueue;

    std::array<sluice::sync::atomic<std::uintptr_t>, 8> items_{};  // more than a test puts into a lane, ever
    std::size_t put_ = 0;                                          // the producer's
    std::size_t taken_ = 0;                                        // the consumer's
};

template <typename T, typename Traits>
class ConcurrentQueue {
public:
    explicit ConcurrentQueue(std::size_t /*capacity*/) {}

    bool enqueue(ProducerToken& token, T item) noexcept {
        if (token.put_ == token.items_.size())
            return false;
        token.items_[token.put_++].store(reinterpret_cast<std::uintptr_t>(item),
                                         sluice::sync::memory_order_release);
        return true;
    }
    bool enqueue_bulk(ProducerToken& token, const T* items, std::size_t count) noexcept {
        if (token.items_.size() - token.put_ < count)
            return false;
        for (std::size_t i = 0; i < count; ++i)
            static_cast<void>(enqueue(token, items[i]));
        return true;
    }
    std::size_t try_dequeue_bulk_from_producer(ProducerToken& token, T* out, std::size_t most) noexcept {
        std::size_t count = 0;
        while (count < most && token.taken_ < token.items_.size()) {
            const std::uintptr_t item = token.items_[token.taken_].load(sluice::sync::memory_order_acquire);
            if (item == 0)
                break;
            out[count++] = reinterpret_cast<T>(item);  // NOLINT(performance-no-int-to-ptr): put as one
            ++token.taken_;
        }
        return count;
    }
};

}  // namespace moodycamel

namespace sluice::sync {

template <typename T, typename Traits>
[[nodiscard]] bool put(moodycamel::ConcurrentQueue<T, Traits>& queue, moodycamel::ProducerToken& token,
                       T item) noexcept {
    return queue.enqueue(token, item);
}

}  // namespace sluice::sync
