#include "protocol.hpp"

#include <utility>

namespace server {

namespace {

/// Takes the next word off `rest`.
std::string_view word_of(std::string_view& rest) {
    const std::size_t end = rest.find(' ');
    const std::string_view word = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    return word;
}

}  // namespace

Request parse(std::string_view line) {
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
        line.remove_suffix(1);
    const std::string_view verb = word_of(line);
    if (verb == "quit" && line.empty())
        return Quit{};
    const std::string_view document = word_of(line);
    const std::string_view name = word_of(line);
    if (document.empty() || name.empty())
        return Malformed{};
    if (verb == "set")
        return Set{std::string(document), std::string(name), std::string(line)};
    if (!line.empty())
        return Malformed{};
    if (verb == "get")
        return Get{std::string(document), std::string(name)};
    if (verb == "scan")
        return Scan{std::string(document), std::string(name)};
    return Malformed{};
}

std::string error_line(const sluice::Error& error) {
    std::string line("error ");
    line.append(to_string(error.value())).append(" ").append(error.message());
    for (char& character : line) {
        if (character == '\n')
            character = ' ';  // what an exception says may have lines of its own
    }
    return line;
}

}  // namespace server
