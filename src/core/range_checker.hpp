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
