#include "control/harness.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace sluice::control {

void must_hold(const Scenarios& scenarios, const std::vector<const char*>& files) {
    std::vector<std::string> seen;
    for (const Scenario& scenario : scenarios) {
        const Outcome out = explore(scenario.plan, scenario.body);
        seen.insert(seen.end(), out.files.begin(), out.files.end());
        std::string cut;
        for (const Bound& bound : out.cut) {
            cut += (cut.empty() ? "" : ", ") + std::to_string(bound.preemptions) + " + " +
                   std::to_string(bound.oddities);
        }
        std::printf("| %s | %llu | %s | %llu | %.2f |\n", scenario.plan.name.c_str(),
                    static_cast<unsigned long long>(out.schedules), cut.empty() ? "none" : cut.c_str(),
                    static_cast<unsigned long long>(out.longest), out.seconds);
        if (out.failed) {
            std::printf("%s\n%s\nSLUICE_CONTROL_REPLAY='%s' does it again\n", out.what.c_str(),
                        out.trace.c_str(), out.replay.c_str());
            FAIL_CHECK(scenario.plan.name << ": " << out.what << ", " << out.how);
        }
    }
    std::fflush(stdout);
    if (std::getenv("SLUICE_CONTROL_REPLAY") != nullptr)
        return;
    for (const char* const file : files) {
        const bool there = std::ranges::find(seen, file) != seen.end();
        const std::string text = std::string("no operation of ") + file + " came through the seam";
        CHECK_MESSAGE(there, text);
    }
}

void must_die(const char* mutant, const char* change, const Scenarios& scenarios) {
    std::uint64_t schedules = 0;
    double seconds = 0;
    // Few preemptions in all scenarios first: a mutant is mostly found with few of them, in one of them.
    std::size_t levels = 0;
    for (const Scenario& scenario : scenarios)
        levels = std::max(levels, scenario.plan.bounds.size() + 1);
    for (std::size_t level = 0; level < levels; ++level) {
        for (const Scenario& scenario : scenarios) {
            const auto& bounds = scenario.plan.bounds;
            Plan plan = scenario.plan;
            plan.bounds.clear();
            if (level < bounds.size())
                plan.bounds.push_back(bounds[level]);
            plan.random = level == levels - 1 ? scenario.plan.random * 4 : 0;
            const Outcome out = explore(plan, scenario.body);
            schedules += out.schedules;
            seconds += out.seconds;
            if (out.failed) {
                std::printf("| %s | %s | %s | %s | %s | %llu | %.2f |\n", mutant, change, plan.name.c_str(),
                            out.what.c_str(), out.how.c_str(), static_cast<unsigned long long>(schedules),
                            seconds);
                std::fflush(stdout);
                return;
            }
        }
    }
    const std::string text =
        std::string("mutant ") + mutant + " survives " + std::to_string(schedules) + " schedules: " + change;
    FAIL_CHECK(text);
}

}  // namespace sluice::control
