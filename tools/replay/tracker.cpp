#include "tracker.hpp"

#include <algorithm>

namespace sluice::replay {

bool Tracker::look(std::size_t job) {
    const Fate fate = recorder_.submissions()[job].fate;
    const JobRecord& record = recorder_.records()[job];
    if (fate != Fate::accepted)
        return true;
    if (record.ended() == 0)
        return record.dropped.load(std::memory_order_relaxed);
    const std::uint64_t arrival = plan_.jobs[job].arrival_ns;
    delay_.record(record.started > arrival ? record.started - arrival : 0);
    return true;
}

void Tracker::update(std::size_t submitted) {
    submitted_ = submitted;
    std::size_t looks = std::min(looks_per_update, submitted_ - first_open_);
    for (; looks > 0; --looks, ++cursor_) {
        if (cursor_ < first_open_ || cursor_ >= submitted_)
            cursor_ = first_open_;
        if (seen_[cursor_] || !look(cursor_))
            continue;
        seen_[cursor_] = true;
        ++over_;
    }
    while (first_open_ < submitted_ && seen_[first_open_])
        ++first_open_;
}

}  // namespace sluice::replay
