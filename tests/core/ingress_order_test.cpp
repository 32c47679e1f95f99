// Goal (E14): a job whose submission had ended before another's took its number comes out first; a submission that is
// suspended, anywhere and for ever, holds no other job back.
// Method: every interleaving of a few submitters with the visits of the consumer, at tiny sizes; long random schedules at
// larger ones. A judge that knows nothing of the rule checks each emission. Each planted bug must be refused.
#include "core/ingress_order.hpp"

#include "every_choice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

namespace sluice::core::test {

namespace {

constexpr std::size_t most_jobs = 512;
using Set = std::bitset<most_jobs>;

struct Item {
    std::uint64_t number = 0;
    Set before;  // what had been put when the number was taken
};

/// What submitter `lane` does next: it takes a number, or puts the job whose number it took.
using Schedule = std::vector<std::uint8_t>;

/// Lanes, submitters and judge. The submitters go on when the consumer visits a lane, as far as `advance` says.
template <std::size_t Stage, typename Advance>
class Scene {
public:
    struct Lane : StagedLane<Lane, Item, Stage> {
        std::deque<Item*> queue;
        std::size_t index = 0;
        Lane* older = nullptr;
        bool number_taken = false;
    };

    Scene(std::size_t lanes, const Schedule& schedule, Advance& advance)
        : lanes_(lanes), schedule_(schedule), advance_(advance) {
        items_.reserve(schedule.size());
        for (std::size_t i = 0; i < lanes; ++i) {
            lanes_[i].index = i;
            lanes_[i].older = i == 0 ? nullptr : &lanes_[i - 1];
        }
    }

    // What IngressOrder asks for.
    Lane* first() {
        return &lanes_.back();
    }
    static Lane* after(Lane& lane) {
        return lane.older;
    }
    std::size_t take(Lane& lane, Item** out, std::size_t max) {
        go_on_to(advance_(lane.index, schedule_, position_));
        std::size_t count = 0;
        while (count < max && !lane.queue.empty()) {
            out[count++] = lane.queue.front();
            lane.queue.pop_front();
        }
        return count;
    }
    void emitted(Lane& /*unused*/) {}

    // What the test asks for.
    void judge(const Item& item) {
        const std::size_t n = item.number;
        correct_ = correct_ && !out_[n] && (item.before & ~out_).none();
        out_[n] = true;
    }
    [[nodiscard]] bool finished() const {
        return position_ == schedule_.size();
    }
    void finish() {
        go_on_to(schedule_.size());
    }
    [[nodiscard]] bool correct_and_complete() const {
        return correct_ && out_ == put_;
    }
    [[nodiscard]] const Set& out() const {
        return out_;
    }

private:
    void go_on_to(std::size_t end) {
        for (; position_ < end; ++position_) {
            Lane& lane = lanes_[schedule_[position_]];
            if (lane.number_taken) {
                lane.queue.push_back(pending_[lane.index]);
                put_[pending_[lane.index]->number] = true;
            } else {
                items_.push_back({next_number_++, put_});
                pending_[lane.index] = &items_.back();
            }
            lane.number_taken = !lane.number_taken;
        }
    }

    std::vector<Lane> lanes_;
    const Schedule& schedule_;
    Advance& advance_;
    std::size_t position_ = 0;
    std::vector<Item> items_;  // never grows beyond its capacity: lanes point into it
    std::array<Item*, 64> pending_{};
    std::uint64_t next_number_ = 1;
    Set put_;
    Set out_;
    bool correct_ = true;
};

/// Runs the schedule to its end in drains of at most `max`. False: the judge refused.
template <typename Rules, std::size_t Stage, typename Advance>
bool holds(std::size_t lanes, const Schedule& schedule, Advance& advance, std::size_t max) {
    Scene<Stage, Advance> scene(lanes, schedule, advance);
    IngressOrder<Scene<Stage, Advance>, Rules> order(1);
    std::vector<Item*> out(max);
    for (bool last = false; !last;) {
        last = scene.finished();
        std::size_t count = 0;
        do {
            count = order.drain(scene, out.data(), max);
            for (std::size_t i = 0; i < count; ++i) {
                scene.judge(*out[i]);
            }
        } while (count > 0);
        scene.finish();
    }
    return scene.correct_and_complete() && order.emitted() == scene.out().count() &&
           order.next_number() - 1 - order.owed() == order.emitted();
}

/// Calls visit(schedule) for each interleaving of submitters that do at most `steps[i]` steps each; a submitter that does
/// an odd number is suspended for ever with a number in its hand.
template <std::size_t Lanes, typename Visit>
void every_schedule(const std::array<std::size_t, Lanes>& steps, Visit visit) {
    std::array<std::size_t, Lanes> some{};
    for (;;) {
        Schedule schedule;
        for (std::size_t lane = 0; lane < Lanes; ++lane) {
            schedule.insert(schedule.end(), some[lane], static_cast<std::uint8_t>(lane));
        }
        do {
            if (!visit(schedule)) {
                return;
            }
        } while (std::next_permutation(schedule.begin(), schedule.end()));
        std::size_t lane = 0;
        while (lane < Lanes && some[lane] == steps[lane]) {
            some[lane++] = 0;
        }
        if (lane == Lanes) {
            return;
        }
        ++some[lane];
    }
}

/// At a visit of lane l the submitters go on to a put into l, or do not: only then can the visit tell the difference.
struct ChooseAdvance {
    EveryChoice& choice;

