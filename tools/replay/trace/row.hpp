// One row of a trace, and how it is written. PURE.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include <sluice/lane.hpp>

namespace sluice::replay {

inline constexpr std::string_view trace_header = "arrival_us,actor,lane,class,service_us,bytes";

/// Bounds of the numbers in a row. With the bounds of --speed and --service-scale they keep every sum of nanoseconds
/// below 2^63: 10^12 us / 0.001 and 3.6 * 10^9 us * 1,000 are both below 4 * 10^18 ns.
inline constexpr std::uint64_t max_arrival_us = 1'000'000'000'000;  // 11.5 days
inline constexpr std::uint64_t max_service_us = 3'600'000'000;      // an hour
inline constexpr std::uint64_t max_row_bytes = std::uint64_t{1} << 53;
inline constexpr std::size_t max_actor_bytes = 256;

struct Row {
    std::uint64_t arrival_us = 0;
    std::uint64_t service_us = 0;
    std::uint64_t bytes = 0;
    std::uint32_t actor = 0;  ///< index into Trace::actors
    Lane lane = Lane::pure_read;
    JobClass job_class = JobClass::interactive;
};

/// A row as it stands on its line, with the actor by name.
struct NamedRow {
    Row row;
    std::string actor;
};

/// What is wrong with a line. `field` is the column's name, or "line" when the line as a whole is wrong.
struct FieldError {
    std::string field;
    std::string reason;

    friend bool operator==(const FieldError&, const FieldError&) = default;
};

/// The words of the trace format, which are shorter than those of the library.
[[nodiscard]] std::string_view lane_word(Lane lane) noexcept;
[[nodiscard]] std::string_view class_word(JobClass job_class) noexcept;

[[nodiscard]] std::expected<NamedRow, FieldError> parse_row(std::string_view line);

/// Nothing if the line is the header that we know, else what it has instead. Quoted names are names.
[[nodiscard]] std::expected<void, FieldError> check_header(std::string_view line);

}  // namespace sluice::replay
