// What submitters do to the pool. Ends, samples and audits: pool_part.cpp.

#include "pool_part.hpp"

#include <array>
#include <chrono>

namespace sluice::soak {

using std::chrono::microseconds;

namespace {

/// Larger than a slot.
class BulkyBody {
public:
    explicit BulkyBody(JobBody body) : body_(std::move(body)) {}
    void operator()() const {
        body_.run();
    }

private:
    JobBody body_;
    [[maybe_unused]] std::array<char, 300> bulk_{};
};

}  // namespace

PoolLane PoolPart::lane(test::Random& random) const {
    return {static_cast<std::uint8_t>(random.below(scene_.plan.pool.lanes.size()))};
}

// Most items are small, so that each of the bounds is met; one in a thousand never fits.
void PoolPart::describe(Described& described, test::Random& random) const {
    if (random.one_in(2))
        described.call = "call" + std::to_string(random.below(8));
    described.meta = {.call_id = described.call,
                      .group_id = random.one_in(2) ? "even" : "odd",
                      .bytes = random.below(random.one_in(6) ? 40 : 4)};
    if (random.one_in(1000))
        described.meta.bytes = static_cast<std::uint64_t>(scene_.plan.pool.max_queued_bytes) + 1;
}

template <class Job>
Result<PoolItem> PoolPart::enqueue(test::Random& random, Entry& entry, Job job) {
    Described described;
    describe(described, random);
    const PoolLane to = lane(random);
    const bool waits = random.one_in(16);
    Result<PoolItem> item =
        waits ? pool_->enqueue_for(microseconds(random.below(1000)), to, described.meta, std::move(job))
              : pool_->enqueue(to, described.meta, std::move(job));
    book_.submitted();
    if (item) {
        entry.accepted.store(1);
        accepted_.fetch_add(1);
    } else {
        check_refusal(item.error());
    }
    return item;
}

void PoolPart::submit(Hand& hand, test::Random& random) {
    if (Scene::happens(random, scene_.plan.load.cancellation))
        cancel_one(hand, random);
    Entry* const entry = book_.open();
    if (entry == nullptr)
        return;
    JobBody body(scene_, Part::pool, *entry, random, Fault::job_throws);
    Result<PoolItem> item = random.one_in(12) ? enqueue(random, *entry, BulkyBody(std::move(body)))
                                              : enqueue(random, *entry, [b = std::move(body)] { b.run(); });
    entry->asked = item && random.one_in(2);
    if (entry->asked)
        hand.kept.push_back({*std::move(item), entry});
}

void PoolPart::submit_nested(test::Random& random, Turn turn) {
    Entry* const entry = book_.open();
    if (entry == nullptr)
        return;
    JobBody body(scene_, Part::pool, *entry, random, Fault::job_throws, std::move(turn));
    static_cast<void>(enqueue(random, *entry, [b = std::move(body)] { b.run(); }));
}

void PoolPart::cancel_one(Hand& hand, test::Random& random) {
    if (random.one_in(8)) {
        count_cancelled(Fault::call_cancelled,
                        pool_->cancel_call("call" + std::to_string(random.below(8))) ? 1 : 0);
    } else if (!hand.kept.empty()) {
        Hand::Kept& kept = hand.kept[random.below(hand.kept.size())];
        count_cancelled(Fault::item_cancelled, kept.item.cancel() ? 1 : 0);
    }
}

void PoolPart::settle(Hand& hand, test::Random& /*random*/, bool all) {
    for (std::size_t looks = hand.kept.size() > 40 || all ? hand.kept.size() : 0; looks > 0; --looks) {
        Hand::Kept kept = std::move(hand.kept.front());
        hand.kept.pop_front();
        const ItemState state = kept.item.state();
        if (!all && (state == ItemState::queued || state == ItemState::running))
            hand.kept.push_back(std::move(kept));
        else
            note_end(kept);
    }
}

void PoolPart::note_end(const Hand::Kept& kept) {
    book_.tell(*kept.entry, static_cast<std::uint8_t>(kept.item.state()));
}

// A refusal that the plan can have led to.
void PoolPart::check_refusal(const Error& error) {
    switch (error.value()) {
        case ErrorCode::queue_full:
        case ErrorCode::never_fits:
        case ErrorCode::shut_down:
        case ErrorCode::out_of_memory:
        case ErrorCode::would_deadlock:  // waiting for room inside a job of the pool
            return;
        default:
            scene_.findings.add("pool: a refusal that cannot be: " + std::string(error.message()));
    }
}

}  // namespace sluice::soak
