// Lines of a stream, one at a time, in bounded memory whatever the stream holds.
#pragma once

#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::replay {

/// One line without its end ("\n" or "\r\n").
struct Line {
    std::string_view text;  ///< valid until the next call
    bool too_long = false;  ///< `text` is its beginning only; the rest was read and thrown away
};

/// Memory: one buffer of `buffer_bytes` and one line of `max_line_bytes`, whatever the stream holds.
class LineReader {
public:
    /// A row of a trace has about 50 bytes; what is longer than this is no trace.
    static constexpr std::size_t max_line_bytes = 4096;
    static constexpr std::size_t buffer_bytes = std::size_t{64} * 1024;

    explicit LineReader(std::istream& in) : in_(in), buffer_(buffer_bytes) {}

    /// The next line, or nothing at the end. A last line without a line end counts. Whether the stream ended well
    /// is failed()'s to say.
    [[nodiscard]] std::optional<Line> next();
    /// Whether reading stopped because of an error (a directory, a broken disk) and not at the end.
    [[nodiscard]] bool failed() const {
        return in_.bad();
    }

private:
    bool refill();
    void keep(std::string_view part);

    std::istream& in_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;  // what of buffer_ has not been given out yet: [begin_, end_)
    std::size_t end_ = 0;
    std::string line_;
    bool too_long_ = false;
};

}  // namespace sluice::replay
