// Goal: a line is cut into fields as RFC 4180 wants it, and lines come out of a stream whole and bounded, whatever the
// stream holds. Method: tables of lines, and streams cut at unlucky places.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "trace/csv_fields.hpp"
#include "trace/line_reader.hpp"

using sluice::replay::LineReader;
using sluice::replay::shown;
using sluice::replay::split_fields;
using Fields = std::vector<std::string>;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream in(text);
    LineReader reader(in);
    std::vector<std::string> lines;
    while (const auto line = reader.next())
        lines.push_back(line->too_long ? "TOO LONG" : std::string(line->text));
    return lines;
}

}  // namespace

TEST_CASE("fields are what stands between commas, quoted or not") {
    struct Case {
        std::string line;
        Fields fields;
    };
    const std::vector<Case> cases{
        {"", {""}},
        {"a", {"a"}},
        {"a,b,c", {"a", "b", "c"}},
        {",", {"", ""}},
        {"a,,c,", {"a", "", "c", ""}},
        {" a , b ", {" a ", " b "}},
        {R"("a","b")", {"a", "b"}},
        {R"("a,b",c)", {"a,b", "c"}},
        {R"("a ""quoted"" word",c)", {R"(a "quoted" word)", "c"}},
        {R"("")", {""}},
        {R"("""")", {"\""}},
        {R"(a,"")", {"a", ""}},
        {R"("",a)", {"", "a"}},
    };
    for (const Case& c : cases) {
        CAPTURE(c.line);
        const auto fields = split_fields(c.line);
        REQUIRE(fields.has_value());
        CHECK(*fields == c.fields);
    }
}

TEST_CASE("quotes that make no sense are refused with a reason") {
    for (const char* line : {R"(")", R"("a)", R"("a"")", R"(a,"b)"}) {
        CAPTURE(line);
        REQUIRE_FALSE(split_fields(line).has_value());
        CHECK(split_fields(line).error() == "a quote is not closed on this line");
    }
    REQUIRE_FALSE(split_fields(R"("a"b,c)").has_value());
    CHECK(split_fields(R"("a"b,c)").error() == "text stands behind a closing quote");
    REQUIRE_FALSE(split_fields(R"(a"b",c)").has_value());
    CHECK(split_fields(R"(a"b",c)").error() == "a quote stands in the middle of a field");
}

TEST_CASE("what is shown of a field cannot harm a terminal, and is short") {
    CHECK(shown("abc") == "\"abc\"");
    CHECK(shown("\x1b[31m\xff") == "\"?[31m?\"");
    CHECK(shown(std::string(100, 'x')) == '"' + std::string(40, 'x') + "...\"");
}

TEST_CASE("lines end with LF, CRLF or the stream") {
    CHECK(lines_of("").empty());
    CHECK(lines_of("a") == Fields{"a"});
    CHECK(lines_of("a\n") == Fields{"a"});
    CHECK(lines_of("a\r\nb\r\n") == Fields{"a", "b"});
    CHECK(lines_of("a\n\nb\r") == Fields{"a", "", "b"});
    CHECK(lines_of("\n\n") == Fields{"", ""});
    CHECK(lines_of("a\rb\n") == Fields{"a\rb"});
}

TEST_CASE(
    "a line of just the longest length is whole, one byte more is too long and does not spoil the next") {
    const std::string most(LineReader::max_line_bytes, 'x');
    CHECK(lines_of(most + "\nb\n") == Fields{most, "b"});
    CHECK(lines_of(most + "\r\nb\n") == Fields{most, "b"});
    CHECK(lines_of(most + "x\nb\n") == Fields{"TOO LONG", "b"});
    CHECK(lines_of(most + "x") == Fields{"TOO LONG"});
    CHECK(lines_of(std::string(3 * LineReader::buffer_bytes, 'x') + "\nb") == Fields{"TOO LONG", "b"});
}

TEST_CASE("lines that lie across the end of the buffer come out whole") {
    for (std::size_t before = LineReader::buffer_bytes - 3; before <= LineReader::buffer_bytes + 1;
         ++before) {
        CAPTURE(before);
        // Short lines up to the edge, so that none is too long by itself.
        std::string text;
        while (text.size() + 100 <= before)
            text += std::string(99, 'x') + '\n';
        text += std::string(before - text.size() - 1, 'y') + '\n';
        const auto lines = lines_of(text + "hello\r\nworld");
        REQUIRE(lines.size() > 2);
        CHECK(lines[lines.size() - 2] == "hello");
        CHECK(lines.back() == "world");
    }
}
