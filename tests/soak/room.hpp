// The context of the soak's actors. It sees whoever is not alone that should be (E9), by counts, and by a plain member that
// ThreadSanitizer watches.
#pragma once

#include "books.hpp"

#include <atomic>
#include <cstdint>

namespace sluice::soak {

/// What all rooms of an episode report to.
struct RoomCounts {
    Findings* findings = nullptr;
    std::atomic<std::int64_t> alive{0};
};

class Room {
public:
    explicit Room(RoomCounts& counts) : counts_(&counts) {
        counts.alive.fetch_add(1);
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() {
        counts_->alive.fetch_sub(1);
    }

    template <class Job>
    void read(const Job& job) const {
        const Inside inside(readers_);
        alone(writers_.load() == 0, "a reader beside a writer");
        seen_.store(writes_, std::memory_order_relaxed);
        job();
        alone(writers_.load() == 0, "a writer beside a reader");
    }
    template <class Job>
    void status(const Job& job) const {
        const Inside inside(statuses_);
        alone(statuses_.load() == 1, "two status jobs of one actor");
        read(job);
    }
    template <class Job>
    void write(const Job& job) {
        const Inside inside(writers_);
        alone(writers_.load() == 1, "two writers");
        ++writes_;
        alone(readers_.load() == 0, "a writer beside readers");
        job();
        alone(readers_.load() == 0 && writers_.load() == 1, "a writer that was not alone to its end");
    }

private:
    class Inside {
    public:
        explicit Inside(std::atomic<int>& count) : count_(count) {
            count_.fetch_add(1);
        }
        ~Inside() {
            count_.fetch_sub(1);
        }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

    private:
        std::atomic<int>& count_;
    };
    void alone(bool holds, const char* otherwise) const {
        if (!holds)
            counts_->findings->add(std::string("executor: ") + otherwise);
    }

    RoomCounts* counts_;
    mutable std::atomic<int> readers_{0};
    mutable std::atomic<int> statuses_{0};
    mutable std::atomic<int> writers_{0};
    mutable std::atomic<std::uint64_t> seen_{0};
    std::uint64_t writes_ = 0;  // plain: writers only
};

}  // namespace sluice::soak
