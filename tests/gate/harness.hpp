#pragma once

// A gate whose time is moved by hand, and a diary of all that it told.

#include <sluice/turn_gate.hpp>

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::test {

using namespace std::chrono_literals;

class GateDiary {
public:
    explicit GateDiary(TurnGateConfig config)
        : gate([&] {
              config.clock = &clock;
              return config;
          }()) {}

    GateDiary(const GateDiary&) = delete;
    GateDiary& operator=(const GateDiary&) = delete;
    /// Nobody is admitted into a diary that is being closed.
    ~GateDiary() {
        gate.shutdown();
    }

    /// Submits a turn by name; what becomes of it is in the diary. Tickets are kept until end().
    std::string submit(const std::string& name, const std::string& session = "") {
        Submitted submitted = gate.submit({
            .session = session.empty() ? name : session,
            .on_admitted =
                [this, name](TurnTicket ticket) {
                    note("admitted " + name);
                    tickets[name] = std::move(ticket);
                },
            .on_expired = [this, name](const Error& error) { note("expired " + name + ' ' + code(error)); },
            .on_dropped = [this, name](const Error& error) { note("dropped " + name + ' ' + code(error)); },
            .on_position_changed =
                [this, name](std::size_t position) {
                    note("position " + name + ' ' + std::to_string(position));
                },
        });
        if (auto* ticket = std::get_if<TurnTicket>(&submitted)) {
            tickets[name] = std::move(*ticket);
            return "admitted";
        }
        if (const auto* queued = std::get_if<Queued>(&submitted)) {
            places[name] = queued->place;
            return "queued " + std::to_string(queued->position);
        }
        return "refused " + code(std::get<Error>(submitted));
    }

    void end(const std::string& name) {
        TurnTicket ticket = std::move(tickets.at(name));
        tickets.erase(name);
        ticket.release();
    }

    /// What was told since the last time.
    std::vector<std::string> told() {
        return std::exchange(diary, {});
    }

    static std::string code(const Error& error) {
        return std::string(to_string(error.value()));
    }
    void note(std::string line) {
        diary.push_back(std::move(line));
    }

    ManualClock clock;
    std::vector<std::string> diary;
    std::map<std::string, TurnPlace> places;
    TurnGate gate;
    std::map<std::string, TurnTicket> tickets;
};

using Lines = std::vector<std::string>;

/// In every snapshot (T19).
inline bool adds_up(const TurnGateSnapshot& seen) {
    return seen.admitted == seen.released + seen.in_flight && seen.queued == seen.left_queue() + seen.waiting;
}

}  // namespace sluice::test
