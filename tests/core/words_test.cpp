// Goal:   each packed word's transitions do what its header promises, for every value at the sizes that matter: masks and
//         initial values, no bit that spills over, and one owner for each job, node and number.
// Method: enumeration of all states (and of all interleavings of the parties) at tiny sizes. The CAS loops are in src/sync.

#include "core/words/admission_word.hpp"
#include "core/words/claim_word.hpp"
#include "core/words/job_state_word.hpp"
#include "every_choice.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace sluice::core;
using sluice::core::test::EveryChoice;

TEST_CASE("Claim word: fields do not touch each other, and the initial value has nothing left") {
    CHECK(ClaimWord{}.left() == 0);
    CHECK_FALSE(taken(ClaimWord{}).mine);
    for (const std::uint32_t generation : {0U, 1U, 0xffff'fffeU, 0xffff'ffffU})
        for (std::uint32_t next = 0; next <= ClaimWord::most + 1; ++next)
            for (std::uint32_t end = 0; end <= ClaimWord::most; ++end) {
                const ClaimWord word = ClaimWord::of(generation, next, end);
                CHECK(word.generation() == generation);
                CHECK(word.next() == next);
                CHECK(word.end() == end);
                const ClaimWord after = after_take(word);
                CHECK(after.generation() == generation);
                CHECK(after.next() == next + 1);
                CHECK(after.end() == end);
                CHECK(published(word, end).generation() == generation + 1);
            }
}

TEST_CASE(
    "E28 claim word: in every interleaving of owner and revokers each job is executed or given back, once") {
    for (std::uint32_t jobs = 1; jobs <= 5; ++jobs) {
        EveryChoice tree;
        do {
            ClaimWord word = published(ClaimWord::of(7, 3, 2), jobs);
            std::vector<int> executed(jobs), given_back(jobs);
            bool owner_done = false;
            int revocations = 0;
            while (!owner_done) {
                if (revocations < 2 && tree.choose(2) == 1) {
                    ++revocations;
                    const Revoked step = revoked(word);
                    for (std::uint32_t i = 0; i < step.count; ++i)
                        ++given_back[step.first + i];
                    CHECK(step.word.left() == 0);
                    CHECK(step.word.generation() == word.generation());
                    if (step.count == 0)
                        CHECK(step.word == word);
                    word = step.word;
                    continue;
                }
                const Taken step = taken(word);
                word = after_take(word);
                if (step.mine)
                    ++executed[step.index];
                owner_done = !step.mine;
            }
            CHECK(word.next() <= word.end() + 1);
            for (std::uint32_t i = 0; i < jobs; ++i)
                CHECK(executed[i] + given_back[i] == 1);
        } while (tree.next());
    }
}

TEST_CASE("Admission word: closed and number do not touch each other, and the first job has number 1") {
    const Admission first = admission({}, 0, 10);
    CHECK(first.action == AdmissionAction::admit);
    CHECK(first.first == 1);
    CHECK(first.word.number() == 1);
    CHECK_FALSE(first.word.closed());
    const std::uint64_t last = (std::uint64_t{1} << 63) - 1;
    for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, last})
        for (const bool is_closed : {false, true}) {
            const AdmissionWord word = AdmissionWord::of(number, is_closed);
            CHECK(word.number() == number);
            CHECK(word.closed() == is_closed);
            CHECK(closed(word) == AdmissionWord::of(number, true));
        }
}

