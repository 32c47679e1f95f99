#include "trace/row.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "text.hpp"
#include "trace/csv_fields.hpp"

namespace sluice::replay {
namespace {

constexpr std::array<std::string_view, 6> columns{"arrival_us", "actor",      "lane",
                                                  "class",      "service_us", "bytes"};

constexpr std::array<std::pair<std::string_view, Lane>, 4> lanes{{{"read", Lane::pure_read},
                                                                  {"serial", Lane::serial_status},
                                                                  {"heavy", Lane::heavy_init},
                                                                  {"mutating", Lane::mutating}}};
constexpr std::array<std::pair<std::string_view, JobClass>, 2> classes{
    {{"interactive", JobClass::interactive}, {"maintenance", JobClass::maintenance}}};

template <class Value, std::size_t size>
std::optional<Value> from_word(const std::array<std::pair<std::string_view, Value>, size>& words,
                               std::string_view word) {
    const auto found = std::ranges::find(words, word, [](const auto& entry) { return entry.first; });
    return found == words.end() ? std::nullopt : std::optional(found->second);
}

template <class Value, std::size_t size>
std::string_view to_word(const std::array<std::pair<std::string_view, Value>, size>& words, Value value) {
    const auto found = std::ranges::find(words, value, [](const auto& entry) { return entry.second; });
    return found == words.end() ? "?" : found->first;
}

std::unexpected<FieldError> wrong(std::string_view field, std::string reason) {
    return std::unexpected(FieldError{std::string(field), std::move(reason)});
}

std::expected<std::uint64_t, FieldError> number(std::string_view field, std::string_view text,
                                                std::uint64_t most) {
    if (text.empty())
        return wrong(field, fmt::format("is empty; want a whole number from 0 to {}", grouped(most)));
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = end == text.data() + text.size();
    if (whole && error == std::errc{} && value <= most)
        return value;
    const bool negative = text.size() > 1 && text[0] == '-' &&
                          std::ranges::all_of(text.substr(1), [](char c) { return c >= '0' && c <= '9'; });
    const std::string_view what = negative                                        ? "is negative"
                                  : whole && error != std::errc::invalid_argument ? "is too large"
                                                                                  : "is not a whole number";
    return wrong(field,
                 fmt::format("{} {}; want a whole number from 0 to {}", shown(text), what, grouped(most)));
}

std::expected<void, FieldError> check_actor(std::string_view actor) {
    if (actor.empty())
        return wrong("actor", "is empty; want a key");
    if (actor.size() > max_actor_bytes) {
        return wrong("actor", fmt::format("{} has {} bytes; want at most {}", shown(actor), actor.size(),
                                          max_actor_bytes));
    }
    if (std::ranges::any_of(actor,
                            [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; })) {
        return wrong("actor", fmt::format("{} has a control character in it", shown(actor)));
    }
    return {};
}

}  // namespace

std::string_view lane_word(Lane lane) noexcept {
    return to_word(lanes, lane);
}
std::string_view class_word(JobClass job_class) noexcept {
    return to_word(classes, job_class);
}

std::expected<NamedRow, FieldError> parse_row(std::string_view line) {
    auto fields = split_fields(line);
    if (!fields)
        return wrong("line", std::move(fields).error());
    if (fields->size() != columns.size()) {
        return wrong("line", fmt::format("has {}; want {}: {}", counted(fields->size(), "field"),
                                         columns.size(), trace_header));
    }
    auto& text = *fields;
    const auto arrival = number("arrival_us", text[0], max_arrival_us);
    if (!arrival)
        return std::unexpected(arrival.error());
    if (const auto actor = check_actor(text[1]); !actor)
        return std::unexpected(actor.error());
    const auto lane = from_word(lanes, text[2]);
    if (!lane)
        return wrong("lane", shown(text[2]) + " is unknown; want read, serial, heavy or mutating");
    const auto job_class = from_word(classes, text[3]);
    if (!job_class)
        return wrong("class", shown(text[3]) + " is unknown; want interactive or maintenance");
    const auto service = number("service_us", text[4], max_service_us);
    if (!service)
        return std::unexpected(service.error());
    const auto bytes = number("bytes", text[5], max_row_bytes);
    if (!bytes)
        return std::unexpected(bytes.error());

    return NamedRow{.row = {.arrival_us = *arrival,
                            .service_us = *service,
                            .bytes = *bytes,
                            .actor = 0,
                            .lane = *lane,
                            .job_class = *job_class},
                    .actor = std::move(text[1])};
}

std::expected<void, FieldError> check_header(std::string_view line) {
    const auto fields = split_fields(line);
    if (fields && std::ranges::equal(*fields, columns))
        return {};
    return wrong("header", fmt::format("want {}, found {}", trace_header, shown(line)));
}

}  // namespace sluice::replay
