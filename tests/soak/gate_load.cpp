// What submitters do to the gate. Ends, samples and audits: gate_part.cpp.

#include "gate_part.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <utility>
#include <variant>

namespace sluice::soak {

using std::chrono::milliseconds;

void GatePart::submit(Hand& hand, test::Random& random) {
    switch (random.below(16)) {
        case 0:
        case 1:
        case 2:
        case 3:
            if (TurnTicket ticket = gate_->try_admit()) {
                tried_.fetch_add(1);
                Turn turn(count_, std::move(ticket));
                if (random.one_in(2))
                    scene_.run_turn(std::move(turn), random);
                else
                    hand.turns.push_back(std::move(turn));
            }
            break;
        case 4:
            if (random.one_in(40))
                note_rate_limit(random);
            else
                gate_->note_success();
            break;
        case 5:
            if (auto session = gate_->reserve_session())
                hand.sessions.push_back(*std::move(session));
            break;
        case 6:
            if (!hand.places.empty() && Scene::happens(random, scene_.plan.load.cancellation)) {
                const std::size_t at = random.below(hand.places.size());
                const bool left = gate_->leave(hand.places[at]);
                hand.places.erase(hand.places.begin() + static_cast<std::ptrdiff_t>(at));
                cancelled_.fetch_add(left ? 1 : 0);
                scene_.faults.count(Fault::turn_left, left ? 1 : 0);
            }
            break;
        case 7:
            if (random.one_in(10))
                wait(random);
            break;
        default:
            submit_one(&hand, random);
    }
}

void GatePart::submit_nested(test::Random& random) {
    submit_one(nullptr, random);
}

void GatePart::submit_one(Hand* hand, test::Random& random) {
    Entry* const entry = book_.open();
    if (entry == nullptr)
        return;
    const std::string session = "s" + std::to_string(random.below(5));
    Submitted submitted = gate_->submit(request(session, *entry, random));
    book_.submitted();
    if (auto* ticket = std::get_if<TurnTicket>(&submitted)) {
        book_.tell(*entry, admitted);
        Turn turn(count_, std::move(*ticket));
        if (hand == nullptr)
            turn.finish();  // inside a callback or a job: no deeper
        else if (random.one_in(3))
            hand->turns.push_back(std::move(turn));
        else
            scene_.run_turn(std::move(turn), random);
    } else if (const auto* queued = std::get_if<Queued>(&submitted)) {
        queued_.fetch_add(1);
        if (hand != nullptr)
            hand->places.push_back(queued->place);
    } else {
        book_.tell(*entry, refused);
        check_refusal(std::get<Error>(submitted));
    }
}

// News of a place is news (T7): it differs from what was told before, and in a line where nobody is let in front it is smaller.
TurnRequest GatePart::request(std::string_view session, Entry& entry, test::Random& random) {
    const std::uint64_t seed = random.next();
    const bool throws = Scene::happens(random, scene_.plan.load.callback_throws);
    const auto tell = [this, &entry, throws](Outcome outcome) {
        book_.tell(entry, outcome);
        if (!throws)
            return;
        scene_.faults.count(Fault::callback_throws);
        throw std::runtime_error("planned");
    };
    return {.session = session,
            .on_admitted =
                [this, tell, seed, witness = Witness(entry)](TurnTicket ticket) {
                    Turn turn(count_, std::move(ticket));
                    tell(admitted);
                    test::Random own(seed, 2);
                    scene_.run_turn(std::move(turn), own);
                    if (Scene::happens(own, scene_.plan.load.nested))
                        scene_.nest(Part::gate, own);
                },
            .on_expired = [tell](const Error&) { tell(expired); },
            .on_dropped = [tell](const Error&) { tell(dropped); },
            .on_position_changed =
                [this, last = std::make_shared<std::atomic<std::size_t>>(0)](std::size_t place) {
                    const std::size_t before = last->exchange(place);
                    const bool backwards = scene_.plan.gate.order == TurnOrder::fifo && place > before;
                    scene_.findings.expect(before == 0 || (place != before && !backwards), [&] {
                        return "gate: told of place " + std::to_string(place) + " after " +
                               std::to_string(before);
                    });
                }};
}

// Blocks until the clock, which the episode moves for as long as there are submitters, or a release, or the stop ends it.
void GatePart::wait(test::Random& random) {
    Entry* const entry = book_.open();
    if (entry == nullptr)
        return;
    entry->destroyed.store(1);  // there is no closure
    const bool stops = random.one_in(2);
    if (stops)
        scene_.faults.count(Fault::stop_of_all);
    Result<TurnTicket> turn =
        gate_->wait("s" + std::to_string(random.below(5)), stops ? scene_.stops.token() : std::stop_token{});
    book_.submitted();
    if (turn) {
        book_.tell(*entry, admitted);
        Turn(count_, *std::move(turn)).finish();
        return;
    }
    switch (turn.error().value()) {
        case ErrorCode::deadline_exceeded:
            book_.tell(*entry, expired);
            break;
        case ErrorCode::cancelled:
            stopped_before_they_joined_.fetch_add(1);
            book_.tell(*entry, dropped);
            break;
        case ErrorCode::shut_down:  // from the queue, or refused; the totals of both are compared together
            book_.tell(*entry, refused);
            break;
        default:
            book_.tell(*entry, refused);
            check_refusal(turn.error());
    }
}

void GatePart::settle(Hand& hand, test::Random& random, bool all) {
    while (hand.turns.size() > (all ? 0 : random.below(4)))
        hand.turns.pop_back();
    if (all || hand.sessions.size() > 4)
        hand.sessions.clear();
    if (all || hand.places.size() > 64)
        hand.places.clear();
}

void GatePart::note_rate_limit(test::Random& random) {
    scene_.faults.count(Fault::rate_limit);
    gate_->note_rate_limit(milliseconds(random.below(10)));
}

// A refusal that the plan can have led to.
void GatePart::check_refusal(const Error& error) {
    scene_.findings.expect(error == ErrorCode::queue_full || error == ErrorCode::shut_down,
                           [&] { return "gate: a refusal that cannot be: " + std::string(error.message()); });
}

}  // namespace sluice::soak
