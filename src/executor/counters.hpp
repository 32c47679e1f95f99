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
// Encoding of a progress word: jobs ended << 2 | the lowest bit of the count of those that threw << 1 | one is executing. A
// worker executes one job at a time, so one store says all, and a reader cannot catch a job between two counts. Heavy jobs
// are not in the words: they are running from the start of the build to the end of the install, across workers.
//
// Jobs that threw are counted in a word of their own, before the end that the progress word tells. A reader that finds the
// progress word as it was after it has read the count knows: no job has ended meanwhile, so at most the one that is
// executing is ahead in the count; and the lowest bit says whether it is. So no snapshot takes a job that threw for one
// that succeeded, not even for a moment. Whatever else has outcomes has one count for each.

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
        auto& word = words_[index_of(c)];
        // relaxed load: our own word. release: pairs with the acquire in load().
        word.store(word.load(sync::memory_order_relaxed) + executing_bit, sync::memory_order_release);
    }
    void end(JobClass c, bool threw) noexcept {
        if (threw) {
            auto& count = threw_[index_of(c)];
            const std::uint64_t more = count.load(sync::memory_order_relaxed) + 1;  // our own word
            count.store(more, sync::memory_order_release);                          // pairs with read()
        }
        auto& word = words_[index_of(c)];
        const std::uint64_t ended = word.load(sync::memory_order_relaxed) + one_ended - executing_bit;
        word.store(threw ? ended ^ threw_bit : ended, sync::memory_order_release);  // pairs with load()
    }

    struct Seen {
        std::uint64_t ended = 0;
        std::uint64_t started = 0;
        std::uint64_t threw = 0;  ///< of those that ended
    };
    /// **Progress**: lock-free: it reads again only when the worker has gone on.
    [[nodiscard]] Seen read(JobClass c) const noexcept {
        for (std::uint64_t word = load(c);;) {
            // acquire: pairs with the release in end(); an end that came before it is in the word that is read next.
            std::uint64_t threw = threw_[index_of(c)].load(sync::memory_order_acquire);
            const std::uint64_t after = load(c);
            if (word == after) {
                if (((word & threw_bit) != 0) != (threw % 2 != 0))
                    --threw;  // the one that is executing
                return {word / one_ended, started_of(word), threw};
            }
            word = after;
        }
    }
    [[nodiscard]] std::uint64_t ended(JobClass c) const noexcept {
        return load(c) / one_ended;
    }
    [[nodiscard]] std::uint64_t started(JobClass c) const noexcept {
        return started_of(load(c));
    }

private:
    static constexpr std::uint64_t executing_bit = 1;
    static constexpr std::uint64_t threw_bit = 2;
    static constexpr std::uint64_t one_ended = 4;

    [[nodiscard]] std::uint64_t load(JobClass c) const noexcept {
        // acquire: pairs with the releases above; what happened before an end that is seen is seen too.
        return words_[index_of(c)].load(sync::memory_order_acquire);
    }
    [[nodiscard]] static std::uint64_t started_of(std::uint64_t word) noexcept {
        return word / one_ended + (word & executing_bit);
    }
    std::array<sync::atomic<std::uint64_t>, class_count> words_{};
    std::array<sync::atomic<std::uint64_t>, class_count> threw_{};
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
        sync::atomic<std::uint64_t> heavy_started{0};
        // Heavy jobs that ended, each in one of these: by value, by exception, or between their steps, by reason.
        sync::atomic<std::uint64_t> heavy_succeeded{0};
        sync::atomic<std::uint64_t> heavy_threw{0};
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
