// The bounded pool of one episode: how it is loaded, disturbed, looked at, ended and audited.
#pragma once

#include "scene.hpp"

#include "support/counting_resource.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include <sluice/bounded_pool.hpp>

namespace sluice::soak {

class PoolPart {
public:
    /// What one submitter holds; nobody else touches it.
    struct Hand {
        struct Kept {
            PoolItem item;
            Entry* entry;
        };
        std::deque<Kept> kept;
    };

    PoolPart(Scene& scene, Book& book, test::CountingResource& resource);
    ~PoolPart();
    PoolPart(const PoolPart&) = delete;
    PoolPart& operator=(const PoolPart&) = delete;

    void start();

    // Any thread.
    void submit(Hand& hand, test::Random& random);
    void submit_nested(test::Random& random, Turn turn);
    /// Looks at some of what is kept, or at all of it: then all must have ended.
    void settle(Hand& hand, test::Random& random, bool all);

    // The episode's own thread.
    void disturb(const Event& event);
    void sample();
    void end();
    /// Destroys what the end has left.
    void destroy();
    /// When all have ended and all handles have been settled.
    void audit();

    /// For whoever looks into a hang.
    [[nodiscard]] std::string state() const;
    /// The totals at its end; none if it was destroyed without a shutdown.
    [[nodiscard]] const PoolSnapshot& last() const {
        return last_;
    }

private:
    /// A queued item's description, which the enqueuer owns.
    struct Described {
        std::string call;
        ItemMeta meta;
    };
    [[nodiscard]] PoolLane lane(test::Random& random) const;
    void describe(Described& described, test::Random& random) const;
    template <class Job>
    [[nodiscard]] Result<PoolItem> enqueue(test::Random& random, Entry& entry, Job job);
    void cancel_one(Hand& hand, test::Random& random);
    void note_end(const Hand::Kept& kept);
    void check_refusal(const Error& error);
    void count_cancelled(Fault fault, std::size_t items);
    void die_in_own_job();
    [[nodiscard]] static std::string to_text(const PoolSnapshot& seen);
    void check_entries() const;
    void check_totals() const;

    Scene& scene_;
    Book& book_;
    test::CountingResource& resource_;
    // Of this part's threads. Failed starts count, too.
    std::atomic<std::uint64_t> started_{0};
    std::atomic<std::uint64_t> stopped_{0};
    std::uint64_t threads_ = 0;  ///< that will have stopped in the end
    std::atomic<std::uint64_t> accepted_{0};
    std::atomic<std::uint64_t> cancelled_{0};
    std::atomic<std::uint64_t> thrown_{0};  ///< by the handler
    BoundedPool* pool_ = nullptr;           ///< stays readable while its destructor runs
    PoolSnapshot last_;
    PoolTotals before_;
    bool totals_known_ = false;
};

}  // namespace sluice::soak
