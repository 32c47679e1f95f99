#include <sluice/version.hpp>

namespace sluice {

Version library_version() noexcept {
    return header_version;
}

std::string_view library_version_text() noexcept {
    return SLUICE_VERSION_TEXT;  // the build passes meson's project version
}

}  // namespace sluice
