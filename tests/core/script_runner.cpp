#include "script_runner.hpp"

#include "world.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace sluice::core::test {
namespace {

using Words = std::vector<std::string>;

struct Unreadable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

[[nodiscard]] Words split(const std::string& line) {
    std::istringstream in(line.substr(0, line.find('#')));
    Words words;
    for (std::string word; in >> word;)
        words.push_back(word);
    return words;
}

[[nodiscard]] std::uint32_t number(const std::string& word) {
    if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos)
        throw Unreadable('"' + word + "\" is not a number");
    return static_cast<std::uint32_t>(std::stoul(word));
}

/// "300ns", "5us", "2ms".
[[nodiscard]] Nanos duration(const std::string& word) {
    const std::size_t unit = word.find_first_not_of("0123456789");
    const Nanos count = number(word.substr(0, unit));
    const std::string name = unit == std::string::npos ? "" : word.substr(unit);
    if (name == "ns")
        return count;
    if (name == "us")
        return count * 1'000;
    if (name == "ms")
        return count * 1'000'000;
    throw Unreadable('"' + word + "\" is not a time in ns, us or ms");
}

[[nodiscard]] std::string_view to_word(FailReason reason) {
    switch (reason) {
        case FailReason::none:
            return "none";
        case FailReason::actor_removed:
            return "actor_removed";
        case FailReason::actor_fatal:
            return "actor_fatal";
        case FailReason::shut_down:
            return "shut_down";
        case FailReason::cancelled:
            return "cancelled";
        case FailReason::deadline_exceeded:
            return "deadline_exceeded";
        case FailReason::met:
            break;
    }
    return "unknown";
}

class Player {
public:
    /// What came of the line: the line itself if it went as expected, else what should stand there.
    [[nodiscard]] std::vector<std::string> obey(const Words& words) {
        if (words[0] == "expect")
            return {expect(words)};
        std::vector<std::string> missed;  // outcomes that the script does not mention
        for (; !outcomes_.empty(); outcomes_.pop_front())
            missed.push_back("expect " + outcomes_.front());
        obey_command(words);
        return missed;
    }

    [[nodiscard]] std::vector<std::string> left_over() {
        std::vector<std::string> missed;
        for (; !outcomes_.empty(); outcomes_.pop_front())
            missed.push_back("expect " + outcomes_.front());
        return missed;
    }

private:
    void obey_command(const Words& words) {
        const std::string& what = words[0];
        if (what == "limits")
            return set_limits(words);
        if (world_ == nullptr)
            world_ = std::make_unique<World>(limits_, permits_, 0);
        if (what == "actor" && words.size() == 4 && words[2] == "weight")
            world_->actors[actor(words[1])].weight = static_cast<std::uint16_t>(number(words[3]));
        else if (what == "submit" && words.size() >= 4)
            submit(words);
        else if ((what == "end" || what == "throw") && words.size() >= 2)
            end(words);
        else if (what == "revoke" && words.size() == 2)
            revoke(words[1]);
        else if (what == "return" && words.size() == 2)
            world_->scheduler.return_run(world_->take(run_of(words[1])));
        else if (what == "remove" && words.size() == 2)
            remove(words[1]);
        else if (what == "cancel" && words.size() == 1)
            cancel();
        else if (what == "withdraw" && words.size() == 2)
            withdraw(words[1]);
        else if (what == "time" && words.size() == 2)
            static_cast<void>(world_->scheduler.expire(duration(words[1]), ~0U));
        else
            throw Unreadable("no command looks like this");
        note_outcomes();
    }

    void set_limits(const Words& words) {
        if (world_ != nullptr)
            throw Unreadable("limits come first");
        limits_ = plain_limits(4);
        for (std::size_t i = 1; i + 1 < words.size(); i += 2) {
            const std::string& name = words[i];
            const std::uint32_t value = number(words[i + 1]);
            if (name == "workers")
                limits_ = plain_limits(value);
            else if (name == "actor_cap")
                limits_.actor_cap = value;
            else if (name == "read_cap")
                limits_.read_cap = value;
            else if (name == "permits")
                permits_ = value;
            else if (name == "quantum")
                limits_.drr_quantum = value;
            else if (name == "deficit_cap")
                limits_.deficit_cap = value;
            else if (name == "run_jobs")
                limits_.run_jobs_max = value;
            else if (name == "backlog_us")
                limits_.backlog_ns = value * 1'000;
            else
                throw Unreadable("no limit is called " + name);
        }
        limits_.read_cap = std::min(limits_.read_cap, limits_.actor_cap);
    }

    [[nodiscard]] std::size_t actor(const std::string& name) {
        const auto [found, is_new] = actor_names_.try_emplace(name, world_->actors.size());
        if (is_new) {
            world_->actors.emplace_back();
            names_of_actors_.push_back(name);
        }
        return found->second;
    }

    void submit(const Words& words) {
        std::size_t at = 2;
        const bool maintenance = words[at] == "maintenance";
        if (maintenance)
            ++at;
        static const std::map<std::string, Lane> lane_words = {{"read", Lane::pure_read},
                                                               {"status", Lane::serial_status},
                                                               {"build", Lane::heavy_init},
                                                               {"fence", Lane::heavy_init},
                                                               {"mutate", Lane::mutating}};
        const auto lane = lane_words.find(words[at]);
        const auto* const form = "submit ACTOR [maintenance] LANE JOB [cost N | deadline TIME]";
        if (lane == lane_words.end() || at + 1 >= words.size())
            throw Unreadable(form);
        const bool costs = words.size() == at + 4 && words[at + 2] == "cost";
        const bool timed = words.size() == at + 4 && words[at + 2] == "deadline";
        if (!costs && !timed && words.size() != at + 2)
            throw Unreadable(form);
        if (std::ranges::find(job_names_, words[at + 1]) != job_names_.end())
            throw Unreadable("there is a job " + words[at + 1] + " already");
        job_names_.push_back(words[at + 1]);
        world_->submit(actor(words[1]), lane->second,
                       maintenance ? JobClass::maintenance : JobClass::interactive,
                       costs ? number(words[at + 3]) : 1, lane->first == "fence",
                       timed ? std::optional(duration(words[at + 3])) : std::nullopt);
    }

