// Goal:   the gate does what a plain, single-threaded gate does, call for call, callback for callback (T1 to T11, T16, T18, T19).
// Method: rapidcheck makes sequences of calls and of time; the model is the seed's shape, with vectors and without any word.

#include "gate/harness.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

using namespace sluice;
using namespace std::chrono_literals;
using sluice::test::GateDiary;
using sluice::test::Lines;

namespace {

/// A gate as one would write it for one thread.
class PlainGate {
public:
    struct Rules {
        std::size_t turns;
        std::size_t queue;
        std::size_t per_session;  // 0: none
        bool round_robin;
        std::int64_t wait_ms;
        std::int64_t base_ms;
        std::int64_t max_ms;
    };
    explicit PlainGate(Rules rules) : rules_(rules), backoff_ms_(rules.base_ms) {}

    Lines told;
    std::size_t in_flight = 0;
    std::int64_t now_ms = 0;

    std::string submit(const std::string& name, const std::string& session) {
        if (line_.empty() && in_flight < rules_.turns && !paused()) {
            ++in_flight;
            return "admitted";
        }
        std::size_t of_session = 0;
        for (const Entry& entry : line_)
            of_session += entry.session == session ? 1U : 0U;
        if (rules_.per_session != 0 && of_session >= rules_.per_session)
            return "refused queue_full";
        if (line_.size() >= rules_.queue)
            return "refused queue_full";
        line_.push_back({name, session, now_ms, line_.size() + 1});
        if (!std::ranges::count(ring_, session))
            ring_.push_back(session);
        arm_sweep();
        // The newcomer's own place is the answer; others may have moved behind it.
        std::size_t mine = line_.size();
        if (rules_.round_robin) {
            const auto places = order();
            for (std::size_t i = 0; i < places.size(); ++i)
                if (line_[places[i]].name == name)
                    mine = i + 1;
            line_.back().known = mine;
            report();
        }
        return "queued " + std::to_string(mine);
    }

    void end() {
        --in_flight;
        pump();
    }
    bool leave(const std::string& name) {
        return drop([&](const Entry& entry) { return entry.name == name; }, "dropped ", " cancelled",
                    false) == 1;
    }
    std::size_t cancel(const std::string& session) {
        return drop([&](const Entry& entry) { return entry.session == session; }, "dropped ", " cancelled",
                    false);
    }
    std::size_t expire() {
        return drop([&](const Entry& entry) { return entry.since_ms <= now_ms - rules_.wait_ms; }, "expired ",
                    " deadline_exceeded", true);
    }
    void rate_limit() {
        if (paused())
            backoff_ms_ = std::min(backoff_ms_ * 2, rules_.max_ms);
        until_ms_ = now_ms + backoff_ms_;
        resume_set_ = ++timers_set_;
        resuming_ = true;
    }
    void success() {
        if (!paused())
            backoff_ms_ = std::max(rules_.base_ms, backoff_ms_ / 2);
    }
    /// One millisecond at a time; what is due at one moment happens in the order in which it was set.
    void pass(std::int64_t ms) {
        for (; ms > 0; --ms) {
            ++now_ms;
            if (resume_set_ < sweep_set_)
                resume_if_due();
            sweep_if_due();
            resume_if_due();
        }
    }
    [[nodiscard]] bool paused() const {
        return now_ms < until_ms_;
    }
    [[nodiscard]] std::size_t waiting() const {
        return line_.size();
    }

private:
    struct Entry {
        std::string name;
        std::string session;
        std::int64_t since_ms;
        std::size_t known;
    };

    void arm_sweep() {
        if (sweeping_)
            return;
        sweeping_ = true;
        next_sweep_ms_ = now_ms + std::max<std::int64_t>(1, rules_.wait_ms / 4);
        sweep_set_ = ++timers_set_;
    }
    void sweep_if_due() {
        if (!sweeping_ || now_ms != next_sweep_ms_)
            return;
        sweeping_ = false;
        expire();
        if (!line_.empty())
            arm_sweep();
    }
    void resume_if_due() {
        if (!resuming_ || paused())
            return;
        resuming_ = false;
        pump();
    }

