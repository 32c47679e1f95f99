#include "text.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include <fmt/format.h>

namespace sluice::replay {
namespace {

struct Unit {
    double size;
    std::string_view name;
};

// Three significant digits in the largest unit that leaves at least 1; 999.6 rounds up into the next one.
std::string in_units(double value, std::span<const Unit> units) {
    for (std::size_t i = 0; i < units.size(); ++i) {
        const double amount = value / units[i].size;
        if (amount >= 999.5 && i + 1 < units.size())
            continue;
        const int decimals = amount >= 99.95 || units[i].size == 1 ? 0 : amount >= 9.995 ? 1 : 2;
        return fmt::format("{:.{}f} {}", amount, decimals, units[i].name);
    }
    return {};
}

}  // namespace

std::string grouped(std::uint64_t number) {
    std::string digits = std::to_string(number);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, 1, ',');
    }
    return digits;
}

std::string counted(std::uint64_t number, std::string_view noun) {
    return fmt::format("{} {}{}", grouped(number), noun, number == 1 ? "" : "s");
}

std::string duration(std::uint64_t nanoseconds) {
    static constexpr std::array<Unit, 4> units{{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};
    return in_units(static_cast<double>(nanoseconds), units);
}

std::string ratio(double value) {
    return value < 999.5 ? fmt::format("{:.3g}", value)
                         : grouped(static_cast<std::uint64_t>(std::llround(value)));
}

std::string bytes_text(std::uint64_t bytes) {
    static constexpr std::array<Unit, 4> units{
        {{1, "B"}, {1024, "KiB"}, {1024.0 * 1024, "MiB"}, {1024.0 * 1024 * 1024, "GiB"}}};
    return in_units(static_cast<double>(bytes), units);
}

}  // namespace sluice::replay