TEST_CASE(
    "E23 admission word: never more in the queue than the limit, all of a batch or nothing, and closed is "
    "closed") {
    for (std::uint64_t number = 0; number <= 6; ++number)
        for (std::uint64_t left = 0; left <= number; ++left)
            for (std::uint64_t limit = 0; limit <= 5; ++limit)
                for (std::uint64_t count = 1; count <= 3; ++count)
                    for (const bool is_closed : {false, true}) {
                        const AdmissionWord old = AdmissionWord::of(number, is_closed);
                        const Admission step = admission(old, left, limit, count);
                        const bool fits = number - left + count <= limit;
                        CHECK(step.queued == number - left);
                        if (is_closed) {
                            CHECK(step.action == AdmissionAction::refuse_closed);
                            CHECK(step.word == old);
                        } else if (!fits) {
                            CHECK(step.action == AdmissionAction::refuse_full);
                            CHECK(step.word == old);
                        } else {
                            CHECK(step.action == AdmissionAction::admit);
                            CHECK(step.word == AdmissionWord::of(number + count, false));
                            CHECK(step.first == number + 1);
                        }
                    }
    CHECK(admission(AdmissionWord::of(1'000, false), 0, ~std::uint64_t{0}).action == AdmissionAction::admit);
}

namespace {

JobStateWord state(Phase phase, bool waiter = false, bool dropped = false, bool orphan = false,
                   std::uint32_t generation = 5) {
    return JobStateWord{generation * JobStateWord::generation_one | (waiter ? JobStateWord::waiter_bit : 0) |
                        (dropped ? JobStateWord::handle_dropped_bit : 0) |
                        (orphan ? JobStateWord::orphan_bit : 0)}
        .with_phase(phase);
}

constexpr Phase phases[] = {Phase::free, Phase::constructing, Phase::queued, Phase::running, Phase::done};

}  // namespace

TEST_CASE("Job state word: masks do not overlap, and the initial value is a free node") {
    CHECK(JobStateWord{}.phase() == Phase::free);
    CHECK((JobStateWord::phase_mask | JobStateWord::waiter_bit | JobStateWord::handle_dropped_bit |
           JobStateWord::orphan_bit | JobStateWord::generation_mask) == 0xffff'ffffU);
    CHECK((JobStateWord::phase_mask + JobStateWord::waiter_bit + JobStateWord::handle_dropped_bit +
           JobStateWord::orphan_bit + JobStateWord::generation_mask) == 0xffff'ffffU);
}

TEST_CASE("Job state word: every transition from every state") {
    using enum JobStateAction;
    for (const Phase phase : phases)
        for (unsigned bits = 0; bits < 8; ++bits) {
            const bool waiter = (bits & 1) != 0, dropped = (bits & 2) != 0, orphan = (bits & 4) != 0;
            const JobStateWord old = state(phase, waiter, dropped, orphan);
            const JobStateAction last = orphan ? free_memory : recycle;
            const bool lives = phase != Phase::free;
            const bool is_done = phase == Phase::done;

            for (const bool posted : {false, true}) {
                const JobStateStep step = job_state::allocate(old, posted);
                CHECK(step.word == (lives ? old : state(Phase::constructing, false, posted, false, 6)));
                CHECK(step.action == (lives ? not_allowed : nothing));
            }
            const JobStateStep queued = job_state::queue(old);
            CHECK(queued.word == (phase == Phase::constructing ? old.with_phase(Phase::queued) : old));
            CHECK(queued.action == (phase == Phase::constructing ? nothing : not_allowed));
            const JobStateStep started = job_state::start(old);
            CHECK(started.word == (phase == Phase::queued ? old.with_phase(Phase::running) : old));
            CHECK(started.action == (phase == Phase::queued ? nothing : not_allowed));

            const JobStateStep finished = job_state::finish(old);
            if (!lives || is_done) {
                CHECK(finished.action == not_allowed);
                CHECK(finished.word == old);
            } else {
                CHECK(finished.word == state(Phase::done, false, dropped, orphan));
                CHECK(finished.action == (dropped ? last : waiter ? wake : nothing));
            }

            const JobStateStep waits = job_state::wait(old);
            if (!lives || dropped)
                CHECK(waits.action == not_allowed);
            else
                CHECK(waits.word == (is_done ? old : state(phase, true, false, orphan)));

            const JobStateStep drops = job_state::drop_handle(old);
            if (!lives || dropped) {
                CHECK(drops.action == not_allowed);
            } else {
                CHECK(drops.word == state(phase, false, true, orphan));
                CHECK(drops.action == (is_done ? last : nothing));
            }

            CHECK(job_state::abandon(old).action == (is_done ? nothing : not_allowed));
            const JobStateStep released = job_state::release(old);
            CHECK(released.action == (is_done && dropped ? nothing : not_allowed));
            if (is_done && dropped)
                CHECK(released.word == state(Phase::free));
        }
}

TEST_CASE(
    "E16 E19 job state word: in every interleaving of executor and handle the node is given back exactly "
    "once") {
    for (const bool abandoned : {false, true}) {
        EveryChoice tree;
        std::set<JobStateAction> seen;
        do {
            JobStateWord word = job_state::queue(job_state::allocate({}, false).word).word;
            int given_back = 0, woken = 0;
            bool slept = false;
            int executor = 0, handle = 0;  // steps done: start, finish, abandon; wait, drop
            const auto take = [&](const JobStateStep& step) {
                REQUIRE(step.action != JobStateAction::not_allowed);
                word = step.word;
                seen.insert(step.action);
                given_back +=
                    step.action == JobStateAction::recycle || step.action == JobStateAction::free_memory;
                woken += step.action == JobStateAction::wake;
            };
            const int executor_steps = abandoned ? 3 : 2;
            while (executor < executor_steps || handle < 2) {
                // An executor is destroyed with a node only while a handle keeps it.
                if (executor == 2 && handle == 2 && abandoned)
                    break;
                const bool by_handle = handle < 2 && (executor == executor_steps || (tree.choose(2) == 1));
                if (by_handle) {
                    if (handle++ == 0) {
                        take(job_state::wait(word));
                        slept = word.waiter();
                    } else {
                        take(job_state::drop_handle(word));
                    }
                } else if (executor < executor_steps) {
                    const int step = executor++;
                    take(step == 0   ? job_state::start(word)
                         : step == 1 ? job_state::finish(word)
                                     : job_state::abandon(word));
                }
            }
            CHECK(given_back == 1);
            CHECK(woken <= 1);
            if (woken == 1)
                CHECK(slept);
            CHECK(job_state::release(word).word.phase() == Phase::free);
        } while (tree.next());
        CHECK(seen.contains(JobStateAction::recycle));
        CHECK(seen.contains(JobStateAction::wake));
        CHECK(seen.contains(JobStateAction::free_memory) == abandoned);
    }
}
