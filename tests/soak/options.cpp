#include "options.hpp"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace sluice::soak {

namespace {

template <class Number>
bool read(std::string_view text, Number& number) {
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, number);
    return result.ec == std::errc{} && result.ptr == end;
}

bool read(std::string_view text, Canary& canary) {
    constexpr std::array<std::pair<std::string_view, Canary>, 5> kinds{{{"lose-one", Canary::lose_one},
                                                                        {"twice", Canary::twice},
                                                                        {"leak", Canary::leak},
                                                                        {"grow", Canary::grow},
                                                                        {"hang", Canary::hang}}};
    for (const auto& [name, kind] : kinds) {
        if (name == text)
            canary = kind;
    }
    return canary != Canary::none;
}

bool read(std::string_view name, std::string_view value, Options& options) {
    if (name == "--minutes")
        return read(value, options.minutes) && options.minutes > 0;
    if (name == "--seed")
        return read(value, options.seed.emplace());
    if (name == "--first")
        return read(value, options.first);
    if (name == "--episodes")
        return read(value, options.episodes);
    if (name == "--canary")
        return read(value, options.canary);
    if (name == "--json") {
        options.json = value;
        return !value.empty();
    }
    long seconds = 0;
    const bool good = name == "--patience" && read(value, seconds) && seconds > 0;
    options.patience = std::chrono::seconds(seconds);
    return good;
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv, std::string& problem) {
    Options options;
    for (int i = 1; i < argc; i += 2) {
        const std::string_view name = argv[i];
        if (name == "--help" || name == "-h") {
            options.help = true;
            return options;
        }
        const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
        if (!read(name, value, options)) {
            problem = std::string(name) + ' ' + std::string(value) + ": not understood";
            return std::nullopt;
        }
    }
    return options;
}

}  // namespace sluice::soak