    /// Places of line_ in the order of admission.
    [[nodiscard]] std::vector<std::size_t> order() const {
        std::vector<std::size_t> places;
        if (!rules_.round_robin) {
            for (std::size_t i = 0; i < line_.size(); ++i)
                places.push_back(i);
            return places;
        }
        std::map<std::string, std::deque<std::size_t>> queues;
        for (std::size_t i = 0; i < line_.size(); ++i)
            queues[line_[i].session].push_back(i);
        std::deque<std::string> ring(ring_.begin(), ring_.end());
        while (!ring.empty()) {
            const std::string session = ring.front();
            ring.pop_front();
            places.push_back(queues[session].front());
            queues[session].pop_front();
            if (!queues[session].empty())
                ring.push_back(session);
        }
        return places;
    }
    void tidy_ring() {
        std::erase_if(ring_, [&](const std::string& session) {
            return std::ranges::none_of(line_, [&](const Entry& entry) { return entry.session == session; });
        });
    }
    void report() {
        const auto places = order();
        for (std::size_t i = 0; i < places.size(); ++i) {
            Entry& entry = line_[places[i]];
            if (entry.known == i + 1)
                continue;
            entry.known = i + 1;
            told.push_back("position " + entry.name + ' ' + std::to_string(i + 1));
        }
    }
    void pump() {
        bool any = false;
        while (!line_.empty() && in_flight < rules_.turns && !paused()) {
            const std::size_t place = order().front();
            const Entry entry = line_[place];
            line_.erase(line_.begin() + static_cast<std::ptrdiff_t>(place));
            ++in_flight;
            told.push_back("admitted " + entry.name);
            if (rules_.round_robin) {
                ring_.erase(ring_.begin());
                ring_.push_back(entry.session);
                tidy_ring();
            }
            any = true;
        }
        if (any)
            report();
    }
    template <class Which>
    std::size_t drop(Which which, const std::string& before, const std::string& after, bool newest_first) {
        Lines gone;
        std::erase_if(line_, [&](const Entry& entry) {
            if (which(entry))
                gone.push_back(before + entry.name + after);
            return which(entry);
        });
        if (gone.empty())
            return 0;
        if (newest_first)
            std::ranges::reverse(gone);
        told.insert(told.end(), gone.begin(), gone.end());
        tidy_ring();
        report();
        pump();
        return gone.size();
    }

    Rules rules_;
    std::vector<Entry> line_;
    std::deque<std::string> ring_;
    std::int64_t backoff_ms_;
    std::int64_t until_ms_ = 0;
    bool sweeping_ = false;
    std::int64_t next_sweep_ms_ = 0;
    bool resuming_ = false;
    std::uint64_t timers_set_ = 0;
    std::uint64_t sweep_set_ = 0;
    std::uint64_t resume_set_ = 0;
};

void sequence(bool round_robin) {
    const PlainGate::Rules rules{
        .turns = *rc::gen::inRange<std::size_t>(1, 4),
        .queue = *rc::gen::inRange<std::size_t>(0, 6),
        .per_session = *rc::gen::inRange<std::size_t>(0, 4),
        .round_robin = round_robin,
        .wait_ms =
            1'000'000,  // nothing expires but by hand: timers of one moment have no order between them here
        .base_ms = 7,
        .max_ms = 50,
    };
    PlainGate plain(rules);
    GateDiary world({.max_concurrent_turns = static_cast<std::int64_t>(rules.turns),
                     .max_queue_length = static_cast<std::int64_t>(rules.queue),
                     .max_queue_wait = std::chrono::milliseconds(rules.wait_ms),
                     .order = round_robin ? TurnOrder::round_robin : TurnOrder::fifo,
                     .max_queued_per_session = static_cast<std::int64_t>(rules.per_session),
                     .base_backoff = std::chrono::milliseconds(rules.base_ms),
                     .max_backoff = std::chrono::milliseconds(rules.max_ms)});
    const int steps = *rc::gen::inRange(1, 80);
    int names = 0;
    for (int step = 0; step < steps; ++step) {
        const int what = *rc::gen::inRange(0, 16);
        if (what < 7) {
            const std::string name = std::to_string(names++);
            const std::string session(1, static_cast<char>('a' + *rc::gen::inRange(0, 4)));
            RC_ASSERT(world.submit(name, session) == plain.submit(name, session));
        } else if (what < 10) {
            if (!world.tickets.empty()) {
                const auto chosen = *rc::gen::inRange<std::size_t>(0, world.tickets.size());
                world.end(std::next(world.tickets.begin(), static_cast<std::ptrdiff_t>(chosen))->first);
                plain.end();
            }
        } else if (what == 10 && names > 0) {
            const std::string name = std::to_string(*rc::gen::inRange(0, names));
            if (world.places.contains(name))
                RC_ASSERT(world.gate.leave(world.places[name]) == plain.leave(name));
        } else if (what == 11) {
            const std::string session(1, static_cast<char>('a' + *rc::gen::inRange(0, 4)));
            RC_ASSERT(world.gate.cancel_session(session) == plain.cancel(session));
        } else if (what == 12) {
            world.gate.note_rate_limit();
            plain.rate_limit();
        } else if (what == 13) {
            world.gate.note_success();
            plain.success();
        } else if (what == 14) {
            RC_ASSERT(world.gate.expire_stale() == plain.expire());
        } else {
            const int ms = *rc::gen::element(1, 3, 10, 60);
            world.clock.advance(std::chrono::milliseconds(ms));
            plain.pass(ms);
        }
        RC_ASSERT(world.told() == plain.told);
        plain.told.clear();
        const TurnGateSnapshot seen = world.gate.snapshot();
        RC_ASSERT(seen.in_flight == plain.in_flight);
        RC_ASSERT(seen.waiting == plain.waiting());
        RC_ASSERT(seen.in_flight <= rules.turns);
        RC_ASSERT(world.gate.paused_because().has_value() == plain.paused());
        RC_ASSERT(test::adds_up(seen));
        RC_ASSERT(world.tickets.size() == plain.in_flight);
    }
}

}  // namespace

TEST_CASE("T1-T11 T18 T19: as the plain gate, first come, first served") {
    CHECK(rc::check("fifo", [] { sequence(false); }));
}

TEST_CASE("T16: as the plain gate, round robin between sessions") {
    CHECK(rc::check("round robin", [] { sequence(true); }));
}
