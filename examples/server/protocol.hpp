// The line protocol: one request a line, one answer a line.
//
//   set DOCUMENT KEY VALUE...   ->  ok N                    N: how often this key has been set
//   get DOCUMENT KEY            ->  value N VALUE... | none
//   scan DOCUMENT PREFIX        ->  found N KEY KEY ...     keys that begin with PREFIX ("*": all)
//   quit                        ->  the connection ends
//   anything that goes wrong    ->  error CODE a sentence
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <sluice/error.hpp>

namespace server {

struct Set {
    std::string document;
    std::string key;
    std::string value;
};
struct Get {
    std::string document;
    std::string key;
};
struct Scan {
    std::string document;
    std::string prefix;
};
struct Quit {};
struct Malformed {};

using Request = std::variant<Malformed, Set, Get, Scan, Quit>;

/// Longest line that is read.
inline constexpr std::size_t longest_line = 64 * 1024;

[[nodiscard]] Request parse(std::string_view line);

/// "error CODE sentence", without the line's end.
[[nodiscard]] std::string error_line(const sluice::Error& error);

}  // namespace server
