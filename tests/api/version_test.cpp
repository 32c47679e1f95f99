// Goal: headers and library are of one build, and the text is that of the build system.
#include <sluice/version.hpp>

#include <doctest/doctest.h>

#include <string>

TEST_CASE("the library says the version of its headers") {
    CHECK(sluice::library_version() == sluice::header_version);
    const auto [major, minor, patch] = sluice::header_version;
    CHECK(sluice::library_version_text() ==
          std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch));
}
