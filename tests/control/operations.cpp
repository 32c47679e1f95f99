// What each step of a simulated thread does to the words, and what it may see of them.
#include "control/execution.hpp"

#include <array>
#include <cstdio>

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

}  // namespace

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

}  // namespace sluice::control
