// Numbers on a command line: what is not one as a whole, or is out of its range, is refused with a sentence.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace sluice::replay {

// "nan" and "inf" are numbers to from_chars, and fall to the range, which is finite.
template <class Number>
CLI::Validator from_to(Number least, Number most, std::string_view kind) {
    return {[=](const std::string& text) -> std::string {
                Number value{};
                const char* const end = text.data() + text.size();
                const auto [stop, error] = std::from_chars(text.data(), end, value);
                if (error == std::errc{} && stop == end && value >= least && value <= most)
                    return {};
                return fmt::format("{} is not a {} from {} to {}", text, kind, least, most);
            },
            ""};
}

inline CLI::Validator within(double least, double most) {
    return from_to(least, most, "number");
}
inline CLI::Validator whole(std::uint64_t least, std::uint64_t most) {
    return from_to(least, most, "whole number");
}

}  // namespace sluice::replay
