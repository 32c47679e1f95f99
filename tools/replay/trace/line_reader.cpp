#include "trace/line_reader.hpp"

#include <algorithm>

namespace sluice::replay {

bool LineReader::refill() {
    if (!in_.good())
        return false;
    in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    begin_ = 0;
    end_ = static_cast<std::size_t>(std::max<std::streamsize>(in_.gcount(), 0));
    return end_ > 0;
}

void LineReader::keep(std::string_view part) {
    // One byte more than a line may have, so that the "\r" of a line of exactly that length is not held against it.
    const std::size_t room = max_line_bytes + 1 - line_.size();
    if (part.size() > room)
        too_long_ = true;
    line_.append(part.substr(0, room));
}

std::optional<Line> LineReader::next() {
    line_.clear();
    too_long_ = false;
    bool anything = false;
    while (begin_ < end_ || refill()) {
        anything = true;
        const std::string_view rest(buffer_.data() + begin_, end_ - begin_);
        const std::size_t newline = rest.find('\n');
        keep(rest.substr(0, newline));
        begin_ += newline == std::string_view::npos ? rest.size() : newline + 1;
        if (newline != std::string_view::npos)
            break;
    }
    if (!anything)
        return std::nullopt;
    if (!too_long_ && line_.ends_with('\r'))
        line_.pop_back();
    if (line_.size() > max_line_bytes) {
        too_long_ = true;
        line_.resize(max_line_bytes);
    }
    return Line{line_, too_long_};
}

}  // namespace sluice::replay
