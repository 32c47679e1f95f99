// What a program that replays writes besides its report's text: the JSON file, and what was odd about the trace.
#pragma once

#include <cstdio>
#include <string>

#include "trace/trace.hpp"

namespace sluice::replay {

/// Writes and flushes. False: not all of it got there.
[[nodiscard]] bool written(std::FILE* stream, const std::string& text);

/// Whether write_json() will be able to, asked before a run that it would be a pity to lose. Creates the file.
[[nodiscard]] bool json_can_be_written(const std::string& path);

/// To the file, or to standard output when the path is "-". False: not all of it got there.
[[nodiscard]] bool write_json(const std::string& path, const std::string& json);

/// Skipped and sorted lines, on standard error.
void tell_about(const LoadedTrace& loaded);

}  // namespace sluice::replay
