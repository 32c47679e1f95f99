// The command line of replay-peers.
#pragma once

#include "replay/peer.hpp"

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace perf::replay {

struct Request {
    std::string trace;
    std::vector<const Peer*> peers;
    double utilisation = 0.5;
    double service_scale = 1;
    std::uint64_t jobs = ~std::uint64_t{0};  ///< the first so many rows
    unsigned rounds = 5;
    unsigned workers = 2;
    std::uint64_t seed = 1;
    unsigned patience_s = 60;
    sluice::replay::WorkKind work = sluice::replay::WorkKind::spin;
    Lanes lanes = Lanes::own;
    std::optional<std::string> json;  ///< a path, or "-" for standard output
    bool quiet = false;
};

[[nodiscard]] std::string_view lanes_word(Lanes lanes) noexcept;

/// **Errors**: what to print, and how to end; --help and --list end with 0.
[[nodiscard]] std::expected<Request, sluice::replay::EarlyEnd> parse_command_line(int argc,
                                                                                  const char* const* argv);

}  // namespace perf::replay
