#include "control/decisions.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace sluice::control {

void Decisions::exhaust(const Bound& bound) {
    way_ = Way::exhaustive;
    bound_ = bound;
    path_.clear();
}

bool Decisions::next() {
    while (!path_.empty() && path_.back().index + 1 >= path_.back().count)
        path_.pop_back();
    if (path_.empty())
        return false;
    ++path_.back().index;
    return true;
}

void Decisions::random(std::uint64_t seed, std::uint64_t longest) {
    seed_ = seed;
    state_ = seed;
    way_ = one_in(2) ? Way::priorities : Way::coin;
    static constexpr std::array<std::uint64_t, 4> rates{0, 3, 8, 24};
    oddity_rate_ = rates[draw() % rates.size()];
    switch_rate_ = 2 + draw() % 6;
    for (std::int64_t& priority : priority_)
        priority = static_cast<std::int64_t>(draw() >> 2U);
    const std::uint64_t depth = 1 + draw() % changes_.size();
    for (std::size_t i = 0; i < changes_.size(); ++i)
        changes_[i] = i < depth ? 1 + draw() % std::max<std::uint64_t>(longest, 2) : 0;
    lowest_ = 0;
}

void Decisions::replay(std::string_view schedule) {
    way_ = Way::replay;
    given_.clear();
    // "3,2" is a 2 after three zeros; "0,2" a 2 at once.
    const char* at = schedule.data();
    const char* const end = at + schedule.size();
    while (at < end) {
        unsigned zeros = 0;
        unsigned value = 0;
        const auto first = std::from_chars(at, end, zeros);
        if (first.ec != std::errc{} || first.ptr == end)
            break;
        const auto second = std::from_chars(first.ptr + 1, end, value);
        if (second.ec != std::errc{})
            break;
        given_.insert(given_.end(), zeros, std::uint8_t{0});
        given_.push_back(static_cast<std::uint8_t>(value));
        at = second.ptr + (second.ptr < end ? 1 : 0);
    }
}

std::string Decisions::schedule() const {
    std::string text;
    unsigned zeros = 0;
    for (const std::uint8_t value : taken_) {
        if (value == 0) {
            ++zeros;
            continue;
        }
        text += (text.empty() ? "" : " ") + std::to_string(zeros) + "," + std::to_string(value);
        zeros = 0;
    }
    return text;
}

void Decisions::start() {
    taken_.clear();
    at_ = 0;
    left_ = bound_;
    oddities_ = 0;
    steps_ = 0;
}

unsigned Decisions::branch(unsigned count) {
    if (at_ == path_.size())
        path_.push_back({static_cast<std::uint8_t>(count), 0});
    const Branch& branch = path_[at_++];
    if (branch.count != count)
        std::abort();  // the body is not the same function of the decisions each time
    return branch.index;
}

std::uint8_t Decisions::given() noexcept {
    return taken_.size() < given_.size() ? given_[taken_.size()] : std::uint8_t{0};
}

std::size_t Decisions::thread(bool could_go_on, std::span<const Option> options) {
    std::size_t index = 0;
    if (way_ == Way::exhaustive) {
        std::array<std::uint8_t, 2 * most_threads> allowed{};
        unsigned count = 0;
        for (std::size_t i = 0; i < options.size(); ++i) {
            const bool free = i == 0 || (!could_go_on && !options[i].odd);
            if (free || (options[i].odd ? left_.oddities : left_.preemptions) > 0)
                allowed[count++] = static_cast<std::uint8_t>(i);
        }
        index = allowed[branch(count)];
        if (index != 0) {
            if (options[index].odd)
                --left_.oddities;
            else if (could_go_on)
                --left_.preemptions;
        }
    } else if (way_ == Way::replay) {
        const std::uint8_t wanted = given();
        for (std::size_t i = 0; i < options.size() && wanted != 0; ++i)
            index = options[i].thread == wanted ? i : index;
    } else {
        index = by_chance(could_go_on, options);
    }
    taken_.push_back(index == 0 ? std::uint8_t{0} : options[index].thread);
    return index;
}

std::size_t Decisions::by_chance(bool could_go_on, std::span<const Option> options) {
    ++steps_;
    const auto regular = static_cast<std::size_t>(
        std::ranges::find_if(options, [](const Option& o) { return o.odd; }) - options.begin());
    if (regular < options.size() && oddities_ < 32 && oddity_rate_ != 0 && one_in(oddity_rate_ * 8)) {
        ++oddities_;
        return regular + draw() % (options.size() - regular);
    }
    if (way_ == Way::coin) {
        if (could_go_on && !one_in(switch_rate_))
            return 0;
        return draw() % regular;
    }
    if (could_go_on && std::ranges::find(changes_, steps_) != changes_.end())
        priority_[options[0].thread] = --lowest_;
    std::size_t best = 0;
    for (std::size_t i = 1; i < regular; ++i)
        best = priority_[options[i].thread] > priority_[options[best].thread] ? i : best;
    return best;
}

unsigned Decisions::oddity(unsigned count) {
    unsigned index = 0;
    if (way_ == Way::exhaustive) {
        index = branch(left_.oddities > 0 ? count : 1);
        left_.oddities -= index != 0 ? 1U : 0U;
    } else if (way_ == Way::replay) {
        index = given();
    } else if (oddities_ < 32 && one_in(oddity_rate_)) {
        ++oddities_;
        index = static_cast<unsigned>(1 + draw() % (count - 1));
    }
    index = index < count ? index : 0;
    taken_.push_back(static_cast<std::uint8_t>(index));
    return index;
}

unsigned Decisions::choice(unsigned count) {
    unsigned index = 0;
    if (way_ == Way::exhaustive)
        index = branch(count);
    else if (way_ == Way::replay)
        index = given() % count;
    else
        index = static_cast<unsigned>(draw() % count);
    taken_.push_back(static_cast<std::uint8_t>(index));
    return index;
}

void Decisions::yielded(unsigned thread) noexcept {
    priority_[thread] = --lowest_;
}

std::uint64_t Decisions::draw() noexcept {
    state_ += 0x9E37'79B9'7F4A'7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBULL;
    return z ^ (z >> 31U);
}

}  // namespace sluice::control
