#include "gate/script_runner.hpp"

#include "gate/harness.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace sluice::test {
namespace {

using Words = std::vector<std::string>;

struct Unreadable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

Words split(const std::string& line) {
    std::istringstream in(line.substr(0, line.find('#')));
    Words words;
    for (std::string word; in >> word;)
        words.push_back(word);
    return words;
}

std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

std::int64_t number(const std::string& word) {
    if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos)
        throw Unreadable('"' + word + "\" is not a number");
    return std::stoll(word);
}

/// "25ms", "3s".
std::chrono::nanoseconds duration(const std::string& word) {
    const std::size_t unit = word.find_first_not_of("0123456789");
    const std::int64_t count = number(word.substr(0, unit));
    const std::string name = unit == std::string::npos ? "" : word.substr(unit);
    if (name == "ms")
        return std::chrono::milliseconds(count);
    if (name == "s")
        return std::chrono::seconds(count);
    throw Unreadable('"' + word + "\" is not a time in ms or s");
}

std::string shown(std::chrono::nanoseconds time) {
    return std::to_string(time / 1ms) + "ms";
}

class Player {
public:
    /// What came of the line: the line itself if it went as expected, else what should stand there.
    Words obey(const Words& words) {
        if (words[0] == "expect")
            return {expect(words)};
        Words missed = left_over();
        obey_command(words);
        return missed;
    }

    Words left_over() {
        Words missed;
        collect();
        for (; !outcomes_.empty(); outcomes_.pop_front())
            missed.push_back("expect " + outcomes_.front());
        return missed;
    }

private:
    void obey_command(const Words& words) {
        const std::string& what = words[0];
        if (what == "gate")
            return open(words);
        if (world_ == nullptr)
            world_ = std::make_unique<GateDiary>(config_);
        if (what == "submit" && (words.size() == 2 || (words.size() == 4 && words[2] == "of")))
            submit(words[1], words.size() == 4 ? words[3] : words[1]);
        else if (what == "try" && words.size() == 2)
            try_admit(words[1]);
        else if (what == "end" && words.size() == 2)
            end(words[1]);
        else if (what == "leave" && words.size() == 2)
            leave(words[1]);
        else if (what == "cancel" && words.size() == 2)
            count("cancelled", world_->gate.cancel_session(words[1]));
        else if (what == "expire" && words.size() == 1)
            count("expired", world_->gate.expire_stale());
        else if (what == "pass" && words.size() == 2)
            world_->clock.advance(duration(words[1]));
        else if (what == "rate_limit" && words.size() == 1)
            world_->gate.note_rate_limit();
        else if (what == "rate_limit" && words.size() == 3 && words[1] == "retry_after")
            world_->gate.note_rate_limit(duration(words[2]));
        else if (what == "success" && words.size() == 1)
            world_->gate.note_success();
        else if (what == "reserve" && words.size() == 2)
            reserve(words[1]);
        else if (what == "give_back" && words.size() == 2)
            permits_.erase(words[1]);
        else if (what == "shutdown" && words.size() == 1)
            world_->gate.shutdown();
        else
            throw Unreadable("no command looks like this");
    }

    void open(const Words& words) {
        if (world_ != nullptr)
            throw Unreadable("the gate comes first");
        for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
            const std::string& name = words[i];
            const std::string& value = words[i + 1];
            if (name == "turns")
                config_.max_concurrent_turns = number(value);
            else if (name == "queue")
                config_.max_queue_length = number(value);
            else if (name == "wait")
                config_.max_queue_wait = duration(value);
            else if (name == "sessions")
                config_.max_live_sessions = number(value);
            else if (name == "interval")
                config_.start_interval = duration(value);
            else if (name == "backoff")
                config_.base_backoff = duration(value);
            else if (name == "max_backoff")
                config_.max_backoff = duration(value);
            else if (name == "per_session")
                config_.max_queued_per_session = number(value);
            else if (name == "order" && value == "round_robin")
                config_.order = TurnOrder::round_robin;
            else
                throw Unreadable("no setting looks like " + name + ' ' + value);
        }
    }

    void submit(const std::string& name, const std::string& session) {
        if (world_->places.contains(name) || world_->tickets.contains(name))
            throw Unreadable("there is a turn " + name + " already");
        std::string came = world_->submit(name, session);
        const std::size_t space = came.find(' ');
        came.insert(space == std::string::npos ? came.size() : space, ' ' + name);
        world_->note(came);
    }
    void try_admit(const std::string& name) {
        TurnTicket ticket = world_->gate.try_admit();
        world_->note((ticket ? "admitted " : "not_now ") + name);
        if (ticket)
            world_->tickets[name] = std::move(ticket);
    }
    void end(const std::string& name) {
        if (!world_->tickets.contains(name))
            throw Unreadable(name + " has no ticket");
        world_->end(name);
    }
    void leave(const std::string& name) {
        const auto place = world_->places.find(name);
        if (place == world_->places.end())
            throw Unreadable(name + " never waited");
        if (!world_->gate.leave(place->second))
            world_->note("too_late " + name);
    }
    void count(const std::string& what, std::size_t dropped) {
        world_->note(what + ' ' + std::to_string(dropped));
    }
    void reserve(const std::string& name) {
        auto permit = world_->gate.reserve_session();
        if (!permit) {
            world_->note("no_session " + name);
            return;
        }
        world_->note("session " + name + " after " + shown(permit->start_after()));
        permits_[name] = *std::move(permit);
    }

    void collect() {
        if (world_ != nullptr)
            for (std::string& line : world_->told())
                outcomes_.push_back(std::move(line));
    }

    std::string expect(const Words& words) {
        if (world_ == nullptr)
            throw Unreadable("nothing has happened yet");
        if (words.size() == 3 && words[1] == "backoff")
            return "expect backoff " + shown(world_->gate.backoff_remaining());
        collect();
        if (outcomes_.empty())
            return "expect nothing";
        std::string came = "expect " + outcomes_.front();
        outcomes_.pop_front();
        return came;
    }

    TurnGateConfig config_;
    std::unique_ptr<GateDiary> world_;
    std::map<std::string, SessionPermit> permits_;
    std::deque<std::string> outcomes_;
};

}  // namespace

std::string play(std::string_view script) {
    std::istringstream in{std::string(script)};
    std::string diff;
    bool same = true;
    Player player;
    int line_number = 0;
    const auto came_unasked = [&](const Words& lines) {
        for (const std::string& line : lines) {
            same = false;
            diff += "+ " + line + '\n';
        }
    };
    try {
        for (std::string line; std::getline(in, line);) {
            ++line_number;
            const Words words = split(line);
            if (words.empty())
                continue;
            const std::string expected = joined(words);
            const Words came = player.obey(words);
            if (words[0] != "expect") {
                came_unasked(came);
            } else if (came.front() != expected) {
                same = false;
                diff += "- " + expected + "\n+ " + came.front() + '\n';
                continue;
            }
            diff += "  " + expected + '\n';
        }
        came_unasked(player.left_over());
    } catch (const Unreadable& problem) {
        return (same ? "" : diff) + "line " + std::to_string(line_number) + ": " + problem.what() + '\n';
    }
    return same ? std::string{} : diff;
}

}  // namespace sluice::test
