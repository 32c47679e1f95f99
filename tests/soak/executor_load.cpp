// What submitters do to the executor. Ends, samples and audits: executor_part.cpp.

#include "executor_part.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>

namespace sluice::soak {

using std::chrono::microseconds;
using std::chrono::steady_clock;

namespace {

/// Larger than a node.
class BulkyBody {
public:
    explicit BulkyBody(JobBody body) : body_(std::move(body)) {}
    int operator()(const Room& room) const {
        room.read([this] { body_.run(); });
        return bulk_[7];
    }

private:
    JobBody body_;
    std::array<char, 300> bulk_{};
};

}  // namespace

// Registered anew where somebody removed it or it became fatal, but not at once: who submits to it meanwhile is refused.
const Actor<Room>* ExecutorPart::known(Hand& hand, std::uint64_t which, test::Random& random) {
    Actor<Room>& actor = hand.actors[which];
    if (actor && actor.registered() && !actor.fatal())
        return &actor;
    if (actor && !random.one_in(4))
        return &actor;
    try {
        if (actor && actor.fatal() && actor.registered() && executor_->remove_actor(name_of(which)))
            scene_.faults.count(Fault::actor_removed);
        const auto weight = static_cast<std::uint32_t>(random.below(4) + 1);
        auto added = executor_->emplace_actor<Room>(name_of(which), {.weight = weight}, rooms_);
        if (added.inserted && actor)
            scene_.faults.count(Fault::actor_registered_again);
        actor = added;
    } catch (const Exception& refused) {  // no memory, or shut down: by plan
        scene_.findings.expect(
            refused.error() == ErrorCode::out_of_memory || refused.error() == ErrorCode::shut_down,
            [&] { return "executor: add_actor: " + std::string(refused.error().message()); });
    }
    return actor ? &actor : nullptr;
}

JobOptions ExecutorPart::options(Hand& hand, test::Random& random) {
    const Load& load = scene_.plan.load;
    JobOptions options{
        .job_class = Scene::happens(random, load.maintenance) ? JobClass::maintenance : JobClass::interactive,
        .cost = random.one_in(20) ? 3U : 1U};
    if (random.one_in(4))
        options.request_id = "soak";
    if (Scene::happens(random, load.deadline)) {
        scene_.faults.count(Fault::deadline);
        options.deadline =
            steady_clock::now() +
            microseconds(random.below(static_cast<std::uint64_t>(load.longest_deadline.count())));
    }
    if (Scene::happens(random, load.stop)) {
        hand.stops.emplace_back();
        options.stop = hand.stops.back().get_token();
        if (hand.stops.size() > 8) {
            const std::size_t at = random.below(hand.stops.size());
            scene_.faults.count(Fault::stop);
            hand.stops[at].request_stop();
            hand.stops.erase(hand.stops.begin() + static_cast<std::ptrdiff_t>(at));
        }
    } else if (Scene::happens(random, load.stop_of_all)) {
        options.stop = scene_.stops.token();
    }
    return options;
}

void ExecutorPart::submit(Hand& hand, test::Random& random) {
    const Load& load = scene_.plan.load;
    if (Scene::happens(random, load.removal) && executor_->remove_actor(name_of(random.below(load.actors))))
        scene_.faults.count(Fault::actor_removed);
    if (!random.one_in(40)) {
        submit_one(hand, random);
        return;
    }
    const Batch batch(*executor_);
    for (std::uint64_t jobs = random.below(20); jobs > 0; --jobs)
        submit_one(hand, random);
}

void ExecutorPart::submit_one(Hand& hand, test::Random& random) {
    const Actor<Room>* const actor = known(hand, random.below(scene_.plan.load.actors), random);
    Entry* const entry = actor != nullptr ? book_.open() : nullptr;
    if (entry == nullptr)
        return;
    const JobOptions how = options(hand, random);
    const std::uint64_t shape = random.below(12);
    JobBody body(scene_, Part::executor, *entry, random, shape < 4 ? Fault::actor_fatal : Fault::job_throws);
    if (shape == 0 || shape == 4) {
        post(*actor, how, shape == 0 ? Lane::mutating : Lane::pure_read, std::move(body));
        book_.submitted();
        return;
    }
    entry->heavy = shape == 5 || shape == 6;
    Completion<int> job = hand_in(*actor, how, shape, std::move(body));
    book_.submitted();
    const std::uint64_t way =
        random.below(entry->heavy ? 2 : 3);  // the books need to be told what became of a heavy job
    entry->asked = way != 2;
    if (way == 0)
        call_back(random, *entry, std::move(job));
    else if (way == 1)
        hand.kept.push_back({std::move(job), entry});
    else
        job.detach();
}

void ExecutorPart::post(const Actor<Room>& actor, const JobOptions& how, Lane lane, JobBody body) {
    Result<void> posted;
    if (lane == Lane::mutating)
        posted = actor.post_mutate(how, [b = std::move(body)](Room& room) { room.write([&b] { b.run(); }); });
    else
        posted =
            actor.post_read(how, [b = std::move(body)](const Room& room) { room.read([&b] { b.run(); }); });
    if (!posted)
        check_refusal(posted.error());
}

Completion<int> ExecutorPart::hand_in(const Actor<Room>& actor, const JobOptions& how, std::uint64_t shape,
                                      JobBody body) {
    Entry* const entry = &body.entry();
    switch (shape) {
        case 1:
        case 2:
        case 3:
            return actor.mutate(how, [b = std::move(body)](Room& room) {
                room.write([&b] { b.run(); });
                return 0;
            });
        case 5:
            return actor.build(
                how,
                [b = std::move(body)](const Room&) {
                    b.run(false);
                    return 0;
                },
                [entry](Room& room, int built) {
                    room.write([entry] { entry->returned.fetch_add(1); });
                    return built;
                });
        case 6:
            return actor.build(how, [b = std::move(body)](const Room&) {
                b.run();
                return 0;
            });
        case 7:
            return actor.status(how, [b = std::move(body)](const Room& room) {
                room.status([&b] { b.run(); });
                return 0;
            });
        case 8:
            return actor.read(how, BulkyBody(std::move(body)));
        default:
            return actor.read(how, [b = std::move(body)](const Room& room) {
                room.read([&b] { b.run(); });
                return 0;
            });
    }
}

// By key, as who holds no handle does; the job may be waited for a little, and is then left to itself.
void ExecutorPart::submit_nested(test::Random& random, Turn turn) {
    Entry* const entry = book_.open();
    if (entry == nullptr)
        return;
    const bool writes = random.one_in(4);
    JobBody body(scene_, Part::executor, *entry, random, writes ? Fault::actor_fatal : Fault::job_throws,
                 std::move(turn));
    const std::string id =
        name_of(random.below(scene_.plan.load.actors + 1));  // the last one is never registered
    Completion<int> job;
    if (writes)
        job = executor_->submit<Room>(id, Lane::mutating, {}, [b = std::move(body)](Room& room) {
            room.write([&b] { b.run(); });
            return 0;
        });
    else
        job = executor_->submit<Room>(id, Lane::pure_read, {}, [b = std::move(body)](const Room& room) {
            room.read([&b] { b.run(); });
            return 0;
        });
    book_.submitted();
    if (random.one_in(8))
        static_cast<void>(job.wait_for(microseconds(500)));
    job.detach();
}

void ExecutorPart::call_back(test::Random& random, Entry& entry, Completion<int> job) {
    const bool throws = Scene::happens(random, scene_.plan.load.callback_throws);
    try {
        std::move(job).then([this, &entry, throws](Result<int> result) {
            tell(entry, result);
            if (!throws)
                return;
            scene_.faults.count(Fault::callback_throws);
            throw std::runtime_error("planned");
        });
    } catch (const std::bad_alloc&) {  // by plan; the handle is as it was
        tell(entry, job.wait());
    }
}

void ExecutorPart::settle(Hand& hand, test::Random& random, bool all) {
    while (hand.kept.size() > (all ? 0 : 40)) {
        const std::size_t at = random.below(hand.kept.size());
        std::swap(hand.kept[at], hand.kept.back());
        Hand::Kept& last = hand.kept.back();
        if (random.one_in(4)) {
            const Result<int> early = last.job.wait_for(microseconds(random.below(50)));
            if (!early && early.error() == ErrorCode::timed_out)
                continue;
            tell(*last.entry, early);
        } else {
            tell(*last.entry, last.job.wait());
        }
        hand.kept.pop_back();
    }
    if (all)
        hand = {};  // its handles keep cells of actors
}

void ExecutorPart::tell(Entry& entry, const Result<int>& result) {
    book_.tell(entry, result ? 0 : static_cast<std::uint8_t>(result.error().value()));
    if (!result)
        check_refusal(result.error());
}

// An outcome that the plan can have led to, and a refusal that tells the truth (E34).
void ExecutorPart::check_refusal(const Error& error) {
    switch (error.value()) {
        case ErrorCode::job_threw:
        case ErrorCode::actor_removed:
        case ErrorCode::actor_fatal:
        case ErrorCode::actor_not_registered:
        case ErrorCode::shut_down:
        case ErrorCode::cancelled:
        case ErrorCode::deadline_exceeded:
        case ErrorCode::out_of_memory:
            return;
        case ErrorCode::queue_full: {
            const LimitHit hit = error.limit();
            const bool known =
                hit.name == "fixed_capacity" ||
                (hit.name == "max_queued" && hit.value == limits_.max_queued) ||
                (hit.name == "max_queued_per_actor" && hit.value == limits_.max_queued_per_actor);
            scene_.findings.expect(known && hit.count == hit.value, [&] {
                return "executor: a refusal that cannot be: " + std::string(error.message());
            });
            return;
        }
        default:
            scene_.findings.add("executor: an outcome that cannot be: " + std::string(error.message()));
    }
}

}  // namespace sluice::soak
