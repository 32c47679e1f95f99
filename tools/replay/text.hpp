// Numbers and durations as people read them. PURE.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::replay {

/// 12345678 as "12,345,678".
[[nodiscard]] std::string grouped(std::uint64_t number);

/// "1 line", "2,000 lines".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view noun);

/// Nanoseconds in three significant digits and the unit that suits them: "840 ns", "4.31 us", "12.0 ms", "3.24 s".
[[nodiscard]] std::string duration(std::uint64_t nanoseconds);

/// A ratio in three significant digits, or grouped when it is large: "1.07", "34.5", "2,380".
[[nodiscard]] std::string ratio(double value);

/// Bytes as "512 B", "58.0 KiB", "1.20 MiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

}  // namespace sluice::replay
