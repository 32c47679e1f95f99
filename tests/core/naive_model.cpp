#include "naive_model.hpp"

#include <algorithm>
#include <utility>

namespace sluice::core::test {
namespace {

constexpr std::size_t interactive = 0;
constexpr std::size_t maintenance = 1;

void erase(std::deque<std::size_t>& line, std::size_t actor) {
    std::erase(line, actor);
}

[[nodiscard]] bool holds(const std::deque<std::size_t>& line, std::size_t actor) {
    return std::ranges::find(line, actor) != line.end();
}

}  // namespace

std::int64_t NaiveModel::units(std::size_t actor, std::optional<Lane> lane) const {
    std::int64_t count = lane ? 0 : static_cast<std::int64_t>(actors_[actor].installs.size());
    for (const Running& unit : running_)
        if (jobs_[unit.job].actor == actor && (!lane || (jobs_[unit.job].lane == *lane && !unit.install)))
            ++count;
    return count;
}

bool NaiveModel::writing(std::size_t actor) const {
    return std::ranges::any_of(running_, [&](const Running& unit) {
        return jobs_[unit.job].actor == actor && (unit.install || jobs_[unit.job].lane == Lane::mutating);
    });
}

std::int64_t NaiveModel::permits_free() const {
    std::int64_t used = 0;
    for (const Running& unit : running_)
        used += jobs_[unit.job].lane == Lane::heavy_init ? 1 : 0;
    for (const Facts& actor : actors_)
        used += static_cast<std::int64_t>(actor.installs.size());
    return permits_ - used;
}

bool NaiveModel::admissible(std::size_t actor, std::size_t c) const {
    const Facts& facts = actors_[actor];
    if (facts.classes[c].queue.empty() || !facts.installs.empty() || writing(actor))
        return false;
    const auto& before = facts.classes[interactive].queue;
    if (c == maintenance && !before.empty() && jobs_[before.front()].lane == Lane::mutating)
        return false;
    if (units(actor, std::nullopt) >= limits_.actor_cap)
        return false;
    switch (jobs_[facts.classes[c].queue.front()].lane) {
        case Lane::pure_read:
            return units(actor, Lane::pure_read) < limits_.read_cap;
        case Lane::serial_status:
            return units(actor, Lane::serial_status) == 0;
        case Lane::heavy_init:
            return true;
        case Lane::mutating:
            return units(actor, Lane::pure_read) + units(actor, Lane::serial_status) == 0;
    }
    return false;
}

bool NaiveModel::class_may_go(std::size_t c) const {
    const std::int64_t idle = std::int64_t{limits_.pool_size} - static_cast<std::int64_t>(running_.size());
    if (c == interactive)
        return idle > 0;
    std::int64_t in_flight = 0;
    for (const Running& unit : running_)
        in_flight += jobs_[unit.job].job_class == JobClass::maintenance ? 1 : 0;
    for (const Facts& actor : actors_)
        for (const std::size_t job : actor.installs)
            in_flight += jobs_[job].job_class == JobClass::maintenance ? 1 : 0;
    return idle > limits_.interactive_reserve && in_flight < limits_.maintenance_cap;
}

bool NaiveModel::listed(std::size_t actor, std::size_t c) const {
    return holds(now_[c], actor) || holds(later_[c], actor) || holds(line_[c], actor);
}

void NaiveModel::unlist(std::size_t actor, std::size_t c) {
    erase(now_[c], actor);
    erase(later_[c], actor);
    erase(line_[c], actor);
}

void NaiveModel::look_at_everybody() {
    for (std::size_t actor = 0; actor < actors_.size(); ++actor) {
        Facts& facts = actors_[actor];
        for (const std::size_t c : {interactive, maintenance}) {
            if (!facts.classes[c].queue.empty())
                continue;
            facts.classes[c].deficit = 0;
            facts.classes[c].called = false;
            unlist(actor, c);
        }
        if (!facts.installs.empty()) {
            unlist(actor, interactive);
            unlist(actor, maintenance);
            if (!writing(actor) && units(actor, Lane::pure_read) + units(actor, Lane::serial_status) == 0 &&
                !holds(installs_, actor))
                installs_.push_back(actor);
            continue;
        }
        erase(installs_, actor);
        for (const std::size_t c : {interactive, maintenance}) {
            Place& of = facts.classes[c];
            if (listed(actor, c) || !admissible(actor, c))
                continue;
            if (of.deficit >= jobs_[of.queue.front()].cost)
                now_[c].push_front(actor);
            else
                later_[c].push_back(actor);
            if (c == interactive)
                interactive_came_ = true;
        }
    }
}

// Of a head: its right to the next permit goes with it, and the class leaves its list unless the next may go at once.
void NaiveModel::withdraw(std::size_t job) {
    const std::size_t actor = jobs_[job].actor;
    const auto c = static_cast<std::size_t>(jobs_[job].job_class);
    Place& of = place(actor, c);
    const bool head = of.queue.front() == job;
    erase(of.queue, job);
    failed_.push_back(job);
    if (head) {
        of.called = false;
        erase(line_[c], actor);
        if (!admissible(actor, c))
            unlist(actor, c);
    }
    look_at_everybody();
}

void NaiveModel::submit(const NaiveJob& job) {
    jobs_.push_back(job);
    const std::size_t index = jobs_.size() - 1;
    if (actors_[job.actor].removed || actors_[job.actor].fatal)
        failed_.push_back(index);
    else
        place(job.actor, static_cast<std::size_t>(job.job_class)).queue.push_back(index);
    look_at_everybody();
}

std::optional<NaiveModel::Decision> NaiveModel::next() {
    if (!installs_.empty() && class_may_go(interactive)) {
        Facts& facts = actors_[installs_.front()];
        const std::size_t job = facts.installs.front();
        installs_.pop_front();
        facts.installs.pop_front();
        running_.push_back({job, true});
        return Decision{job, true};
    }
    for (;;) {
        if (!in_round_) {
            for (const std::size_t c : {interactive, maintenance}) {
                now_[c].insert(now_[c].end(), later_[c].begin(), later_[c].end());
                later_[c].clear();
            }
            in_round_ = true;
            maintenance_half_ = false;
            progress_ = false;
        }
        if (!maintenance_half_) {
            if (const auto decision = offer(interactive))
                return decision;
            if (!class_may_go(interactive)) {
                in_round_ = false;
                return std::nullopt;
            }
            maintenance_half_ = true;
            interactive_came_ = false;
        }
        if (const auto decision = offer(maintenance))
            return decision;
        in_round_ = false;
        const bool again = interactive_came_ || (permits_free() > 0 && !line_[interactive].empty());
        if (!again && !progress_)
            return std::nullopt;
    }
}

std::optional<NaiveModel::Decision> NaiveModel::offer(std::size_t c) {
    while (class_may_go(c)) {
        if (c == maintenance && (interactive_came_ || (permits_free() > 0 && !line_[interactive].empty())))
            return std::nullopt;
        const bool from_line = permits_free() > 0 && !line_[c].empty();
        if (!from_line && now_[c].empty())
            return std::nullopt;
        const std::size_t actor = from_line ? line_[c].front() : now_[c].front();
        const auto decision = visit(actor, c, from_line);
        if (decision) {
            progress_ = true;
            return decision;
        }
    }
    return std::nullopt;
}

std::optional<NaiveModel::Decision> NaiveModel::visit(std::size_t actor, std::size_t c, bool from_line) {
    Place& of = place(actor, c);
    unlist(actor, c);
    if (!admissible(actor, c)) {
        if (from_line)
            of.called = true;
        return std::nullopt;
    }
    const std::size_t job = of.queue.front();
    const std::int64_t cost = jobs_[job].cost;
    if (jobs_[job].lane == Lane::heavy_init) {
        const bool first = from_line || of.called;
        const bool others_wait = !line_[c].empty() || !line_[interactive].empty();
        if (permits_free() == 0 || (others_wait && !first)) {
            if (first)
                line_[c].push_front(actor);
            else
                line_[c].push_back(actor);
            of.called = false;
            return std::nullopt;
        }
    }
    if (of.deficit < cost) {
        const std::int64_t weight = actors_[actor].weight;
        of.deficit = std::min(of.deficit + limits_.drr_quantum * weight,
                              std::max(limits_.deficit_cap * weight, limits_.drr_quantum * weight + cost));
        if (of.deficit < cost) {
            progress_ = true;
            of.called = of.called || from_line;
            later_[c].push_back(actor);
            return std::nullopt;
        }
    }
    of.deficit -= cost;
    of.queue.pop_front();
    of.called = false;
    running_.push_back({job, false});
    look_at_everybody();
    return Decision{job, false};
}

void NaiveModel::end(std::size_t job, bool failed) {
    const auto unit = std::ranges::find(running_, job, &Running::job);
    const bool install = unit->install;
    running_.erase(unit);
    Facts& facts = actors_[jobs_[job].actor];
    const Lane lane = jobs_[job].lane;
    if (lane == Lane::heavy_init && !install && !failed) {
        if (facts.fatal)
            failed_.push_back(job);
        else
            facts.installs.push_back(job);
    } else if (failed && (install || lane == Lane::mutating)) {
        facts.fatal = true;
        fail_all(jobs_[job].actor);
    }
    look_at_everybody();
}

void NaiveModel::remove(std::size_t actor) {
    actors_[actor].removed = true;
    fail_all(actor);
    look_at_everybody();
}

void NaiveModel::fail_all(std::size_t actor) {
    Facts& facts = actors_[actor];
    for (auto* queue : {&facts.installs, &facts.classes[0].queue, &facts.classes[1].queue}) {
        failed_.insert(failed_.end(), queue->begin(), queue->end());
        queue->clear();
    }
}

std::vector<std::size_t> NaiveModel::take_failed() {
    return std::exchange(failed_, {});
}

}  // namespace sluice::core::test
