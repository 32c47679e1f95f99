#include "control/execution.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sluice::control {

namespace {

const char* text_of(std::memory_order order) noexcept {
    switch (order) {
        case std::memory_order_relaxed:
            return "relaxed";
        case std::memory_order_acquire:
        case std::memory_order_consume:
            return "acquire";
        case std::memory_order_release:
            return "release";
        case std::memory_order_acq_rel:
            return "acq_rel";
        case std::memory_order_seq_cst:
            return "seq_cst";
    }
    return "";
}

const char* file_of(Place place) noexcept {
    const char* const slash = std::strrchr(place.file_name(), '/');
    return slash == nullptr ? place.file_name() : slash + 1;
}

std::string at(Place place) {
    return std::string(file_of(place)) + ":" + std::to_string(place.line());
}

}  // namespace

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

void Execution::add(const char* name, std::function<void()> work) {
    if (count_ == most_threads)
        std::abort();
    Thread& thread = threads_[count_];
    thread.name = name;
    thread.work = std::move(work);
    thread.state = State::ready;
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
        fail("no end after " + std::to_string(most_steps_) + " steps", place);
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
        count = longest_yielded(options[0]) ? 1 : 0;
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
        fail("all asleep: " + asleep, Place::current());
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
        fail("no end after " + std::to_string(most_steps_) + " steps", Place::current());
    threads_[current_].yielded = true;
    threads_[current_].yielded_at = steps_;
    decisions_.yielded(current_);
    give_way();
}

std::uint32_t Execution::make(std::uint64_t value, Place place) {
    const std::uint32_t id = memory_.make(current_, value);
    if (tracing)
        note(id, "is made", value, "", place);
    return id;
}

void Execution::destroy(std::uint32_t id) {
    memory_.at(id).gone = true;
}

std::uint64_t Execution::load(std::uint32_t id, std::memory_order order, Place place) {
    touch(id, place);
    std::size_t age = 0;
    const std::size_t readable = is_over() ? 1 : memory_.readable(current_, id, order);
    if (readable > 1)
        age = decisions_.oddity(static_cast<unsigned>(readable < 4 ? readable : 4));
    const std::uint64_t value = memory_.read(current_, id, age, order);
    if (tracing)
        note(id, age == 0 ? "load" : "load, old value", value, text_of(order), place);
    return value;
}

void Execution::store(std::uint32_t id, std::uint64_t value, std::memory_order order, Place place) {
    touch(id, place);
    memory_.write(current_, id, value, order, false);
    written();
    if (tracing)
        note(id, "store", value, text_of(order), place);
}

std::uint64_t Execution::update_begin(std::uint32_t id, std::memory_order order, Place place) {
    touch(id, place);
    return memory_.read(current_, id, 0, order);
}

void Execution::update_end(std::uint32_t id, std::uint64_t value, std::memory_order order, const char* what,
                           Place place) {
    memory_.write(current_, id, value, order, true);
    written();
    if (tracing)
        note(id, what, value, text_of(order), place);
}

bool Execution::compare_exchange(std::uint32_t id, std::uint64_t& expected, std::uint64_t desired,
                                 std::memory_order success, std::memory_order failure, bool weak,
                                 Place place) {
    touch(id, place);
    const auto& history = memory_.at(id).history;
    if (newest(id) == expected && !(weak && !is_over() && decisions_.oddity(2) != 0)) {
        static_cast<void>(memory_.read(current_, id, 0, success));
        memory_.write(current_, id, desired, success, true);
        written();
        if (tracing)
            note(id, "CAS", desired, text_of(success), place);
        return true;
    }
    // A failure is a load, which may return an old value; not the expected one, unless it failed for nothing.
    std::size_t age = 0;
    if (newest(id) != expected && !is_over()) {
        const std::size_t readable = memory_.readable(current_, id, failure);
        std::size_t ages = 1;
        while (ages < readable && ages < 4 && history[history.size() - 1 - ages].value != expected)
            ++ages;
        if (ages > 1)
            age = decisions_.oddity(static_cast<unsigned>(ages));
    }
    expected = memory_.read(current_, id, age, failure);
    if (tracing)
        note(id, age == 0 ? "CAS fails" : "CAS fails, old value", expected, text_of(failure), place);
    return false;
}

bool Execution::wait(std::uint32_t id, std::uint64_t expected, std::int64_t nanoseconds, Place place) {
    touch(id, place);
    // The kernel compares with what is there, not with what this thread has seen; and orders nothing.
    if (newest(id) != expected || is_over())
        return true;
    if (nanoseconds <= 0)
        return false;
    if (tracing)
        note(id, "wait", expected, nanoseconds == no_timeout ? "" : "for a time", place);
    Thread& me = threads_[current_];
    me.state = State::waiting;
    me.early = false;
    me.word = id;
    me.deadline = nanoseconds == no_timeout ? no_timeout : now_ + nanoseconds;
    give_way();
    if (!me.early)
        return true;
    if (tracing)
        note(id, me.deadline == no_timeout ? "wait returns for nothing" : "time is over", expected, "",
             place);
    if (me.deadline != no_timeout)
        now_ = now_ < me.deadline ? me.deadline : now_;
    return me.deadline == no_timeout;
}

void Execution::wake(std::uint32_t id, bool all, Place place) {
    // The address is a key only: the word may be gone.
    if (is_over())
        return;
    point(place);
    do {
        std::array<unsigned, most_threads> sleepers{};
        unsigned count = 0;
        for (unsigned t = 1; t < count_; ++t) {
            if (threads_[t].state == State::waiting && threads_[t].word == id)
                sleepers[count++] = t;
        }
        if (count == 0)
            break;
        Thread& chosen = threads_[sleepers[count == 1 ? 0 : decisions_.choice(count)]];
        chosen.state = State::ready;
        chosen.yielded = false;
        if (tracing)
            note(id, "wakes", 0, chosen.name, place);
    } while (all);
}

void Execution::plain(const void* address, bool write, Place place) {
    if (over_)
        return;
    const bool fine = write ? memory_.plain_write(current_, address) : memory_.plain_read(current_, address);
    if (!fine)
        fail(write ? "data race: a write" : "data race: a read", place);
}

void Execution::note(std::uint32_t id, const char* what, std::uint64_t value, const char* more, Place place) {
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(), "  %-12s %-26s word %-3u %s %#llx %s\n",
                  current_ == 0 ? "body" : threads_[current_].name, at(place).c_str(), id, what,
                  static_cast<unsigned long long>(value), more);
    trace += line.data();
}

Execution*& execution() noexcept {
    static Execution* now = nullptr;
    return now;
}

}  // namespace sluice::control
