// Goal: each way in which a row can be wrong is told by field and reason; what is right is read as it stands.
// Method: a table of lines with the complaint that each must raise.
#include "trace/row.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice::replay;

TEST_CASE("a good row is read as it stands") {
    const auto parsed = parse_row("12,pgbench_accounts:7,mutating,maintenance,340,4096");
    REQUIRE(parsed.has_value());
    CHECK(parsed->row.arrival_us == 12);
    CHECK(parsed->actor == "pgbench_accounts:7");
    CHECK(parsed->row.lane == sluice::Lane::mutating);
    CHECK(parsed->row.job_class == sluice::JobClass::maintenance);
    CHECK(parsed->row.service_us == 340);
    CHECK(parsed->row.bytes == 4096);
}

TEST_CASE("all four lanes and both classes have a word, and it is read back") {
    for (const auto lane : {sluice::Lane::pure_read, sluice::Lane::serial_status, sluice::Lane::heavy_init,
                            sluice::Lane::mutating}) {
        for (const auto job_class : {sluice::JobClass::interactive, sluice::JobClass::maintenance}) {
            const std::string line =
                "0,a," + std::string(lane_word(lane)) + ',' + std::string(class_word(job_class)) + ",1,0";
            CAPTURE(line);
            const auto parsed = parse_row(line);
            REQUIRE(parsed.has_value());
            CHECK(parsed->row.lane == lane);
            CHECK(parsed->row.job_class == job_class);
        }
    }
}

TEST_CASE("numbers are accepted up to their bounds, and quoted fields and other alphabets are fine") {
    CHECK(parse_row("1000000000000,a,read,interactive,3600000000,9007199254740992").has_value());
    CHECK(parse_row("0,a,read,interactive,0,0").has_value());
    CHECK(parse_row("007,a,read,interactive,1,0")->row.arrival_us == 7);
    CHECK(parse_row(R"("1","a,b","read","interactive","2","3")")->actor == "a,b");
    CHECK(parse_row("1,\xC3\xA4\xE2\x82\xAC,read,interactive,2,3")->actor == "\xC3\xA4\xE2\x82\xAC");
}

TEST_CASE("each malformed line is told by field and reason") {
    struct Case {
        std::string line;
        std::string field;
        std::string reason;
    };
    const std::string whole = "want a whole number from 0 to ";
    const std::string arrival = whole + "1,000,000,000,000";
    const std::string service = whole + "3,600,000,000";
    const std::vector<Case> cases{
        {"1,a,read,interactive,2", "line",
         "has 5 fields; want 6: arrival_us,actor,lane,class,service_us,bytes"},
        {"1,a,read,interactive,2,3,4", "line",
         "has 7 fields; want 6: arrival_us,actor,lane,class,service_us,bytes"},
        {"hello", "line", "has 1 field; want 6: arrival_us,actor,lane,class,service_us,bytes"},
        {R"(1,"a,read,interactive,2,3)", "line", "a quote is not closed on this line"},
        {",a,read,interactive,2,3", "arrival_us", "is empty; " + arrival},
        {"-1,a,read,interactive,2,3", "arrival_us", "\"-1\" is negative; " + arrival},
        {"-0,a,read,interactive,2,3", "arrival_us", "\"-0\" is negative; " + arrival},
        {"+1,a,read,interactive,2,3", "arrival_us", "\"+1\" is not a whole number; " + arrival},
        {" 1,a,read,interactive,2,3", "arrival_us", "\" 1\" is not a whole number; " + arrival},
        {"1.5,a,read,interactive,2,3", "arrival_us", "\"1.5\" is not a whole number; " + arrival},
        {"1e3,a,read,interactive,2,3", "arrival_us", "\"1e3\" is not a whole number; " + arrival},
        {"0x10,a,read,interactive,2,3", "arrival_us", "\"0x10\" is not a whole number; " + arrival},
        {"nan,a,read,interactive,2,3", "arrival_us", "\"nan\" is not a whole number; " + arrival},
        {"1000000000001,a,read,interactive,2,3", "arrival_us", "\"1000000000001\" is too large; " + arrival},
        {"18446744073709551616,a,read,interactive,2,3", "arrival_us",
         "\"18446744073709551616\" is too large; " + arrival},
        {"99999999999999999999x,a,read,interactive,2,3", "arrival_us",
         "\"99999999999999999999x\" is not a whole number; " + arrival},
        {"1,,read,interactive,2,3", "actor", "is empty; want a key"},
        {"1,a\tb,read,interactive,2,3", "actor", "\"a?b\" has a control character in it"},
        {"1,a,Read,interactive,2,3", "lane", "\"Read\" is unknown; want read, serial, heavy or mutating"},
        {"1,a,,interactive,2,3", "lane", "\"\" is unknown; want read, serial, heavy or mutating"},
        {"1,a,read,batch,2,3", "class", "\"batch\" is unknown; want interactive or maintenance"},
        {"1,a,read,interactive,-2,3", "service_us", "\"-2\" is negative; " + service},
        {"1,a,read,interactive,3600000001,3", "service_us", "\"3600000001\" is too large; " + service},
        {"1,a,read,interactive,2,", "bytes", "is empty; " + whole + "9,007,199,254,740,992"},
        {"1,a,read,interactive,2,3 ", "bytes",
         "\"3 \" is not a whole number; " + whole + "9,007,199,254,740,992"},
    };
    for (const Case& c : cases) {
        CAPTURE(c.line);
        const auto parsed = parse_row(c.line);
        REQUIRE_FALSE(parsed.has_value());
        CHECK(parsed.error().field == c.field);
        CHECK(parsed.error().reason == c.reason);
    }
}

TEST_CASE("an actor's name has a longest length") {
    const std::string longest(max_actor_bytes, 'n');
    CHECK(parse_row("1," + longest + ",read,interactive,2,3").has_value());
    const auto parsed = parse_row("1," + longest + "n,read,interactive,2,3");
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().field == "actor");
    CHECK(parsed.error().reason.ends_with("has 257 bytes; want at most 256"));
}

TEST_CASE("the header is ours, or the complaint shows what stands there") {
    CHECK(check_header(trace_header).has_value());
    CHECK(check_header(R"("arrival_us","actor","lane","class","service_us","bytes")").has_value());
    for (const char* line :
         {"", "arrival_us,actor,lane,class,service_us", "Arrival_us,actor,lane,class,service_us,bytes",
          "actor,arrival_us,lane,class,service_us,bytes", "0,a,read,interactive,1,0"}) {
        CAPTURE(line);
        const auto checked = check_header(line);
        REQUIRE_FALSE(checked.has_value());
        CHECK(checked.error().field == "header");
        CHECK(checked.error().reason.starts_with(
            "want arrival_us,actor,lane,class,service_us,bytes, found \""));
    }
}
