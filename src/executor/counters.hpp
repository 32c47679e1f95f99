#pragma once

// What happened to accepted jobs, counted so that every snapshot adds up (E33).
//
// Roles. Each worker writes its own progress words; counts that several threads may add to are for rare events. Any
// thread reads.
//
// Order. A job is counted when accepted (by the submitter, before its push), when it starts, and when it has ended
// (before its completion is signalled, so that whoever waited for it sees it counted). A snapshot reads the other way
// round: ends, then starts, then acceptances. So what it sees ended it sees started, and what it sees started it sees
// accepted: no difference is ever negative, and `queued` and `running` are those differences.
//
// Encoding of a progress word: jobs ended << 1 | one is executing. A worker executes one job at a time, so one store
// says both, and a reader cannot catch a job between two counts. Heavy jobs are not in the words: they are running from
// the start of the build to the end of the install, across workers.

#include "sync/atomic.hpp"

#include <sluice/lane.hpp>

#include <array>
#include <cstdint>

namespace sluice::detail {

inline constexpr std::size_t class_count = 2;
[[nodiscard]] constexpr std::size_t index_of(JobClass c) noexcept {
    return static_cast<std::size_t>(c);
}

/// One worker's progress in both classes. Only its worker writes.
class Progress {
public:
    void begin(JobClass c) noexcept {
        add(c, 1);
    }
    void end(JobClass c) noexcept {
        add(c, 1);
    }  // executing bit off, with a carry into the count

    struct Seen {
        std::uint64_t ended = 0;
        std::uint64_t started = 0;
    };
    [[nodiscard]] Seen read(JobClass c) const noexcept {
        // acquire: pairs with the release in add(); what happened before an end that is seen is seen too.
        const std::uint64_t word = words_[index_of(c)].load(sync::memory_order_acquire);
        return {word >> 1U, (word >> 1U) + (word & 1U)};
    }

private:
    void add(JobClass c, std::uint64_t step) noexcept {
        auto& word = words_[index_of(c)];
        // relaxed load: our own word. release: pairs with the acquire in read().
        word.store(word.load(sync::memory_order_relaxed) + step, sync::memory_order_release);
    }
    std::array<sync::atomic<std::uint64_t>, class_count> words_{};
};

/// How a job left the queue without running.
enum class QueueExit : std::uint8_t {
    actor_removed,
    actor_fatal,
    shut_down,
    abandoned,
    cancelled,
    deadline_exceeded
};
inline constexpr std::size_t queue_exit_count = 6;
[[nodiscard]] constexpr std::size_t index_of(QueueExit exit) noexcept {
    return static_cast<std::size_t>(exit);
}

/// Counts of rare or long events, added to by any thread. All seq_cst: none of them is on a hot path.
struct SharedCounters {
    struct PerClass {
        std::array<sync::atomic<std::uint64_t>, queue_exit_count> left_queue{};
        sync::atomic<std::uint64_t> threw{0};
        sync::atomic<std::uint64_t> heavy_ended{0};
        sync::atomic<std::uint64_t> heavy_started{0};
        /// Heavy jobs that failed between their steps, by reason; they count as heavy_ended too.
        std::array<sync::atomic<std::uint64_t>, queue_exit_count> heavy_failed{};
    };
    std::array<PerClass, class_count> classes{};
    sync::atomic<std::uint64_t> callbacks_threw{0};
    sync::atomic<std::uint64_t> oversized_callbacks{0};

    PerClass& of(JobClass c) noexcept {
        return classes[index_of(c)];
    }
};

}  // namespace sluice::detail
