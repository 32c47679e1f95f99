#pragma once

// The one place that includes moodycamel's ConcurrentQueue. Debian keeps the header in a folder of its own,
// the wrap does not. A system header to us: its warnings are not ours.
//
// The header orders the re-use of a block by a relaxed load and an acquire fence (Block::is_empty), which is
// right, and which the thread sanitizer does not model: it calls the next write to the block a race with the
// read before. Upstream excludes enqueue_bulk from instrumentation for that reason (MOODYCAMEL_NO_TSAN; its
// atomic operations stay instrumented), and not enqueue. So under the sanitizer put() puts a bulk of one.
// Otherwise that would cost 6 ns of the 11 that it then takes. Nothing is suppressed by name, and what we put
// is still checked: the jobs that the pointers lead to are ordinary memory to the sanitizer. g++ also warns
// of each fence (-Wtsan).

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#if defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif
#endif

#if defined(SLUICE_CONCURRENTQUEUE_IN_FOLDER)
#include <concurrentqueue/concurrentqueue.h>
#else
#include <concurrentqueue.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <utility>

namespace sluice::sync {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool put_as_bulk = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool put_as_bulk = true;
#else
inline constexpr bool put_as_bulk = false;
#endif
#else
inline constexpr bool put_as_bulk = false;
#endif

/// False: out of memory, and nothing was put.
template <typename T, typename Traits>
[[nodiscard]] bool put(moodycamel::ConcurrentQueue<T, Traits>& queue, const moodycamel::ProducerToken& token,
                       T item) noexcept {
    if constexpr (put_as_bulk) {
        return queue.enqueue_bulk(token, &item, 1);
    } else {
        return queue.enqueue(token, std::move(item));
    }
}

}  // namespace sluice::sync
