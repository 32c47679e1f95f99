// Whether the executor kept its promises in a run, judged from what the jobs themselves have written down. PURE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pacer.hpp"
#include "recorder.hpp"
#include "trace/trace.hpp"

namespace sluice::replay {

struct Counts;
struct RunFacts;

/// Two numbers that must be equal.
struct Check {
    std::string name;  ///< a sentence that is true when they are
    std::uint64_t left = 0;
    std::uint64_t right = 0;
    [[nodiscard]] bool holds() const noexcept {
        return left == right;
    }
};

/// Conservation: our counters against each other, and against the executor's.
[[nodiscard]] std::vector<Check> check_conservation(const Counts& jobs, const Trace& trace, const Plan& plan,
                                                    const Recorder& recorder, const RunFacts& facts);

/// Order and exclusion of each actor's jobs (rules E8 and E9).
struct OrderAudit {
    static constexpr std::size_t examples_kept = 5;

    std::uint64_t jobs = 0;  ///< looked at
    std::uint64_t violations = 0;
    std::vector<std::string> examples;  ///< the first few, as sentences

    friend bool operator==(const OrderAudit&, const OrderAudit&) = default;
};

/// A job's first clock reading comes after it was really started, its last one before it is really over. So what looks
/// like an overlap here was one; the reverse does not hold, and short overlaps can be missed.
///
/// What is looked at, for each actor: a mutating job and a heavy job's install overlap nothing but builds; serial jobs
/// do not overlap each other; and within a class no job that changes the context runs before what was submitted
/// earlier, nor anything behind it before its end.
[[nodiscard]] OrderAudit audit_order(const Trace& trace, const Plan& plan, const Recorder& recorder);

}  // namespace sluice::replay
