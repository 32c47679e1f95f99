// Goal:   no sequence of events whatever makes the scheduler decide otherwise than the rules (E8-E12, E15, E18, E24, E25, E4),
//         or, with run-ahead, break one (E28).
// Method: the input is a shape (seven bytes) and then events of two bytes each. An even first byte: without run-ahead, beside
//         NaiveModel; an odd one: with it, before RuleChecker. The first difference aborts.

#include "bytes.hpp"

#include "checked_world.hpp"
#include "paired_world.hpp"

#include <algorithm>
#include <cstdint>

using namespace sluice;
using namespace sluice::core;
using namespace sluice::core::test;

namespace {

struct Shape {
    std::size_t actors = 1;
    unsigned permits = 1;
    Limits limits;
};

[[nodiscard]] Shape take_shape(fuzz::Bytes& bytes) {
    Shape shape;
    shape.actors = bytes.between(1, 6);
    shape.permits = bytes.between(1, 3);
    shape.limits = plain_limits(bytes.between(1, 9));
    Limits& limits = shape.limits;
    limits.actor_cap = std::min(bytes.between(1, 5), std::max(limits.pool_size - 1, 1U));
    limits.read_cap = std::min(bytes.between(1, 4), limits.actor_cap);
    limits.deficit_cap = 4 * limits.actor_cap;
    limits.drr_quantum = bytes.between(1, 3);
    return shape;
}

/// What to do, with whom, and how: the halves of the first byte, and the second.
struct Event {
    explicit Event(fuzz::Bytes& bytes) {
        const std::uint8_t first = bytes.next();
        what = first & 15U;
        who = first >> 4U;
        how = bytes.next();
    }
    [[nodiscard]] Lane lane() const {
        return lanes[how % 4];
    }
    [[nodiscard]] JobClass job_class() const {
        return classes[how / 4 % 2];
    }

    unsigned what = 0;
    std::size_t who = 0;
    unsigned how = 0;
};

constexpr Nanos tick_ns = 65'536;  // of Deadlines

/// From less than a tick to beyond the top of the lowest two levels of the wheel.
[[nodiscard]] Nanos some_time(unsigned how) {
    return static_cast<Nanos>(how % 16 + 1) * (tick_ns / 4) << 4 * (how / 16 % 4);
}

void beside_the_model(fuzz::Bytes& bytes) {
    const Shape shape = take_shape(bytes);
    PairedWorld pair(shape.limits, shape.permits, shape.actors);
    for (std::size_t actor = 0; actor < shape.actors; ++actor)
        pair.set_weight(actor, static_cast<std::uint16_t>(1 + actor % 3));
    Nanos now = 0;
    while (!bytes.empty() && !pair.difference()) {
        const Event event(bytes);
        const std::size_t actor = event.who % shape.actors;
        if (event.what < 5) {
            pair.submit(actor, event.lane(), event.job_class(), 1 + event.how / 8);
        } else if (event.what == 5) {
            pair.submit(actor, event.lane(), event.job_class(), 1, now + some_time(bytes.next()));
        } else if (event.what < 9) {
            (void)pair.decide();
        } else if (event.what == 9) {
            if (event.how >= 0xF0)
                pair.remove(actor);
        } else if (event.what == 10) {
            pair.withdraw(event.how);
        } else if (event.what == 11) {
            now += some_time(event.how);
            pair.expire(now, 1 + static_cast<std::uint32_t>(event.who));
        } else if (!pair.world.running.empty()) {
            pair.end(event.how % pair.world.running.size(), event.what == 15 && event.who < 4);
        }
    }
    if (!pair.difference())
        pair.finish(shape.permits);
    if (pair.difference())
        fuzz::found(*pair.difference());
}

void before_the_judge(fuzz::Bytes& bytes) {
    Shape shape = take_shape(bytes);
    shape.limits.run_jobs_max = 8;
    shape.limits.run_budget_ns = 30'000;
    shape.limits.backlog_ns = 30'000;
    shape.limits.backlog_jobs_max = 16;
    CheckedWorld checked(shape.limits, shape.permits, shape.actors);
    const auto& running = checked.world.running;
    const auto judged = [&] {
        if (checked.rules.violation())
            fuzz::found(*checked.rules.violation());
        fuzz::require(checked.counters_agree(shape.permits), "the counters agree with what is in flight");
    };
    while (!bytes.empty()) {
        const Event event(bytes);
        const std::size_t actor = event.who % shape.actors;
        const std::size_t run = running.empty() ? 0 : event.who % running.size();
        if (event.what < 6)
            checked.submit(actor, event.lane(), event.job_class(), 1 + event.how / 64,
                           event.how / 8 % 2 != 0);
        else if (event.what < 10)
            (void)checked.start();
        else if (event.what == 10 && event.how >= 0xF0)
            checked.remove(actor);
        else if (event.what == 10 && event.how == 0x80)
            checked.cancel();
        else if (running.empty())
            continue;
        else if (event.what == 11)
            checked.give_back(run, 1 + event.how % 4);
        else if (event.what == 12)
            checked.return_run(run);
        else  // mostly short ones, so that runs form
            checked.end(run, {.executed = 1 + event.how % 8,
                              .failed = event.how >= 0xF8,
                              .job_ns = event.how % 32 == 31 ? 200'000 : 300});
        judged();
    }
    checked.finish();
    judged();
    fuzz::require(checked.rules.all_done(), "every job has had an outcome");
    fuzz::require(checked.world.permits.free() == shape.permits, "all heavy permits are back");
    fuzz::require(checked.world.scheduler.quiet(), "nothing is queued or in flight");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data,
                      std::min<std::size_t>(size, 1'024));  // the model looks at everybody after every event
    if (bytes.next() % 2 == 0)
        beside_the_model(bytes);
    else
        before_the_judge(bytes);
    return 0;
}
