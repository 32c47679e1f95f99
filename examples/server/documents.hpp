// Many named documents, each kept in an actor of its own: reads of one run in parallel, writes alone and in order.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>

#include <sluice/sluice.hpp>

#include "protocol.hpp"

namespace server {

struct Entry {
    std::string value;
    std::uint64_t writes = 0;  ///< how often it was set
};
using Document = std::map<std::string, Entry>;

class Documents {
public:
    explicit Documents(const sluice::Config& config) : executor_(config) {}

    // Each answers at once; what comes back is waited for by the connection's coroutine.

    [[nodiscard]] sluice::Completion<std::uint64_t> set(const Set& request);
    [[nodiscard]] sluice::Completion<std::optional<Entry>> get(const Get& request);
    /// Connections that ask for the same scan while one runs share its answer.
    [[nodiscard]] sluice::FlightCompletion<std::string> scan(const Scan& request);

    /// Takes no more requests; returns when all that were accepted have ended.
    void drain();
    /// After drain(): every entry, one a line: DOCUMENT KEY WRITES VALUE.
    void dump(std::ostream& out) const;

private:
    [[nodiscard]] sluice::Result<sluice::Actor<Document>> find(const std::string& name) {
        return executor_.find_actor<Document>(name);
    }

    sluice::Executor executor_;
    sluice::SingleFlight<std::string, std::string> scans_;
};

}  // namespace server
