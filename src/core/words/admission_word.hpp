#pragma once

// The door of an executor: one word that every submitter takes its number from.
//
//   bit 0       closed  no job is accepted any more (E22)
//   bit 1..63   number  of the last accepted job; jobs are numbered from 1, so it is also how many were accepted
//
// Written by: every submitter (a CAS that admits), and the closer, once. It serves E14 (the numbers order submissions), E23
// (never more accepted than the limit, because the check and the count are one CAS) and E33 (accepted).
// 63 bits last 292 years at one job a nanosecond.
//
// `left` is a lower bound of how many accepted jobs have left the queue again, as the submitter knows it: too low a bound
// refuses or, better, makes the submitter look again; it never admits too many.

#include <cstdint>

namespace sluice::core {

struct AdmissionWord {
    std::uint64_t bits = 0;

    static constexpr std::uint64_t closed_bit = 1;
    static constexpr std::uint64_t one_job = 2;

    [[nodiscard]] constexpr bool closed() const noexcept {
        return (bits & closed_bit) != 0;
    }
    [[nodiscard]] constexpr std::uint64_t number() const noexcept {
        return bits >> 1;
    }
    [[nodiscard]] static constexpr AdmissionWord of(std::uint64_t number, bool closed) noexcept {
        return {number << 1 | (closed ? closed_bit : 0)};
    }

    friend constexpr bool operator==(AdmissionWord, AdmissionWord) = default;
};

enum class AdmissionAction : std::uint8_t {
    admit,  ///< CAS to `word`; the jobs have the numbers first..first+count-1.
    refuse_closed,
    refuse_full,  ///< Or refresh `left` and try again.
};

struct Admission {
    AdmissionAction action = AdmissionAction::refuse_closed;
    AdmissionWord word;        ///< The new value; the old one unless action is admit.
    std::uint64_t first = 0;   ///< Number of the first admitted job.
    std::uint64_t queued = 0;  ///< Before this submission, at most: what a refusal names (E34).
};

/// `count` jobs (1 or more) want to be queued; all of them or none. `limit`: most jobs in the queue, ~0 for unlimited.
[[nodiscard]] constexpr Admission admission(AdmissionWord old, std::uint64_t left, std::uint64_t limit,
                                            std::uint64_t count = 1) noexcept {
    const std::uint64_t queued = old.number() - left;
    if (old.closed())
        return {AdmissionAction::refuse_closed, old, 0, queued};
    if (limit < count || queued > limit - count)
        return {AdmissionAction::refuse_full, old, 0, queued};
    return {AdmissionAction::admit, {old.bits + count * AdmissionWord::one_job}, old.number() + 1, queued};
}

/// Closing is a fetch_or of closed_bit: the number in the result is how many jobs were accepted in all.
[[nodiscard]] constexpr AdmissionWord closed(AdmissionWord old) noexcept {
    return {old.bits | AdmissionWord::closed_bit};
}

}  // namespace sluice::core
