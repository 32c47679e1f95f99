// What a run comes to, as text and as JSON.
#pragma once

#include "episode.hpp"
#include "memory.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::soak {

/// Jobs by what became of them, in the order in which they are shown. Of parts that told their totals at their end.
class Tally {
public:
    void add(const Episode& episode);
    [[nodiscard]] const std::vector<std::pair<std::string_view, std::uint64_t>>& rows() const {
        return rows_;
    }
    /// Submissions to all parts, whatever their end.
    [[nodiscard]] std::uint64_t submissions() const {
        return submissions_;
    }
    void submitted(std::uint64_t entries) {
        submissions_ += entries;
    }

private:
    void row(std::string_view name, std::uint64_t count);

    std::vector<std::pair<std::string_view, std::uint64_t>> rows_;
    std::uint64_t submissions_ = 0;
};

struct Report {
    std::uint64_t seed = 0;
    double minutes = 0;
    std::uint64_t first = 0;
    std::uint64_t episodes = 0;
    const Tally& tally;
    const Lasting& lasting;
    const MemoryWatch& memory;

    [[nodiscard]] bool good() const {
        return lasting.findings.count() == 0 && memory.level();
    }
    [[nodiscard]] std::string text() const;
    [[nodiscard]] std::string json() const;
};

}  // namespace sluice::soak