    /// The run in flight that holds the job, and which of its jobs that is.
    [[nodiscard]] std::size_t run_of(const std::string& name, std::uint32_t* position = nullptr) const {
        for (std::size_t i = 0; i < world_->running.size(); ++i) {
            std::uint32_t at = 0;
            for (const std::size_t job : numbers(world_->running[i].jobs)) {
                if (position != nullptr)
                    *position = at;
                if (job_names_[job] == name)
                    return i;
                ++at;
            }
        }
        throw Unreadable(name + " is not running");
    }

    void end(const Words& words) {
        const bool timed = words.size() == 4 && words[2] == "took";
        if (words.size() != 2 && !timed)
            throw Unreadable("end JOB [took TIME]");
        std::uint32_t position = 0;
        const std::size_t index = run_of(words[1], &position);
        Run run = world_->take(index);
        const bool exclusive = run.lane == Lane::mutating || run.step == Step::install;
        const bool thrown = words[0] == "throw";
        const JobChain rest = cut(run.jobs, position + 1);
        RunEnd end = end_of(run, timed ? duration(words[3]) : 100'000);
        end.rest = rest;
        end.failed = thrown && exclusive;
        if (thrown)
            end.built = nullptr;
        world_->scheduler.run_ended(end);
    }

    void revoke(const std::string& name) {
        std::uint32_t position = 0;
        const std::size_t index = run_of(name, &position);
        if (position == 0)
            throw Unreadable(name + " is the first of its run, and runs");
        Run& run = world_->running[index];
        const JobChain rest = cut(run.jobs, position);
        world_->scheduler.give_back(*run.actor, rest);
    }

    void remove(const std::string& name) {
        world_->scheduler.remove(world_->actors[actor(name)]);
        actor_names_.erase(name);  // the same name is a new generation from here on
    }

    void cancel() {
        world_->scheduler.begin_cancel();
        for (Actor& each : world_->actors)
            world_->scheduler.fail_queued(each, FailReason::shut_down);
    }

    void withdraw(const std::string& name) {
        const auto found = std::ranges::find(job_names_, name);
        if (found == job_names_.end())
            throw Unreadable("there is no job " + name);
        Job& job = world_->jobs[static_cast<std::size_t>(found - job_names_.begin())];
        if (!job.queued)
            throw Unreadable(name + " is not queued");
        world_->scheduler.withdraw(job, FailReason::cancelled);
    }

    static JobChain cut(JobChain& chain, std::uint32_t keep) {
        if (keep >= chain.count)
            return {};
        Job* last = chain.first;
        for (std::uint32_t i = 1; i < keep; ++i)
            last = last->next;
        const JobChain rest{last->next, chain.last, chain.count - keep};
        last->next = nullptr;
        chain.last = last;
        chain.count = keep;
        return rest;
    }

    void note_outcomes() {
        for (const Job* job = world_->scheduler.take_failed().first; job != nullptr; job = job->next)
            outcomes_.push_back("failed " + job_names_[job->number] + ' ' + std::string(to_word(job->fail)));
        while (const Actor* gone = world_->scheduler.take_released())
            outcomes_.push_back("released " + names_of_actors_[world_->index_of(*gone)]);
    }

    [[nodiscard]] std::string expect(const Words& words) {
        const bool outcome = words.size() > 1 && (words[1] == "failed" || words[1] == "released");
        if (!outcomes_.empty()) {
            const std::string came = outcomes_.front();
            outcomes_.pop_front();
            return "expect " + came;
        }
        if (outcome)
            return "expect no " + words[1];
        const auto index = world_->start();
        if (!index)
            return "expect nothing";
        const Run& run = world_->running[*index];
        std::string came = run.step == Step::install ? "expect install" : "expect start";
        for (const std::size_t job : numbers(run.jobs))
            came += ' ' + job_names_[job];
        return came;
    }

    Limits limits_ = plain_limits(4);
    unsigned permits_ = 2;
    std::unique_ptr<World> world_;
    std::map<std::string, std::size_t> actor_names_;
    std::vector<std::string> names_of_actors_;
    std::vector<std::string> job_names_;
    std::deque<std::string> outcomes_;
};

[[nodiscard]] std::string joined(const Words& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

}  // namespace

std::string play(std::string_view script) {
    std::istringstream in{std::string(script)};
    std::string diff;
    bool same = true;
    Player player;
    int line_number = 0;
    try {
        for (std::string line; std::getline(in, line);) {
            ++line_number;
            const Words words = split(line);
            if (words.empty())
                continue;
            const std::string expected = joined(words);
            const std::vector<std::string> came = player.obey(words);
            if (words[0] == "expect" && came.front() != expected) {
                same = false;
                diff += "- " + expected + "\n+ " + came.front() + '\n';
                continue;
            }
            if (words[0] != "expect")
                for (const std::string& missed : came) {
                    same = false;
                    diff += "+ " + missed + '\n';
                }
            diff += "  " + expected + '\n';
        }
        for (const std::string& missed : player.left_over()) {
            same = false;
            diff += "+ " + missed + '\n';
        }
    } catch (const Unreadable& problem) {
        return (same ? "" : diff) + "line " + std::to_string(line_number) + ": " + problem.what() + '\n';
    }
    return same ? std::string{} : diff;
}

}  // namespace sluice::core::test
