#pragma once

#include <sluice/detail/export.hpp>

#include <string_view>

#define SLUICE_VERSION_MAJOR 0
#define SLUICE_VERSION_MINOR 1
#define SLUICE_VERSION_PATCH 0

namespace sluice {

struct Version {
    int major;
    int minor;
    int patch;

    friend bool operator==(const Version&, const Version&) = default;
};

// The version of the headers that this code is compiled with.
inline constexpr Version header_version{SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR, SLUICE_VERSION_PATCH};

// The version of the library that is linked; differs from header_version when the two are not of one build.
// Any thread, wait-free, cannot fail, allocates nothing.
[[nodiscard]] SLUICE_API Version library_version() noexcept;

// The same as text, "0.1.0", valid for the life of the program.
[[nodiscard]] SLUICE_API std::string_view library_version_text() noexcept;

}  // namespace sluice
