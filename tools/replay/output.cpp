#include "output.hpp"

#include <fstream>

#include <fmt/format.h>

#include "text.hpp"

namespace sluice::replay {

bool written(std::FILE* stream, const std::string& text) {
    return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
}

bool json_can_be_written(const std::string& path) {
    return path == "-" || std::ofstream(path, std::ios::app).good();
}

bool write_json(const std::string& path, const std::string& json) {
    if (path == "-")
        return written(stdout, json);
    std::ofstream file(path, std::ios::trunc | std::ios::binary);
    file << json;
    file.close();
    return file.good();
}

void tell_about(const LoadedTrace& loaded) {
    for (const std::string& complaint : loaded.complaints)
        fmt::print(stderr, "{}\n", complaint);
    if (loaded.malformed > loaded.complaints.size()) {
        fmt::print(stderr, "and {} more\n",
                   counted(loaded.malformed - loaded.complaints.size(), "malformed line"));
    }
    if (loaded.out_of_order > 0) {
        fmt::print(stderr, "sorted by arrival: {} came before the row above\n",
                   counted(loaded.out_of_order, "row"));
    }
}

}  // namespace sluice::replay
