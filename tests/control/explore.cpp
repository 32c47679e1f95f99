#include "control/explore.hpp"

#include "control/decisions.hpp"
#include "control/execution.hpp"

#include "support/sanitizers.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string_view>

namespace sluice::control {

namespace {

double rounds() {
    static const double value = [] {
        const char* const given = std::getenv("SLUICE_CONTROL_ROUNDS");
        const double wanted = given != nullptr ? std::strtod(given, nullptr) : 1;
        return test::under_sanitizer ? wanted / 10 : wanted;  // each step costs that much more there
    }();
    return value;
}

std::uint64_t seed() {
    static const std::uint64_t value = [] {
        const char* const given = std::getenv("SLUICE_TEST_SEED");
        if (given == nullptr && std::getenv("SLUICE_CONTROL_ROUNDS") == nullptr)
            return std::uint64_t{1};
        const std::uint64_t chosen =
            given != nullptr
                ? std::strtoull(given, nullptr, 10)
                : static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
        std::printf("seed %llu (SLUICE_TEST_SEED repeats it)\n", static_cast<unsigned long long>(chosen));
        return chosen;
    }();
    return value;
}

std::uint64_t scaled(std::uint64_t count) {
    const auto wanted = static_cast<std::uint64_t>(static_cast<double>(count) * rounds());
    return count == 0 ? 0 : std::max<std::uint64_t>(1, wanted);
}

/// The schedule that the environment asks for, if it is for this plan.
const char* asked_for(const std::string& name) {
    const char* const given = std::getenv("SLUICE_CONTROL_REPLAY");
    if (given == nullptr)
        return nullptr;
    const std::string_view text = given;
    return text.starts_with(name + "=") ? given + name.size() + 1 : nullptr;
}

class Search {
public:
    Search(const Plan& plan, const std::function<void(Run&)>& body) : plan_(plan), body_(body) {
        execution() = executing_.get();
    }
    ~Search() {
        execution() = nullptr;
    }
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    Outcome outcome() {
        const std::clock_t begin = std::clock();
        if (const char* const schedule = asked_for(plan_.name)) {
            out_.failed = !replay(schedule);
            out_.how = "replay";
            std::printf("%s\n%s", plan_.name.c_str(), out_.trace.c_str());
        } else if (!exhaust() || !at_random()) {
            const std::string what = executing_->what();
            const std::string found = decisions_.schedule();
            out_.failed = true;
            out_.replay = plan_.name + "=" + found;
            if (replay(found) || executing_->what() != what)
                out_.what += " [not again: the body does not depend on the schedule alone]";
            out_.what = what + out_.what;
        }
        out_.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        out_.files.assign(executing_->files.begin(), executing_->files.end());
        return out_;
    }

private:
    bool once() {
        executing_->noting_files = out_.schedules < 400;
        ++out_.schedules;
        const bool fine = executing_->run(body_, plan_.most_steps);
        out_.longest = std::max(out_.longest, executing_->steps());
        return fine;
    }

    bool exhaust() {
        for (const Bound& bound : plan_.bounds) {
            out_.how = "all with " + std::to_string(bound.preemptions) + " preemptions, " +
                       std::to_string(bound.oddities) + " oddities";
            decisions_.exhaust(bound);
            bool more = true;
            for (std::uint64_t n = scaled(bound.most); n > 0 && more; --n) {
                if (!once())
                    return false;
                more = decisions_.next();
            }
            if (more)
                out_.cut.push_back(bound);
        }
        return true;
    }

    bool at_random() {
        out_.how = "at random";
        const std::uint64_t all = scaled(plan_.random);
        for (std::uint64_t n = 0; n < all; ++n) {
            decisions_.random(seed() * 1'000'003 + n * 7'919, out_.longest);
            if (!once())
                return false;
        }
        return true;
    }

    bool replay(std::string_view schedule) {
        decisions_.replay(schedule);
        executing_->tracing = true;
        executing_->trace.clear();
        const bool fine = executing_->run(body_, plan_.most_steps);
        executing_->tracing = false;
        out_.trace = executing_->trace;
        return fine;
    }

    const Plan& plan_;
    const std::function<void(Run&)>& body_;
    Decisions decisions_;
    std::unique_ptr<Execution> executing_ = std::make_unique<Execution>(decisions_);
    Outcome out_;
};

}  // namespace

Outcome explore(const Plan& plan, const std::function<void(Run&)>& body) {
    return Search(plan, body).outcome();
}

}  // namespace sluice::control
