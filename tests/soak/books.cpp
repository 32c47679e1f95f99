#include "books.hpp"

namespace sluice::soak {

namespace {

/// The canary is planted into the outcome of this number: early, so that the shortest run has it.
constexpr std::uint64_t planted_at = 100;

}  // namespace

std::string to_string(const Entry& entry) {
    const auto number = [](const char* name, unsigned value) {
        return std::string(" ") + name + ' ' + std::to_string(value);
    };
    return std::string("a submission") + (entry.heavy ? ", heavy," : "") +
           (entry.asked ? ", asked for:" : ":") + number("accepted", entry.accepted) +
           number("began", entry.began) + number("returned", entry.returned) + number("threw", entry.threw) +
           number("destroyed", entry.destroyed) + number("told", entry.told) +
           number("outcome", entry.outcome);
}

void Findings::add(std::string what) {
    count_.fetch_add(1);
    const std::lock_guard lock(mutex_);
    if (first_.size() < most)
        first_.push_back(std::move(what));
}

std::vector<std::string> Findings::first() const {
    const std::lock_guard lock(mutex_);
    return first_;
}

Entry* Book::open() {
    if (opened_.load() >= room)
        return nullptr;
    const std::uint64_t at = opened_.fetch_add(1);
    return at < room ? &entries_[at] : nullptr;
}

void Book::tell(Entry& entry, std::uint8_t outcome) {
    const bool planted = outcomes_.fetch_add(1) == planted_at;
    entry.outcome.store(outcome);
    if (planted && canary_ == Canary::lose_one)
        return;
    entry.told.fetch_add(planted && canary_ == Canary::twice ? 2 : 1);
}

void Book::clear() {
    for (std::size_t i = 0; i < at_most(); ++i) {
        std::destroy_at(&entries_[i]);
        std::construct_at(&entries_[i]);
    }
    opened_.store(0);
    submitted_.store(0);
}

}  // namespace sluice::soak
