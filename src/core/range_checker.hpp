#pragma once

// How a configuration is checked: value by value, and the first that makes no sense is the answer.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sluice/config.hpp>

namespace sluice::core {

struct Range {
    std::string_view field;
    std::int64_t least;
    std::int64_t most;
    std::string_view text;
};

/// In quotes, and with NULs as they are written in a program.
[[nodiscard]] inline std::string quoted(std::string_view text) {
    std::string result(1, '"');
    for (const char c : text) {
        if (c == '\0')
            result.append("\\0");
        else
            result.push_back(c);
    }
    result.push_back('"');
    return result;
}

/// Collects the first value that is out of its range.
class Checker {
public:
    void check(std::int64_t value, const Range& range) {
        if (value < range.least || value > range.most)
            refuse(range.field, std::to_string(value), range.text);
    }
    void check(const std::optional<std::int64_t>& value, const Range& range) {
        if (value)
            check(*value, range);
    }
    /// The system keeps 15 characters of a thread's name, and "-sched" and "-w255" must fit.
    void check_thread_prefix(std::string_view prefix) {
        if (prefix.empty() || prefix.size() > 9 || prefix.find('\0') != std::string_view::npos)
            refuse("thread_name_prefix", quoted(prefix), "1..9 characters, none of them NUL");
    }
    void refuse(std::string_view field, std::string value, std::string_view range) {
        if (!problem_)
            problem_ = ConfigProblem{field, std::move(value), range};
    }
    [[nodiscard]] const std::optional<ConfigProblem>& problem() const {
        return problem_;
    }

private:
    std::optional<ConfigProblem> problem_;
};

}  // namespace sluice::core
