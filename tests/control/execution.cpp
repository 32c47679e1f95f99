#include "control/execution.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sluice::control {

const char* file_of(Place place) noexcept {
    const char* const slash = std::strrchr(place.file_name(), '/');
    return slash == nullptr ? place.file_name() : slash + 1;
}

std::string at(Place place) {
    return std::string(file_of(place)) + ":" + std::to_string(place.line());
}

bool Execution::run(const std::function<void(Run&)>& body, std::uint64_t most_steps) {
    memory_.forget();
    decisions_.start();
    count_ = 1;
    current_ = 0;
    over_ = false;
    what_.clear();
    steps_ = 0;
    most_steps_ = most_steps;
    now_ = 1'000;
    Run run;
    try {
        body(run);
    } catch (const Failed&) {
        return false;
    }
    return true;
}

void Execution::add(const char* name, std::function<void()> work, unsigned stands_before) {
    if (count_ == most_threads)
        std::abort();
    Thread& thread = threads_[count_];
    thread.name = name;
    thread.work = std::move(work);
    thread.state = State::ready;
    thread.stands_before = stands_before;
    thread.yielded = false;
    if (!thread.fresh) {
        thread.fiber.begin([this, &thread] {
            thread.work();
            end_of_thread();
        });
        thread.fresh = true;
    }
    ++count_;
}

void Execution::join() {
    std::array<Option, most_threads> options{};
    unsigned ready = 0;
    for (unsigned t = 1; t < count_; ++t) {
        memory_.follow(t, 0);
        if (threads_[t].state == State::ready)
            options[ready++] = {static_cast<std::uint8_t>(t), false};
    }
    if (ready == 0)
        return;
    go(options[decisions_.thread(false, {options.data(), ready})]);
    if (over_)
        throw Failed{};
    for (unsigned t = 1; t < count_; ++t)
        memory_.follow(0, t);
    count_ = 1;
}

void Execution::fail(const std::string& what, Place place) {
    over_ = true;
    what_ =
        what + " (" + at(place) + (current_ == 0 ? "" : std::string(", ") + threads_[current_].name) + ")";
    if (tracing)
        trace += "  " + what_ + "\n";
    const unsigned me = std::exchange(current_, 0);
    if (me == 0)
        throw Failed{};
    for (unsigned t = 1; t < count_; ++t) {
        threads_[t].fresh = threads_[t].state == State::done;
        threads_[t].state = State::done;
    }
    threads_[me].fresh = false;
    threads_[me].fiber.switch_to(threads_[0].fiber);
    std::abort();  // nobody comes back here
}

// Before a step of the thread that runs: perhaps another goes first.
void Execution::point(Place place) {
    if (is_over()) {
        memory_.step(current_);
        return;
    }
    if (++steps_ > most_steps_)
        fail("no end after " + std::to_string(most_steps_) + " steps" + who_stands(), place);
    stand_if_due(place);
    std::array<Option, 2 * most_threads> options{};
    unsigned count = 0;
    options[count++] = {static_cast<std::uint8_t>(current_), false};
    for (unsigned t = 1; t < count_; ++t) {
        if (t != current_ && threads_[t].state == State::ready && !threads_[t].yielded)
            options[count++] = {static_cast<std::uint8_t>(t), false};
    }
    for (unsigned t = 1; t < count_; ++t) {
        if (threads_[t].state == State::waiting)
            options[count++] = {static_cast<std::uint8_t>(t), true};
    }
    if (count > 1)
        go(options[decisions_.thread(true, {options.data(), count})]);
    memory_.step(current_);
    if (noting_files)
        files.insert(file_of(place));
}

void Execution::stand_if_due(Place place) {
    Thread& me = threads_[current_];
    if (me.stands_before == never || me.stands_before-- != 0)
        return;
    me.state = State::standing;
    if (tracing)
        trace += "  " + std::string(me.name) + " stands still at " + at(place) + "\n";
    give_way();
}

