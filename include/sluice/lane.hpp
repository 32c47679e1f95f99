#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

/// What a job may do to its actor's context, and so what may run beside it (rule E9).
enum class Lane : std::uint8_t {
    pure_read,      ///< Sees `const Context&`; runs beside other readers, up to `read_cap`.
    serial_status,  ///< Sees `const Context&`; runs beside readers, one at a time for each actor.
    heavy_init,  ///< A long build outside any exclusion, under a process-wide permit, then a short exclusive install.
    mutating,  ///< Sees `Context&`; runs alone, and holds back everything behind it.
};

/// Who waits for a job: interactive work of all actors goes first, maintenance gets what is left (rule E11).
enum class JobClass : std::uint8_t {
    interactive,
    maintenance,
};

inline constexpr unsigned lane_count = 4;
inline constexpr unsigned job_class_count = 2;

[[nodiscard]] constexpr std::string_view to_string(Lane lane) noexcept {
    switch (lane) {
        case Lane::pure_read:
            return "pure_read";
        case Lane::serial_status:
            return "serial_status";
        case Lane::heavy_init:
            return "heavy_init";
        case Lane::mutating:
            return "mutating";
    }
    return "unknown lane";
}

[[nodiscard]] constexpr std::string_view to_string(JobClass job_class) noexcept {
    switch (job_class) {
        case JobClass::interactive:
            return "interactive";
        case JobClass::maintenance:
            return "maintenance";
    }
    return "unknown class";
}

}  // namespace sluice