    std::size_t operator()(std::size_t lane, const Schedule& schedule, std::size_t position) const {
        std::array<std::size_t, 16> ends{};
        std::size_t count = 0;
        ends[count++] = position;
        std::size_t steps = static_cast<std::size_t>(
            std::count(schedule.begin(), schedule.begin() + static_cast<std::ptrdiff_t>(position), lane));
        for (std::size_t i = position; i < schedule.size(); ++i) {
            if (schedule[i] == lane && ++steps % 2 == 0) {
                ends[count++] = i + 1;
            }
        }
        return ends[choice.choose(count)];
    }
};

struct Outcome {
    std::uint64_t paths = 0;
    bool refused = false;
};

template <typename Rules, std::size_t Stage>
Outcome every_interleaving(std::size_t max) {
    Outcome outcome;
    every_schedule<3>({4, 4, 2}, [&](const Schedule& schedule) {
        EveryChoice choice;
        ChooseAdvance advance{choice};
        do {
            ++outcome.paths;
            outcome.refused = !holds<Rules, Stage>(3, schedule, advance, max);
        } while (!outcome.refused && choice.next());
        return !outcome.refused;
    });
    return outcome;
}

template <typename Rules, std::size_t Stage>
Outcome random_schedules(std::uint64_t seed, std::uint64_t rounds) {
    Outcome outcome;
    std::mt19937_64 random(seed);
    const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    while (outcome.paths < rounds && !outcome.refused) {
        ++outcome.paths;
        const std::size_t lanes = 1 + below(12);
        Schedule schedule(below(2 * most_jobs - 32));
        std::size_t busy = 0;
        for (std::uint8_t& lane : schedule) {
            // Some submitters do many steps in a row, others are suspended meanwhile.
            busy = below(3) == 0 ? below(lanes) : busy;
            lane = static_cast<std::uint8_t>(busy);
        }
        const std::size_t stride = 1 + below(40);
        auto advance = [&](std::size_t /*lane*/, const Schedule& all, std::size_t position) {
            return std::min(all.size(), position + (below(2) == 0 ? 0 : below(stride)));
        };
        outcome.refused = !holds<Rules, Stage>(lanes, schedule, advance, 1 + below(130));
    }
    return outcome;
}

struct AsFound : IngressRules {
    static constexpr bool by_number = false;
};
struct NoLook : IngressRules {
    static constexpr bool look_at_gap = false;
    static constexpr bool revisit = false;
};
struct CountWhileOwed : IngressRules {
    static constexpr bool count_only_when_nothing_owed = false;
};
struct NoRevisit : IngressRules {
    static constexpr bool revisit = false;
};

std::uint64_t seed() {
    const char* const given = std::getenv("SLUICE_TEST_SEED");
    const std::uint64_t value = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    MESSAGE("seed " << value << " (SLUICE_TEST_SEED repeats it)");
    return value;
}

}  // namespace

TEST_CASE("E14: every interleaving of three submitters and five jobs") {
    const Outcome one = every_interleaving<IngressRules, 1>(8);
    CHECK_FALSE(one.refused);
    const Outcome two = every_interleaving<IngressRules, 2>(8);
    CHECK_FALSE(two.refused);
    const Outcome single = every_interleaving<IngressRules, 2>(1);
    CHECK_FALSE(single.refused);
    MESSAGE("interleavings: " << one.paths + two.paths + single.paths);
    CHECK(one.paths > 100'000);
}

TEST_CASE("E14: the judge refuses each planted bug") {
    CHECK(every_interleaving<AsFound, 1>(8).refused);
    CHECK(every_interleaving<NoLook, 1>(8).refused);
    CHECK(every_interleaving<CountWhileOwed, 1>(8).refused);
    CHECK(every_interleaving<NoRevisit, 1>(8).refused);
}

TEST_CASE("E14: long random schedules of up to twelve submitters") {
    const std::uint64_t first = seed();
    CHECK_FALSE(random_schedules<IngressRules, 1>(first, 3'000).refused);
    CHECK_FALSE(random_schedules<IngressRules, 4>(first + 1, 3'000).refused);
    CHECK_FALSE(random_schedules<IngressRules, 32>(first + 2, 3'000).refused);
    CHECK(random_schedules<AsFound, 4>(first, 3'000).refused);
    CHECK(random_schedules<NoLook, 4>(first, 3'000).refused);
    CHECK(random_schedules<CountWhileOwed, 4>(first, 3'000).refused);
    CHECK(random_schedules<NoRevisit, 4>(first, 3'000).refused);
}

TEST_CASE("one lane, in order, in any portions; and nothing when there is nothing") {
    Schedule schedule(20, 0);
    auto all = [](std::size_t /*lane*/, const Schedule& steps, std::size_t /*position*/) {
        return steps.size();
    };
    for (std::size_t max = 1; max < 12; ++max) {
        CHECK(holds<IngressRules, 3>(1, schedule, all, max));
    }
    CHECK(holds<IngressRules, 3>(4, Schedule{}, all, 8));
}

}  // namespace sluice::core::test
