// Beginning, looks, end and audit of the pool. What submitters do to it: pool_load.cpp.

#include "pool_part.hpp"

#include "starts.hpp"

#include <sstream>
#include <thread>

namespace sluice::soak {

namespace {

bool balanced(const PoolTotals& items) {
    return items.accepted ==
           items.queued + items.running + items.ran + items.thrown + items.cancelled + items.discarded;
}

bool within_bounds(const PoolSnapshot& seen, const PoolConfig& config) {
    bool good = seen.items.queued <= static_cast<std::uint64_t>(config.max_queued) &&
                seen.queued_bytes <= static_cast<std::uint64_t>(config.max_queued_bytes);
    std::uint64_t queued = 0;
    for (const PoolLaneSnapshot& lane : seen.lanes) {
        good = good && lane.queued <= lane.limit;
        queued += lane.queued;
    }
    for (const WorkerKindSnapshot& kind : seen.kinds)
        good = good && kind.running <= kind.workers;
    return good && queued == seen.items.queued;
}

bool no_less(const PoolTotals& now, const PoolTotals& before) {
    return now.accepted >= before.accepted && now.ran >= before.ran && now.thrown >= before.thrown &&
           now.cancelled >= before.cancelled && now.discarded >= before.discarded;
}

}  // namespace

PoolPart::PoolPart(Scene& scene, Book& book, test::CountingResource& resource)
    : scene_(scene), book_(book), resource_(resource) {}

PoolPart::~PoolPart() {
    delete pool_;
}

void PoolPart::start() {
    PoolConfig config = scene_.plan.pool;
    config.memory = &resource_;
    config.on_thread_start = thread_hook(scene_, started_);
    config.on_thread_stop = thread_hook(scene_, stopped_);
    config.on_thrown = [this](const ThrownItem&) { thrown_.fetch_add(1); };
    pool_ = start_part<BoundedPool>(scene_, Part::pool, resource_, config).release();
    threads_ = stopped_.load() + pool_->config().workers;  // those of attempts that failed have stopped
}

void PoolPart::disturb(const Event& event) {
    switch (event.fault) {
        case Fault::call_cancelled:
            count_cancelled(event.fault,
                            pool_->cancel_call("call" + std::to_string(event.choice % 8)) ? 1 : 0);
            break;
        case Fault::group_cancelled:
            count_cancelled(event.fault, pool_->cancel_group(event.choice % 2 == 0 ? "even" : "odd"));
            break;
        case Fault::queue_cancelled:
            count_cancelled(event.fault, pool_->cancel_all_queued());
            break;
        case Fault::allocation_fails:
            resource_.fail_nth(1 + event.choice / part_count % 4);
            break;
        case Fault::early_shutdown:
            scene_.faults.count(Fault::early_shutdown);
            pool_->shutdown(event.choice % 2 == 0 ? Shutdown::drain : Shutdown::cancel);
            break;
        default:
            break;
    }
}

void PoolPart::count_cancelled(Fault fault, std::size_t items) {
    cancelled_.fetch_add(items);
    scene_.faults.count(fault, items);
}

void PoolPart::sample() {
    const std::uint64_t least = book_.at_least();
    const PoolSnapshot seen = pool_->snapshot();
    const std::uint64_t most = book_.at_most();
    const std::uint64_t submissions = seen.items.accepted + seen.refused.all();
    scene_.findings.expect(balanced(seen.items) && within_bounds(seen, scene_.plan.pool) &&
                               no_less(seen.items, before_) && submissions >= least && submissions <= most,
                           [&] {
                               return "pool: a snapshot that does not add up, submissions " +
                                      std::to_string(least) + ".." + std::to_string(most) + ": " +
                                      to_text(seen);
                           });
    before_ = seen.items;
}

void PoolPart::end() {
    const End how = scene_.plan.pool_end;
    if (how == End::drain || how == End::cancel) {
        pool_->shutdown(how == End::drain ? Shutdown::drain : Shutdown::cancel);
        scene_.findings.expect(pool_->wait_shut_down().has_value(),
                               [] { return std::string("pool: wait_shut_down"); });
        return;
    }
    if (how == End::own_job)
        die_in_own_job();
    else
        delete pool_;
    pool_ = nullptr;
    wait_for_threads(stopped_, threads_);
}

// Its last totals are those of now: until all parts had ended others' jobs were still refused.
void PoolPart::destroy() {
    if (pool_ == nullptr)
        return;
    last_ = pool_->snapshot();
    totals_known_ = true;
    delete std::exchange(pool_, nullptr);
}

void PoolPart::die_in_own_job() {
    scene_.faults.count(Fault::owner_dies_in_a_job);
    std::unique_ptr<BoundedPool> owner(pool_);
    // Refused, the closure stays here, and the pool ends on this thread.
    static_cast<void>(pool_->post(PoolLane{0}, {}, [held = std::move(owner)]() mutable { held.reset(); }));
}

void PoolPart::audit() {
    check_entries();
    if (totals_known_)
        check_totals();
    scene_.findings.expect(started_.load() == stopped_.load(), [&] {
        return "pool: " + std::to_string(started_.load()) + " threads started, " +
               std::to_string(stopped_.load()) + " stopped";
    });
}

void PoolPart::check_entries() const {
    for (const Entry& entry : book_.entries()) {
        const unsigned ended = entry.returned.load() + entry.threw.load();
        const auto outcome = static_cast<ItemState>(entry.outcome.load());
        const bool told = entry.told.load() != 0;
        const bool fits =
            !told || (outcome == ItemState::ran         ? entry.returned.load() == 1
                      : outcome == ItemState::thrown    ? entry.threw.load() == 1
                      : outcome == ItemState::cancelled ? ended == 0
                                                        : outcome == ItemState::discarded && ended == 0);
        const bool good = entry.destroyed.load() == 1 && entry.began.load() <= entry.accepted.load() &&
                          ended == entry.began.load() && entry.told.load() == (entry.asked ? 1 : 0) && fits;
        scene_.findings.expect(good, [&] { return "pool: " + to_string(entry); });
    }
}

// What the pool says, against what the jobs and their submitters say.
void PoolPart::check_totals() const {
    std::uint64_t returned = 0;
    std::uint64_t threw = 0;
    for (const Entry& entry : book_.entries()) {
        returned += entry.returned.load();
        threw += entry.threw.load();
    }
    const PoolTotals& items = last_.items;
    const std::uint64_t accepted = accepted_.load();
    scene_.findings.expect(balanced(items) && items.queued == 0 && items.running == 0 &&
                               last_.queued_bytes == 0 && items.accepted == accepted &&
                               items.accepted + last_.refused.all() == book_.entries().size() &&
                               items.ran == returned && items.thrown == threw && thrown_.load() == threw &&
                               items.cancelled == cancelled_.load() &&
                               accepted == returned + threw + cancelled_.load() + items.discarded,
                           [&] {
                               return "pool: " + std::to_string(book_.entries().size()) + " submissions, " +
                                      std::to_string(accepted) + " accepted, " + std::to_string(returned) +
                                      " returned, " + std::to_string(threw) + " threw, " +
                                      std::to_string(cancelled_.load()) + " cancelled, but " + to_text(last_);
                           });
}

std::string PoolPart::to_text(const PoolSnapshot& seen) {
    std::ostringstream out;
    const PoolTotals& items = seen.items;
    out << "accepted " << items.accepted << ", queued " << items.queued << ", running " << items.running
        << ", ran " << items.ran << ", thrown " << items.thrown << ", cancelled " << items.cancelled
        << ", discarded " << items.discarded << "; refused " << seen.refused.all() << ';';
    for (const PoolLaneSnapshot& lane : seen.lanes)
        out << ' ' << lane.name << ' ' << lane.queued << '/' << lane.limit << '+' << lane.waiting;
    for (const WorkerKindSnapshot& kind : seen.kinds)
        out << ' ' << kind.name << ' ' << kind.running << '/' << kind.workers << " parked " << kind.parked;
    return out.str();
}

std::string PoolPart::state() const {
    return pool_ == nullptr ? "gone" : to_text(pool_->snapshot());
}

}  // namespace sluice::soak
