#include "scene.hpp"

#include "executor_part.hpp"
#include "gate_part.hpp"
#include "pool_part.hpp"

#include <stdexcept>
#include <thread>

namespace sluice::soak {

Turn::Turn(TurnCount& count, TurnTicket ticket) : count_(&count), ticket_(std::move(ticket)) {
    const std::int64_t now = count.now.fetch_add(1) + 1;
    count.findings->expect(now <= count.most, [&] {
        return "gate: " + std::to_string(now) + " turns in flight, of at most " + std::to_string(count.most);
    });
}

Turn& Turn::operator=(Turn&& other) noexcept {
    if (this != &other) {
        finish();
        count_ = std::exchange(other.count_, nullptr);
        ticket_ = std::move(other.ticket_);
    }
    return *this;
}

void Turn::finish() noexcept {
    if (count_ == nullptr)
        return;
    TurnCount& count = *std::exchange(count_, nullptr);
    count.now.fetch_sub(1);
    const bool first = ticket_.release();
    const bool second = ticket_.release();
    if (!first || second)
        count.findings->add("gate: a ticket was not released exactly once");
}

void StopsOfAll::request() {
    const std::size_t at = current_.load();
    if (at + 1 == sources_.size())
        return;  // the last one serves to the end
    current_.store(at + 1);
    sources_[at].request_stop();
}

// A part that is destroyed by one of its own jobs may be gone while others of them run, and so may the others' way to it.
bool Scene::may_nest_into(Part part) const {
    return (part != Part::executor || plan.executor_end != End::own_job) &&
           (part != Part::pool || plan.pool_end != End::own_job);
}

void Scene::nest(Part from, test::Random& random) {
    const auto to = static_cast<Part>(random.below(part_count));
    if (!may_nest_into(to))
        return;
    if (to == Part::executor)
        executor->submit_nested(random, {});
    else if (to == Part::pool)
        pool->submit_nested(random, {});
    else if (from != Part::gate)
        gate->submit_nested(random);
}

void Scene::run_turn(Turn turn, test::Random& random) {
    const std::uint64_t where = random.below(4);
    if (where == 0 && may_nest_into(Part::executor))
        executor->submit_nested(random, std::move(turn));
    else if (where == 1 && may_nest_into(Part::pool))
        pool->submit_nested(random, std::move(turn));
    else
        turn.finish();
}

JobBody::JobBody(Scene& scene, Part part, Entry& entry, test::Random& random, Fault if_it_throws, Turn turn)
    : scene_(&scene),
      witness_(entry),
      seed_(random.next()),
      part_(part),
      if_it_throws_(if_it_throws),
      throws_(Scene::happens(random, if_it_throws == Fault::actor_fatal ? scene.plan.load.mutation_throws
                                                                        : scene.plan.load.job_throws)),
      slow_(Scene::happens(random, scene.plan.load.slow_job)),
      nests_(Scene::happens(random, scene.plan.load.nested)),
      turn_(std::move(turn)) {}

void JobBody::run(bool last) const {
    Entry& entry = witness_.entry();
    entry.began.fetch_add(1);
    if (slow_) {
        scene_->faults.count(Fault::slow_job);
        std::this_thread::sleep_for(scene_->plan.load.slow);
    }
    if (nests_) {
        test::Random random(seed_, 1);
        scene_->nest(part_, random);
    }
    if (throws_) {
        scene_->faults.count(if_it_throws_);
        entry.threw.fetch_add(1);
        throw std::runtime_error("planned");
    }
    if (last)
        entry.returned.fetch_add(1);
}

}  // namespace sluice::soak