// All others have ended: who stands still goes on.
bool Execution::let_stander_go_on(Option& option) {
    unsigned stander = 0;
    for (unsigned t = 1; t < count_; ++t) {
        if (threads_[t].state == State::waiting)
            return false;
        stander = threads_[t].state == State::standing ? t : stander;
    }
    if (stander == 0)
        return false;
    threads_[stander].state = State::ready;
    option = {static_cast<std::uint8_t>(stander), false};
    return true;
}

// For a failure: empty if nobody stands still.
std::string Execution::who_stands() const {
    for (unsigned t = 1; t < count_; ++t) {
        if (threads_[t].state == State::standing)
            return std::string(", held up by ") + threads_[t].name;
    }
    return {};
}

void Execution::touch(std::uint32_t id, Place place) {
    point(place);
    if (is_over())
        return;
    if (memory_.at(id).gone)
        fail("word " + std::to_string(id) + " is used after its end", place);
    if (memory_.unborn(current_, id))
        fail("word " + std::to_string(id) + " is used by a thread that nobody told of it", place);
}

// The thread that runs waits, yields or has ended: somebody else goes on. Time passes only when nobody has anything to do.
void Execution::give_way() {
    std::array<Option, 2 * most_threads> options{};
    unsigned count = 0;
    const auto add = [&](bool odd, auto wanted) {
        for (unsigned t = 1; t < count_; ++t) {
            if (wanted(threads_[t]))
                options[count++] = {static_cast<std::uint8_t>(t), odd};
        }
    };
    add(false, [](const Thread& t) { return t.state == State::ready && !t.yielded; });
    const bool busy = count != 0;
    if (!busy)
        add(false, [](const Thread& t) { return t.state == State::waiting && t.deadline != no_timeout; });
    if (count == 0)
        count = longest_yielded(options[0]) || let_stander_go_on(options[0]) ? 1 : 0;
    if (busy)
        add(true, [](const Thread& t) { return t.state == State::waiting; });
    if (count != 0) {
        go(options[decisions_.thread(false, {options.data(), count})]);
        return;
    }
    std::string asleep;
    for (unsigned t = 1; t < count_; ++t) {
        if (threads_[t].state == State::waiting)
            asleep += (asleep.empty() ? "" : ", ") + std::string(threads_[t].name);
    }
    if (!asleep.empty())
        fail("all asleep: " + asleep + who_stands(), Place::current());
    const unsigned me = std::exchange(current_, 0);
    threads_[me].fiber.switch_to(threads_[0].fiber);
}

// All that could go on wait for another: in turn, so that each looks at what there is now.
bool Execution::longest_yielded(Option& option) const noexcept {
    std::uint64_t oldest = ~std::uint64_t{0};
    for (unsigned t = 1; t < count_; ++t) {
        if (threads_[t].state == State::ready && threads_[t].yielded_at < oldest) {
            oldest = threads_[t].yielded_at;
            option = {static_cast<std::uint8_t>(t), false};
        }
    }
    return oldest != ~std::uint64_t{0};
}

// What those wait for who yielded may have come.
void Execution::written() noexcept {
    for (unsigned t = 1; t < count_; ++t)
        threads_[t].yielded = false;
}

void Execution::go(const Option& option) {
    Thread& next = threads_[option.thread];
    if (next.state == State::waiting) {
        next.state = State::ready;
        next.early = true;
    }
    next.yielded = false;
    const unsigned me = std::exchange(current_, option.thread);
    if (me != current_)
        threads_[me].fiber.switch_to(next.fiber);
}

void Execution::end_of_thread() {
    threads_[current_].state = State::done;
    written();
    if (tracing)
        trace += "  " + std::string(threads_[current_].name) + " has ended\n";
    give_way();
}

void Execution::relax() {
    if (is_over())
        return;
    if (++steps_ > most_steps_)
        fail("no end after " + std::to_string(most_steps_) + " steps" + who_stands(), Place::current());
    threads_[current_].yielded = true;
    threads_[current_].yielded_at = steps_;
    decisions_.yielded(current_);
    give_way();
}

Execution*& execution() noexcept {
    static Execution* now = nullptr;
    return now;
}

}  // namespace sluice::control
