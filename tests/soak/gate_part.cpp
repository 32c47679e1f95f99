// Beginning, looks, end and audit of the gate. What submitters do to it: gate_load.cpp.

#include "gate_part.hpp"

#include "starts.hpp"

#include <algorithm>
#include <array>
#include <sstream>

namespace sluice::soak {

namespace {

bool balanced(const TurnGateSnapshot& seen) {
    return seen.admitted == seen.released + seen.in_flight && seen.queued == seen.left_queue() + seen.waiting;
}

bool no_less(const TurnGateSnapshot& now, const TurnGateSnapshot& before) {
    return now.admitted >= before.admitted && now.released >= before.released &&
           now.queued >= before.queued && now.left_queue() >= before.left_queue();
}

}  // namespace

GatePart::GatePart(Scene& scene, Book& book, test::CountingResource& resource)
    : scene_(scene), book_(book), resource_(resource) {
    count_.most = scene.plan.gate.max_concurrent_turns;
    count_.findings = &scene.findings;
}

void GatePart::start() {
    TurnGateConfig config = scene_.plan.gate;
    config.memory = &resource_;
    config.clock = &clock_;
    gate_ = start_part<TurnGate>(scene_, Part::gate, resource_, config);
}

void GatePart::tick() {
    clock_.advance(std::chrono::microseconds(200));
}

void GatePart::disturb(const Event& event) {
    test::Random random(event.choice, 0);
    switch (event.fault) {
        case Fault::session_cancelled: {
            const std::size_t gone = gate_->cancel_session("s" + std::to_string(event.choice % 5));
            cancelled_.fetch_add(gone);
            scene_.faults.count(event.fault, gone);
            break;
        }
        case Fault::turns_expired: {
            const std::size_t gone = gate_->expire_stale();
            expired_.fetch_add(gone);
            scene_.faults.count(event.fault, gone);
            break;
        }
        case Fault::rate_limit:
            note_rate_limit(random);
            break;
        case Fault::clock_jump: {  // to the next timer, or to where all of them are past
            scene_.faults.count(event.fault);
            constexpr std::array<int, 4> jumps{0, 1, 100, 3'600'000};
            const int jump = jumps[event.choice % jumps.size()];
            if (jump != 0)
                clock_.advance(std::chrono::milliseconds(jump));
            else if (clock_.timers() != 0)
                clock_.advance_to(clock_.next_due());
            break;
        }
        case Fault::early_shutdown:
            scene_.faults.count(event.fault);
            gate_->shutdown();
            break;
        default:
            break;
    }
}

void GatePart::sample() {
    const TurnGateSnapshot seen = gate_->snapshot();
    const auto& config = gate_->config();
    scene_.findings.expect(
        balanced(seen) && no_less(seen, before_) && seen.in_flight <= config.max_concurrent_turns &&
            seen.waiting <= config.max_queue_length && seen.live_sessions <= config.max_live_sessions,
        [&] { return "gate: a snapshot that does not add up: " + to_text(seen); });
    before_ = seen;
}

void GatePart::end() {
    gate_->shutdown();
}

void GatePart::destroy() {
    last_ = gate_->snapshot();
    outlive_ = static_cast<std::uint64_t>(count_.now.load());
    gate_.reset();
}

void GatePart::audit() {
    check_entries();
    check_totals();
    scene_.findings.expect(count_.now.load() == 0 && clock_.timers() == 0, [&] {
        return "gate: " + std::to_string(count_.now.load()) + " turns and " +
               std::to_string(clock_.timers()) + " timers left";
    });
}

void GatePart::check_entries() const {
    for (const Entry& entry : book_.entries())
        scene_.findings.expect(entry.told.load() == 1 && entry.destroyed.load() == 1,
                               [&] { return "gate: " + to_string(entry); });
}

// What the gate says, against what its callers and their callbacks say. Whoever joined and was granted before submit() returned
// got his ticket from it: he is no submission that was told a place, though the gate counts him among those that waited.
void GatePart::check_totals() const {
    std::array<std::uint64_t, 4> told{};
    for (const Entry& entry : book_.entries())
        ++told[std::min<std::size_t>(entry.outcome.load(), told.size() - 1)];
    const std::uint64_t gone = last_.cancelled + last_.shut_down + last_.rejected.total();
    const std::uint64_t said = told[dropped] + told[refused];
    const bool good = balanced(last_) && last_.in_flight == outlive_ && last_.waiting == 0 &&
                      last_.admitted == told[admitted] + tried_.load() && last_.expired == told[expired] &&
                      gone <= said && said <= gone + stopped_before_they_joined_.load() &&
                      last_.queued >= queued_.load() && last_.cancelled >= cancelled_.load() &&
                      last_.expired >= expired_.load();
    scene_.findings.expect(good, [&] {
        return "gate: " + std::to_string(tried_.load()) + " tried, " + std::to_string(told[admitted]) +
               " admitted, " + std::to_string(told[expired]) + " expired, " + std::to_string(told[dropped]) +
               " dropped, " + std::to_string(told[refused]) + " refused, but " + to_text(last_);
    });
}

std::string GatePart::to_text(const TurnGateSnapshot& seen) {
    std::ostringstream out;
    out << "in flight " << seen.in_flight << '/' << seen.limit << ", admitted " << seen.admitted
        << ", released " << seen.released << ", waiting " << seen.waiting << ", queued " << seen.queued
        << ", from the queue " << seen.admitted_from_queue << ", cancelled " << seen.cancelled << ", expired "
        << seen.expired << ", shut down " << seen.shut_down << "; refused " << seen.rejected.total()
        << "; backoff " << seen.backoff_remaining.count() << " ns; callbacks threw " << seen.callbacks_threw;
    return out.str();
}

std::string GatePart::state() const {
    return gate_ ? to_text(gate_->snapshot()) : "gone";
}

}  // namespace sluice::soak
