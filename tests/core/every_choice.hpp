#pragma once

#include <cstddef>
#include <vector>

namespace sluice::core::test {

/// Walks a tree of choices to its end, once for each path: a test asks choose() wherever it could go on differently, and is
/// run again until every answer was given everywhere. Nothing is copied; a path is replayed from the start.
class EveryChoice {
public:
    /// 0..count-1, count at least 1.
    [[nodiscard]] std::size_t choose(std::size_t count) {
        if (depth_ == path_.size())
            path_.push_back({0, count});
        return path_[depth_++].taken;
    }

    /// On to the next path; false: there is none.
    [[nodiscard]] bool next() {
        while (!path_.empty() && path_.back().taken + 1 == path_.back().count)
            path_.pop_back();
        depth_ = 0;
        if (path_.empty())
            return false;
        ++path_.back().taken;
        return true;
    }

    /// The path that was walked last, for a message.
    [[nodiscard]] std::vector<std::size_t> path() const {
        std::vector<std::size_t> taken;
        for (const Fork& fork : path_)
            taken.push_back(fork.taken);
        return taken;
    }

private:
    struct Fork {
        std::size_t taken;
        std::size_t count;
    };
    std::vector<Fork> path_;
    std::size_t depth_ = 0;
};

}  // namespace sluice::core::test
