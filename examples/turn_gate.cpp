// A service that talks to a rate-limited provider: at most two turns at once, the others wait in order and are told their places.
#include <sluice/turn_gate.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <variant>

int main() {
    sluice::ManualClock clock;  // a service leaves this out, and gets the system's
    sluice::TurnGate gate({.max_concurrent_turns = 2, .max_queue_length = 8, .clock = &clock});

    // Waiting as code: a ticket or an error; it is given back when it goes out of scope.
    auto first = gate.wait("alice");
    auto second = gate.wait("bob");

    // Waiting without a thread: what is to be called when something happens.
    sluice::TurnTicket carols;
    auto submitted = gate.submit({
        .session = "carol",
        .on_admitted = [&](sluice::TurnTicket ticket) { carols = std::move(ticket); },
        .on_position_changed = [](std::size_t place) { std::printf("carol is now number %zu\n", place); },
    });
    if (const auto* queued = std::get_if<sluice::Queued>(&submitted))
        std::printf("carol waits as number %zu\n", queued->position);

    first->release();  // carol is admitted here, on this thread
    std::printf("carol %s\n", carols ? "has her turn" : "waits");

    gate.note_rate_limit(std::chrono::seconds(2));  // the provider said "too many, come again in 2 s"
    std::printf("paused: %s\n", gate.paused_because() ? "yes" : "no");
    clock.advance(std::chrono::seconds(2));
    std::printf("paused: %s\n", gate.paused_because() ? "yes" : "no");

    const sluice::TurnGateSnapshot seen = gate.snapshot();
    std::printf("%llu in flight, %llu admitted so far\n", static_cast<unsigned long long>(seen.in_flight),
                static_cast<unsigned long long>(seen.admitted));
    return seen.in_flight == 2 && carols ? 0 : 1;
}
